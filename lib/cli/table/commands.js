// Knows: the rows of all commands: names, options, examples, and what to load.
// Must not: import a command before it is run.
// Start at: findCommand(), then apps.js; headings.js has the groups of the help.
import { APPS, MESSAGES } from './apps.js';
import { APPLY, CONFIG } from './config-files.js';
import { DIAGNOSIS, INFORMATION } from './information.js';
import { LOGS } from './logs.js';
import { BOOT, HOME, PM2_ONLY } from './home.js';
import { PUBLISH, RUN } from './run.js';

/** @import { Command } from './row.js' */

/** @type {Command[]} */
const HELP = [
  {
    name: 'examples',
    help: 'print examples of everyday commands',
    load: async () => {
      const { renderExamples } = await import('../../commands/examples.js');
      return { run: async () => ({}), render: renderExamples };
    },
  },
  {
    name: 'completion',
    words: '<what> [shell]',
    takesArguments: true,
    brief: 'complete commands, options and apps with the TAB key',
    help: 'complete commands, options and apps with the TAB key: install, uninstall, or print for bash, zsh or fish',
    examples: ['nclust completion install', 'nclust completion zsh > ~/.zfunc/_nclust'],
    load: async () => {
      const { completion } = await import('../../commands/completion.js');
      return {
        run: (context, words, _options, args) => completion(context, words, args, COMMANDS),
        render: ({ text }) => text,
      };
    },
  },
];

const WITH_DATA = [APPS, CONFIG, APPLY, INFORMATION, LOGS, MESSAGES, RUN, PUBLISH, HOME, BOOT, DIAGNOSIS].flat();

/** @type {Command[]} */
export const COMMANDS = [...WITH_DATA.map(addJson), ...HELP, ...PM2_ONLY];

/** @param {Command} row */
function addJson(row) {
  const { options = [], isText } = row;
  if (isText || options.some(([flags]) => flags === '--json')) return row;
  /** @type {Command} */
  const whole = { ...row, options: [...options, ['--json', 'print the data as JSON']] };
  return whole;
}

/** @param {string} word  A name or an alias. */
export function findCommand(word) {
  return COMMANDS.find(({ name, aliases = [] }) => name === word || aliases.includes(word));
}
