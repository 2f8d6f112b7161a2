import { APPS } from './apps.js';
import { APPLY, CONFIG } from './config-files.js';
import { INFORMATION } from './information.js';
import { LOGS } from './logs.js';
import { BOOT, HELP, HOME } from './manager.js';
import { MESSAGES } from './messages.js';
import { PUBLISH, RUN } from './run.js';

/** @import { Command } from './row.js' */

/** Every command, in the order of the help. @type {Command[]} */
export const COMMANDS = [
  ...APPS,
  ...CONFIG,
  ...APPLY,
  ...INFORMATION,
  ...LOGS,
  ...MESSAGES,
  ...RUN,
  ...PUBLISH,
  ...HOME,
  ...BOOT,
  ...HELP,
];

/**
 * @param {string} word
 * @returns {Command | undefined}  By name or alias.
 */
export function findCommand(word) {
  return COMMANDS.find(({ name, aliases = [] }) => name === word || aliases.includes(word));
}
