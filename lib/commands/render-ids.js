import { inspect } from 'node:util';

/** @typedef {{slots: import('../shared/wire/protocol.js').SlotStatus[]}} Slots */

/** @param {Slots} data */
export function pidsOf({ slots }) {
  return slots.filter(({ pid }) => pid !== 0).map(({ pid }) => pid);
}

/** @param {Slots} data */
export function idsOf({ slots }) {
  return slots.map(({ id }) => id);
}

/**
 * @param {Slots} data
 * @returns {string}  One a line; nothing when there are none.
 */
export function renderPids(data) {
  return pidsOf(data).map((pid) => `${pid}\n`).join('');
}

/**
 * @param {Slots} data
 * @returns {string}  As PM2 prints it: "[ 1, 2 ]".
 */
export function renderIds(data) {
  return `${inspect(idsOf(data), { maxArrayLength: null, breakLength: Infinity })}\n`;
}
