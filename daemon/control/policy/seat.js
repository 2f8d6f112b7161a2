/** @import { Policy } from './restart-policy.js' */

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
 * @typedef {object} Asked
 * @property {'stop' | 'restart' | 'scale' | 'delete' | 'reload' | 'orphan' | 'unhealthy' | 'boot-timeout'} cause
 * @property {string | null} by  The command. For a boot timeout and for unhealthy: the reason. Null: not known.
 */

/**
 * @typedef {object} Life
 * @property {State} state
 * @property {Asked | null} asked  Only while stopping.
 * @property {number} streak
 * @property {number[]} unstableAtMs
 * @property {boolean} hasFailed  An attempt to start failed. A waiting `start` reports the failure.
 */

/** @returns {Life} */
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
  'looked',
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
 *   | {type: 'looked'}
 *   | {type: 'admitted'}
 *   | {type: 'park'}
 *   | {type: 'takeBack'}
 *   | {type: 'exited', code: number|null, uptimeMs: number, isSignalled?: boolean}
 *   | {type: 'gone'}
 *   | {type: 'timer'}
 *   | {type: 'listenFailed'}} LifeEvent  booted: the main module was evaluated. answered, silent:
 *   the event loop did or did not answer a ping. looked: control measured what the processes did.
 *   admitted: the gate is open. isSignalled: a user sent the signal that ended it.
 */

/**
 * @typedef {{type: 'spawn'}
 *   | {type: 'retire', asked: Asked, drain: 'handover'|'finish'}
 *   | {type: 'setTimer', ms: number}
 *   | {type: 'clearTimer'}
 *   | {type: 'look', ms: number}
 *   | {type: 'ping', ms: number}
 *   | {type: 'admit'}
 *   | {type: 'park'}
 *   | {type: 'unpark'}
 *   | {type: 'ended', isOk: boolean}
 *   | {type: 'bug', state: State, event: string}} Effect  look: measures what the processes of the
 *   instance do, after this time; ends with the timer. ended: the slot is not wanted any more. No
 *   effect ends the children of an instance that exited, because the keeper does that.
 */

/**
 * @typedef {object} Context
 * @property {Policy} policy
 * @property {boolean} isWanted  Whether a user wants the slot in the generation of this seat.
 * @property {Readiness} readiness
 * @property {number} nowMs
 */

/**
 * @typedef {object} Readiness
 * @property {boolean} isOnProbation  The first failure is final.
 * @property {'open' | 'gated' | 'canary'} gate  canary: the instance is admitted after a minimum
 *   age and an answer to a ping. gated: the instance is admitted when it is ready.
 * @property {string | null} missing  The missing step, in words. Null: no step is missing.
 * @property {boolean} isLoading  Only the end of the main module is missing. The module may be
 *   a loop that never ends.
 * @property {boolean} mayBeLoading  More time may help: the instance is not known to be in the wrong
 *   place.
 * @property {boolean | null} isProgressing  Between the last two looks, its processes used the CPU
 *   or files. Null: not known.
 * @property {boolean} mayListenOutside  It may listen on a socket that the keeper does not know.
 * @property {boolean} [hasSentReady]  It has sent `ready`, as its settings demand.
 * @property {boolean} isAlone  It listens, and no old instance of its slot runs beside it.
 * @property {boolean} cannotListen  A cluster worker whose listen() failed.
 * @property {boolean} isAddressRefused  Another process has the address, or only root may
 *   use the address. False if this machine does not have the address, because some programs try
 *   several addresses.
 * @property {number | null} startedAtMs
 * @property {number | null} bootedAtMs  The age of the instance counts from this time.
 */

/** @typedef {{ life: Life, effects: Effect[] }} Step */
/** @typedef {(life: Life, event: any, context: Context) => Step} Cell */
