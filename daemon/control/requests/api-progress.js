import { isDeepStrictEqual } from 'node:util';
import { progressOf } from './progress.js';

/** @import { Progress } from '../../../lib/shared/wire/protocol.js' */
/** @import { Receipt } from './outcome.js' */
/** @import { Client } from '../api/connection.js' */
/** @import { Desk } from '../api/methods.js' */

/** A client is told at most this often, in ms. */
const EVERY_MS = 100;

/**
 * Tells a client how far its request has come: at once, and whenever something has changed.
 * @param {Desk} desk
 * @param {Receipt} receipt
 * @param {Client} client
 * @returns {{look: () => void, close: () => void}}
 */
export function createTeller({ control, parts }, receipt, client) {
  /** @type {Progress|null} */
  let told = null;
  /** @type {import('../host/clock.js').Cancel|null} */
  let cancel = null;
  let hasNews = false;

  function tell() {
    const now = progressOf(control.world, receipt, parts.clock.nowMs());
    if (told && isSame(told, now)) return;
    told = now;
    client.notify('progress', now);
    cancel = parts.clock.after(EVERY_MS, () => {
      cancel = null;
      if (hasNews) look();
    });
  }

  function look() {
    hasNews = cancel !== null;
    if (!cancel) tell();
  }

  return { look, close: () => cancel?.() };
}

/**
 * But for the time that has passed, which a client can count by itself.
 * @param {Progress} one
 * @param {Progress} other
 */
function isSame(one, other) {
  return one.done === other.done && isDeepStrictEqual(one.waiting.map(what), other.waiting.map(what));
}

/** @param {Progress['waiting'][number]} waiting */
function what({ id, phase }) {
  return [id, phase];
}
