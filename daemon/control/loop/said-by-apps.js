// Checks data from the processes of apps, because the keeper may not check these data: during an
// update, the keeper may be of an earlier version.

/** @import { Address } from '../state/registry.js' */

const FAULT_MAX_CHARS = 300;

/** Each reader may throw a TypeError. @type {Record<string, (data: any) => object>} */
const READERS = {
  listening: (data) => {
    if (!isAddress(data)) throw new TypeError('the address is not valid');
    return data;
  },
  vitals: ({ responses, errors, delayP99Ms }) => ({
    responses: number(responses),
    errors: number(errors),
    delayP99Ms: number(delayP99Ms),
  }),
  'agent-failed': ({ part, message }) => ({ part: text(part), message: text(message) }),
};

/**
 * @param {string} event
 * @param {object} data
 * @returns {object}  The checked data. Throws a TypeError if the data are not valid. Events
 *   without a reader are not checked.
 */
export function readKeeperEvent(event, data) {
  return Object.hasOwn(READERS, event) ? READERS[event](data) : data;
}

/**
 * @param {any} value
 * @returns {value is Address}
 */
export function isAddress(value) {
  return typeof value?.address === 'string' && Number.isSafeInteger(value.port) && typeof value.family === 'string';
}

/** @param {unknown} value */
function number(value) {
  if (typeof value !== 'number' || !(value >= 0)) throw new TypeError('a figure is not a number');
  return value;
}

/** @param {unknown} value */
function text(value) {
  if (typeof value !== 'string') throw new TypeError('a text is not a string');
  return value.slice(0, FAULT_MAX_CHARS);
}
