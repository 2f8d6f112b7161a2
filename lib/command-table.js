import { APPS } from './command-table/apps.js';
import { APPLY, CONFIG } from './command-table/config-files.js';
import { INFORMATION } from './command-table/information.js';
import { LOGS } from './command-table/logs.js';
import { BOOT, HELP, HOME } from './command-table/manager.js';
import { MESSAGES } from './command-table/messages.js';
import { PUBLISH, RUN } from './command-table/run.js';

/** @typedef {import('./command-table/row.js').Command} Command */

/** Every command, in the order of the help. @type {Command[]} */
export const COMMANDS = [...APPS, ...CONFIG, ...APPLY, ...INFORMATION, ...LOGS, ...MESSAGES, ...RUN, ...PUBLISH, ...HOME, ...BOOT, ...HELP];

/**
 * @param {string} word
 * @returns {Command|undefined}  By name or alias.
 */
export function findCommand(word) {
  return COMMANDS.find(({ name, aliases = [] }) => name === word || aliases.includes(word));
}
