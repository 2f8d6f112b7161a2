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
export function renderEnv({ env, differences }, view) {
  if (differences) return renderDifferences(differences, view);
  return Object.entries(env)
    .map(([key, value]) => `${toOneLine(key)}: ${view.paint('green', toOneLine(value))}\n`)
    .join('');
}

/**
 * @param {Difference[]} differences
 * @param {Pick<View, 'paint'>} view
 */
function renderDifferences(differences, { paint }) {
  return differences
    .map(
      (one) =>
        `${paint(STYLES[one.change], `${SIGNS[one.change]} ${toOneLine(valuesOf(one))}`)}  ` +
        `${paint('dim', `(${toOneLine(one.origin)})`)}\n`,
    )
    .join('');
}

/**
 * @param {Difference[]} differences
 * @param {Paint} paint
 */
export function environmentLines(differences, paint) {
  if (differences.length === 0) return [];
  return [
    paint('bold', 'Environment that differs from this shell'),
    ...renderDifferences(differences, { paint })
      .trimEnd()
      .split('\n')
      .map((line) => `  ${line}`),
  ];
}

/** @param {Difference} difference */
function valuesOf({ name, change, value, shell }) {
  return change === 'changed' ? `${name}=${shell} -> ${value}` : `${name}=${value ?? shell}`;
}
