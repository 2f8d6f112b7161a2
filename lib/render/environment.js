import { toOneLine } from './text.js';

/** @import { Difference } from '../config/spec/environment-diff.js' */
/** @import { View } from './list.js' */
/** @import { Paint, Style } from './paint.js' */

const SIGNS = { added: '+', removed: '-', changed: '~' };

/** @type {Record<Difference['change'], Style>} */
const STYLES = { added: 'green', removed: 'red', changed: 'yellow' };

/**
 * @param {{ env: Record<string, string>, differences?: Difference[] }} data
 * @param {View} view
 * @returns {string}  Lines such as "KEY: value", as in PM2. If `differences` is given, shows only
 *   the differences.
 */
export function renderEnv({ env, differences }, { paint }) {
  const lines = differences
    ? differences.map((one) => differenceLine(one, paint))
    : Object.entries(env).map(([key, value]) => `${toOneLine(key)}: ${paint('green', toOneLine(value))}`);
  return lines.map((line) => `${line}\n`).join('');
}

/**
 * @param {Difference[]} differences
 * @param {Paint} paint
 */
export function environmentLines(differences, paint) {
  if (differences.length === 0) return [];
  const lines = differences.map((one) => `  ${differenceLine(one, paint)}`);
  return [paint('bold', 'Environment that differs from this shell'), ...lines];
}

/**
 * @param {Difference} difference
 * @param {Paint} paint
 */
function differenceLine(difference, paint) {
  const { change, origin } = difference;
  const values = paint(STYLES[change], `${SIGNS[change]} ${toOneLine(getValues(difference))}`);
  return `${values}  ${paint('dim', `(${toOneLine(origin)})`)}`;
}

/** @param {Difference} difference */
function getValues({ name, change, value, shell }) {
  return change === 'changed' ? `${name}=${shell} -> ${value}` : `${name}=${value ?? shell}`;
}
