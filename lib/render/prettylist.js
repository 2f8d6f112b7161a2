import { inspect } from 'node:util';
import { toPm2 } from './jlist.js';

/**
 * The same as jlist for the eye, as PM2 prints it: not JSON.
 * @param {{slots: import('../shared/wire/protocol.js').SlotStatus[]}} data
 * @returns {string}
 */
export function renderPrettylist({ slots }) {
  return `${inspect(slots.map(toPm2), { depth: null, maxArrayLength: null, maxStringLength: null, breakLength: 120 })}\n`;
}
