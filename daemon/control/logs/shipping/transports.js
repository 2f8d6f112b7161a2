/** @import { ShippedLine } from './backlog.js' */

/**
 * One connection to a target, or one process. When it is over it is over: the shipper makes the next.
 * @typedef {object} Link
 * @property {(lines: ShippedLine[]) => void} write  Only when it is open and all that was written before is taken.
 * @property {(graceMs: number) => Promise<void>} close  Lets what was written arrive, for so long at most; nothing is told any more. The last call sets the time.
 */

/**
 * What a link tells.
 * @typedef {object} LinkEvents
 * @property {() => void} onOpen  Once.
 * @property {(count: number) => void} onTaken  So many more of the written lines are in the hands of the system.
 * @property {(reason: string) => void} onDown  Once, at the end. What was not taken has not arrived, or not as a whole.
 */

/** @typedef {{clock: import('../../host/clock.js').Clock, events: LinkEvents}} LinkParts */

/** How long the other end may take to finish, in ms. */
export const PARTING_MS = 1_000;

/**
 * Each of them once, and nothing after the end.
 * @param {LinkEvents} events
 * @returns {LinkEvents & {mute: () => void, isOver: () => boolean}}
 */
export function onceOnly(events) {
  let isOver = false;
  return {
    onOpen() {
      if (!isOver) events.onOpen();
    },
    onTaken(count) {
      if (!isOver) events.onTaken(count);
    },
    onDown(reason) {
      if (isOver) return;
      isOver = true;
      events.onDown(reason);
    },
    mute() {
      isOver = true;
    },
    isOver: () => isOver,
  };
}

/**
 * @param {unknown} error
 * @returns {string}
 */
export function reasonOf(error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
  return code ?? message ?? String(error);
}
