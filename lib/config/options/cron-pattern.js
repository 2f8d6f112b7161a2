import { createRequire } from 'node:module';

/**
 * @param {string} pattern
 * @returns {string|null}  Why it cannot be used, in the words of croner; null when it can.
 */
export function cronFault(pattern) {
  // Not imported above: this file is read by every command that takes options.
  const { Cron } = /** @type {typeof import('croner')} */ (createRequire(import.meta.url)('croner'));
  try {
    return new Cron(pattern, { paused: true }).nextRun() === null ? 'it never comes' : null;
  } catch (error) {
    return /** @type {Error} */ (error).message.replace(/^CronPattern: /, '').replace(/\.$/, '');
  }
}
