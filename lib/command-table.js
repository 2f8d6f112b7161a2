import { APPS } from './command-table/apps.js';
import { HOME } from './command-table/home.js';
import { INFORMATION } from './command-table/information.js';
import { LOGS } from './command-table/logs.js';

/** @typedef {import('./command-table/row.js').Command} Command */

/** Every command, in the order of the help. @type {Command[]} */
export const COMMANDS = [...APPS, ...INFORMATION, ...LOGS, ...HOME];

/**
 * @param {string} word
 * @returns {Command|undefined}  By name or alias.
 */
export function findCommand(word) {
  return COMMANDS.find(({ name, aliases = [] }) => name === word || aliases.includes(word));
}
