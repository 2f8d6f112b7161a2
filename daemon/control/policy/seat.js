/** @import { Policy } from './restart-policy.js' */

// The words of the lifecycle table: what a seat remembers, which events it gets, and which effects
// follow.

export const STATES = /** @type {const} */ ([
  'down',
  'starting',
  'soaking',
  'entering',
  'up',
  'parked',
  'stopping',
  'backoff',
  'failed',
]);

/** @typedef {(typeof STATES)[number]} State */

/**
 * Why a seat is being retired, and who asked.
 * @typedef {object} Asked
 * @property {'stop' | 'restart' | 'scale' | 'delete' | 'reload' | 'orphan' | 'boot-timeout'} cause
 * @property {string | null} by  Of a boot timeout: what was missing.
 */

/**
 * @typedef {object} Life
 * @property {State} state
 * @property {Asked | null} asked  Only while stopping.
 * @property {number} streak  Unstable exits in a row.
 * @property {number[]} unstableAtMs
 * @property {boolean} hasFailed  An attempt ended before the seat was up for the first time. A
 *   waiting `start` reports it.
 */

/** @returns {Life}  Of a seat before its first event. */
export function newLife() {
  return { state: 'down', asked: null, streak: 0, unstableAtMs: [], hasFailed: false };
}

export const EVENTS = /** @type {const} */ ([
  'start',
  'stop',
  'spawned',
  'booted',
  'refused',
  'ready',
  'exited',
  'gone',
  'timer',
  'listenFailed',
  'answered',
  'silent',
  'admitted',
  'park',
  'takeBack',
]);

/**
 * @typedef {{type: 'start'}
 *   | {type: 'stop', asked: Asked, drain: 'handover'|'finish'}
 *   | {type: 'spawned', startedAtMs: number}
 *   | {type: 'booted'}
 *   | {type: 'refused'}
 *   | {type: 'ready'}
 *   | {type: 'answered'}
 *   | {type: 'silent'}
 *   | {type: 'admitted'}
 *   | {type: 'park'}
 *   | {type: 'takeBack'}
 *   | {type: 'exited', code: number|null, uptimeMs: number}
 *   | {type: 'gone'}
 *   | {type: 'timer'}
 *   | {type: 'listenFailed'}} LifeEvent
 *
 * booted: the instance has evaluated its main module. answered, silent: its event loop did or did
 * not answer when it was asked. admitted: connections come to the instance.
 */

/**
 * @typedef {{type: 'spawn'}
 *   | {type: 'retire', asked: Asked, drain: 'handover'|'finish'}
 *   | {type: 'setTimer', ms: number}
 *   | {type: 'clearTimer'}
 *   | {type: 'ping', ms: number}
 *   | {type: 'admit'}
 *   | {type: 'park'}
 *   | {type: 'unpark'}
 *   | {type: 'ended', isOk: boolean}
 *   | {type: 'bug', state: State, event: string}} Effect
 *
 * spawn: ask the keeper for an instance. ask: whether its event loop answers within `ms`. ended:
 * the program has done its work, or may not be tried again; the slot is not wanted any more. There
 * is no effect for the children of an instance that exited by itself: the keeper ends them unasked.
 */

/**
 * @typedef {object} Context
 * @property {Policy} policy
 * @property {boolean} isWanted  The slot should be up, in this seat's generation.
 * @property {Readiness} readiness
 * @property {number} nowMs
 */

/**
 * How much a guarded rollout asks of an instance before connections come to it.
 * @typedef {object} Readiness
 * @property {boolean} isOnProbation  The first failure is final.
 * @property {'open' | 'gated' | 'canary'} gate  canary: the instance has to live for a while and to
 *   answer before it is let in. gated: it is let in when it is ready.
 * @property {string | null} missing  What it has to do besides living. Null: nothing.
 * @property {boolean} isLoading  All that is missing is the end of its main module, which may have
 *   none: a loop at the top level of an ES module.
 * @property {boolean} isUnheard  A cluster worker that has tried to listen, failed, and listens
 *   nowhere.
 * @property {boolean} isRefused  It has, and another process has the address or only root may use
 *   it: no fault of an address that this machine does not have, as programs meet that try each one.
 * @property {number | null} startedAtMs
 * @property {number | null} bootedAtMs  Since when its age counts.
 */

/** @typedef {{ life: Life, effects: Effect[] }} Step */
/** @typedef {(life: Life, event: any, context: Context) => Step} Cell */
