import { APPLY } from './command-table/apply.js';
import { APPS } from './command-table/apps.js';
import { CONFIG } from './command-table/config.js';
import { BOOT } from './command-table/boot.js';
import { HELP } from './command-table/help.js';
import { HOME } from './command-table/home.js';
import { INFORMATION } from './command-table/information.js';
import { LOGS } from './command-table/logs.js';
import { MESSAGES } from './command-table/messages.js';
import { PUBLISH } from './command-table/publish.js';
import { RUN } from './command-table/run.js';

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
