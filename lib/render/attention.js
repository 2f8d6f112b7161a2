import { shellQuote } from '../shared/shell-quote.js';
import { renderColumns } from './table.js';
import { toOneLine } from './text.js';
import { describeTrouble, describeTroubleSince } from './troubles.js';

/** @import { Trouble } from '../shared/troubles.js' */
/** @import { View } from './list.js' */
/** @import { Cell } from './table.js' */

const COLOURS = /** @type {const} */ ({ bad: 'red', warn: 'yellow' });

/**
 * @typedef {object} Attention
 * @property {Trouble[]} troubles  The worst first.
 * @property {{ name: string }[]} slots  Of all apps.
 * @property {number} exitStatus  1: something is bad.
 */

/**
 * @param {Attention} data
 * @param {Pick<View, 'paint' | 'columns' | 'nowMs'>} view
 */
export function renderAttention({ troubles, slots }, view) {
  if (troubles.length === 0) return 'Nothing needs attention.\n';
  const lines = troubleLines(troubles, (app) => countInstances(slots, app), view).map((line) => `${line}\n`);
  return `${lines.join('')}What led to it: nclust why ${shellQuote(toOneLine(troubles[0].app))}\n`;
}

/**
 * @param {Trouble[]} troubles
 * @param {(app: string) => number | undefined} instancesOf
 * @param {Pick<View, 'paint' | 'columns' | 'nowMs'>} view
 * @returns {string[]}  Two for each: the words, and the command that helps.
 */
export function troubleLines(troubles, instancesOf, { paint, columns, nowMs }) {
  /** @type {Cell[][]} */
  const rows = troubles.flatMap((trouble) => {
    const { level, app } = trouble;
    const instances = instancesOf(app);
    const text = describeTroubleSince(trouble, { instances, nowMs });
    return [
      [{ text: level, style: COLOURS[level] }, { text: toOneLine(app), style: 'bold' }, toOneLine(text)],
      ['', '', { text: toOneLine(describeTrouble(trouble, instances).next), style: 'grey' }],
    ];
  });
  return renderColumns(rows, { paint, columns });
}

/**
 * @param {Attention} data
 * @returns {object[]}  For --json.
 */
export function attentionData({ troubles, slots }) {
  return troubles.map((trouble) => addWords(trouble, countInstances(slots, trouble.app)));
}

/**
 * @param {Trouble} trouble
 * @param {number} [instances]
 */
export function addWords(trouble, instances) {
  return { ...trouble, ...describeTrouble(trouble, instances) };
}

/**
 * @param {{ name: string }[]} slots
 * @param {string} app
 */
export function countInstances(slots, app) {
  return slots.filter(({ name }) => name === app).length;
}
