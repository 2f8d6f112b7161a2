import { describeEnd, withoutPrefix } from '../render/event-text.js';
import { APART_MS, crashesOfSlots } from '../render/why/answer.js';

/** @import { LoggedEvent } from '../shared/event-log.js' */
/** @import { SlotStatus } from '../shared/wire/protocol.js' */

/**
 * @typedef {object} Repeated  Something that happened to an app again and again.
 * @property {string} name
 * @property {number} times
 * @property {number} firstMs
 * @property {number} lastMs
 * @property {string} last  Describes the last time. Does not contain output of the app.
 */

/** If it happened less often, it is not reported. */
const TIMES_MIN = 3;

/**
 * @param {SlotStatus[]} slots
 * @param {LoggedEvent[]} events
 * @param {number} nowMs
 * @returns {Repeated[]}  Apps that are online or launching, but crash again and again.
 */
export function findCrashing(slots, events, nowMs) {
  return findRepeated(slots, nowMs, (own) => {
    const running = own.filter(({ status }) => status === 'online' || status === 'launching');
    return crashesOfSlots(running, events).map((event) => ({ at: event.at, text: describeEnd(event) }));
  });
}

/**
 * @param {SlotStatus[]} slots
 * @param {LoggedEvent[]} events
 * @param {number} nowMs
 * @returns {Repeated[]}  Apps that their memory limit replaces again and again.
 */
export function findOverLimit(slots, events, nowMs) {
  return findRepeated(slots, nowMs, (_own, name) =>
    events
      .filter(({ type, app, at }) => type === 'limit:memory' && app === name && nowMs - at <= APART_MS)
      .map(({ at, by }) => ({ at, text: withoutPrefix(by) })),
  );
}

/**
 * @param {SlotStatus[]} slots
 * @param {number} nowMs
 * @param {(own: SlotStatus[], name: string) => { at: number, text: string }[]} find  Oldest first.
 * @returns {Repeated[]}
 */
function findRepeated(slots, nowMs, find) {
  return [...new Set(slots.map(({ name }) => name))].flatMap((name) => {
    const found = find(
      slots.filter((slot) => slot.name === name),
      name,
    );
    const last = found.at(-1);
    return last && found.length >= TIMES_MIN && nowMs - last.at <= APART_MS
      ? [{ name, times: found.length, firstMs: found[0].at, lastMs: last.at, last: last.text }]
      : [];
  });
}
