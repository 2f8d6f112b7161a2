/**
 * An address of the settings that could not be had.
 * @typedef {object} Unserved
 * @property {string} reason  A code of the system where there is one.
 * @property {number} retryMs  How often it is tried again.
 */

/** @type {Record<string, string>} */
const WORDS = { EADDRINUSE: 'another program has this address', EADDRNOTAVAIL: 'this machine has no such address' };

/** @param {string} reason @returns {string}  In words, where there are any for it. */
export function whyUnserved(reason) {
  return Object.hasOwn(WORDS, reason) ? WORDS[reason] : reason;
}

/**
 * For the list: what is not served, why, and which command serves it elsewhere.
 * @param {object} o
 * @param {string} o.what
 * @param {string} o.where
 * @param {string} o.reason
 * @param {string} o.instead
 */
export function unservedNotice({ what, where, reason, instead }) {
  const words = whyUnserved(reason);
  return `${what} is not served on "${where}": ${words}${words === reason ? '' : ` (${reason})`}. It is tried again; another one: ${instead}`;
}

/** For who has just set it. @param {Unserved} unserved */
export function unservedSentence({ reason, retryMs }) {
  return `It is not served yet: ${whyUnserved(reason)}. It is tried again every ${retryMs === 1_000 ? 'second' : `${retryMs / 1_000} seconds`}.`;
}
