import { FILES } from './candidates.js';

// What a shell reads at its start. It asks nclust itself on every TAB, so that apps, commands and options are those of now.

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
