import { clockTime, formatCoarse } from '../../figures/format.js';
import { shellQuote } from '../../shared/shell-quote.js';
import { renderColumns } from '../table.js';
import { toOneLine } from '../text.js';
import { describeTrouble } from '../troubles.js';

/** @import { Attention } from '../../commands/why.js' */
/** @import { View } from '../list.js' */
/** @import { Cell } from '../table.js' */

const COLOURS = /** @type {const} */ ({ bad: 'red', warn: 'yellow' });

/**
 * @param {Attention} data
 * @param {Pick<View, 'paint' | 'columns' | 'nowMs'>} view
 */
export function renderAttention({ troubles, slots }, { paint, columns, nowMs }) {
  if (troubles.length === 0) return 'Nothing needs attention.\n';
  /** @type {Cell[][]} */
  const rows = troubles.flatMap((trouble) => {
    const { level, app, sinceMs } = trouble;
    const { text, next } = describeTrouble(trouble, countInstances(slots, app));
    const since = `, since ${clockTime(sinceMs, nowMs)} (${formatCoarse(nowMs - sinceMs)})`;
    return [
      [{ text: level, style: COLOURS[level] }, { text: toOneLine(app), style: 'bold' }, toOneLine(`${text}${since}`)],
      ['', '', { text: toOneLine(next), style: 'grey' }],
    ];
  });
  const lines = renderColumns(rows, { paint, columns }).map((line) => `${line}\n`);
  return `${lines.join('')}What led to it: nclust why ${shellQuote(toOneLine(troubles[0].app))}\n`;
}

/**
 * @param {Attention} data
 * @returns {object[]}  For --json.
 */
export function attentionData({ troubles, slots }) {
  return troubles.map((trouble) => ({ ...trouble, ...describeTrouble(trouble, countInstances(slots, trouble.app)) }));
}

/**
 * @param {{ name: string }[]} slots
 * @param {string} app
 */
export function countInstances(slots, app) {
  return slots.filter(({ name }) => name === app).length;
}
