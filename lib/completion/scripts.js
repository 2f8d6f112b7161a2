/** @import { Command } from '../cli/table/row.js' */

/**
 * @typedef {object} Vocabulary
 * @property {Command[]} commands
 * @property {(command: Command) => string[]} flagsOf  In the syntax of commander.
 * @property {() => Promise<string[]>} apps  Names, namespaces and ids. Slow: it asks the manager.
 * @property {() => string[]} settings  Keys of `nclust set`.
 */

/** Stands for all paths, because the shell itself completes paths better. */
export const FILES = ':files';

/**
 * @param {string[]} words  Words after "nclust". The last word is not complete, and may be empty.
 * @param {Vocabulary} vocabulary
 * @returns {Promise<string[]>}  Contains FILES if the word may be a path.
 */
export async function candidates(words, vocabulary) {
  const typed = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const found = await possible(before, typed, vocabulary);
  return [...new Set(found)].filter((word) => word === FILES || word.startsWith(typed));
}

/**
 * @param {string[]} before
 * @param {string} typed
 * @param {Vocabulary} vocabulary
 */
async function possible(before, typed, { commands, flagsOf, apps, settings }) {
  const name = before.find((word) => !word.startsWith('-'));
  if (name === undefined)
    return typed.startsWith('-')
      ? ['--help', '--version', '--color', '--no-color']
      : [...commands.map((command) => command.name), 'help'];
  if (name === 'help') return commands.map((command) => command.name);
  if (before.includes('--')) return [FILES];
  const command = commands.find((one) => one.name === name || one.aliases?.includes(name));
  if (!command) return [];
  const flags = flagsOf(command);
  if (typed.startsWith('-')) return flags.flatMap(spellings);
  const pending = flags.find((flag) => spellings(flag).includes(before.at(-1) ?? ''));
  if (pending && takesValue(pending)) return /path|folder|file|program/.test(pending) ? [FILES] : [];
  return listWords(command, before.slice(before.indexOf(name) + 1), { apps, settings });
}

/**
 * @param {Command} command
 * @param {string[]} given  Words after the name of the command.
 * @param {Pick<Vocabulary, 'apps' | 'settings'>} o
 */
async function listWords({ name, words = '' }, given, { apps, settings }) {
  if (name === 'completion')
    return given.length === 0 ? ['bash', 'zsh', 'fish', 'install', 'uninstall'] : ['bash', 'zsh', 'fish'];
  if (['set', 'get', 'unset'].includes(name)) return given.length === 0 ? settings() : [];
  if (!words) return [];
  const targets = /id|name|app|target/.test(words)
    ? [...(await apps()), ...(words.includes('all') ? ['all'] : [])]
    : [];
  return /script|file|path|folder|config/.test(words) ? [...targets, FILES] : targets;
}

/** @param {string} flags  "-i, --instances <number>". */
function spellings(flags) {
  return flags.split(/[\s,|]+/).filter((word) => word.startsWith('-'));
}

/** @param {string} flags */
function takesValue(flags) {
  return flags.includes('<');
}

// The scripts run nclust on every TAB, so that apps, commands and options are up to date.

export const SHELLS = /** @type {const} */ (['bash', 'zsh', 'fish']);

/** @typedef {typeof SHELLS[number]} Shell */

const BASH = `_nclust() {
  local IFS=$'\\n' word
  local typed="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  for word in $(nclust completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); do
    if [ "$word" = ${FILES} ]; then
      compopt -o filenames 2>/dev/null
      COMPREPLY+=($(compgen -f -- "$typed"))
    else
      COMPREPLY+=("$(printf '%q' "$word")")
    fi
  done
}
complete -F _nclust nclust
`;

const ZSH = `_nclust() {
  local -a words_found
  words_found=("\${(@f)$(nclust completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if (( \${words_found[(Ie)${FILES}]} )); then
    words_found=("\${(@)words_found:#${FILES}}")
    _files
  fi
  compadd -- "\${(@)words_found:#}"
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _nclust nclust
`;

const FISH = `function __nclust_words
  set -l typed (commandline -ct)
  for word in (nclust completion words -- (commandline -opc)[2..-1] "$typed" 2>/dev/null)
    if test "$word" = ${FILES}
      __fish_complete_path "$typed"
    else
      echo -- $word
    end
  end
end
complete -c nclust -f -a '(__nclust_words)'
`;

/** @type {Record<Shell, string>} */
export const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH };
