import { judgeExit } from './backoff.js';

// The only place where the state of a seat changes. State says what is; `want` says what should be. They are never merged.
//
//            start             spawned, ready or old enough
//     down ---------> starting -----------------------------> up
//      ^               |   |  exited                           |  exited
//      |          stop |   +-------> backoff / failed <--------+
//      |               v              |         ^              | stop
//      +---- gone -- stopping <-------|---------|--------------+
//      +--------------- stop ---------+    (boot timeout: stopping, then as after an exit)

/** @typedef {'down'|'starting'|'up'|'stopping'|'backoff'|'failed'} State */

/**
 * Why a seat is being retired, and who asked.
 * @typedef {object} Asked
 * @property {'stop'|'restart'|'scale'|'delete'|'orphan'|'boot-timeout'} cause
 * @property {string|null} by
 */

/**
 * @typedef {object} Life
 * @property {State} state
 * @property {Asked|null} asked  Only while stopping.
 * @property {number} streak  Unstable exits in a row.
 * @property {number[]} unstableAtMs
 * @property {boolean} hasFailed  An attempt ended before the seat was up for the first time. A waiting `start` reports it.
 */

/**
 * @typedef {{type: 'start'}
 *   | {type: 'stop', asked: Asked, drain: 'handover'|'finish'}
 *   | {type: 'spawned', startedAtMs: number}
 *   | {type: 'refused'}
 *   | {type: 'ready'}
 *   | {type: 'exited', code: number|null, uptimeMs: number}
 *   | {type: 'gone'}
 *   | {type: 'timer'}} LifeEvent
 */

/**
 * @typedef {{type: 'spawn'}
 *   | {type: 'retire', asked: Asked, drain: 'handover'|'finish'}
 *   | {type: 'setTimer', ms: number}
 *   | {type: 'clearTimer'}
 *   | {type: 'ended', isOk: boolean}
 *   | {type: 'bug', state: State, event: string}} Effect
 *
 * spawn: ask the keeper for an instance. ended: the program has done its work, or may not be tried again; nothing is wanted of this slot any more.
 * What an instance that exited by itself leaves behind (children) the keeper ends unasked.
 */

/**
 * @typedef {object} Context
 * @property {import('./backoff.js').Policy} policy
 * @property {boolean} isWanted  The slot should be up, in this seat's generation.
 * @property {number} nowMs
 */

/** @typedef {{life: Life, effects: Effect[]}} Step */
/** @typedef {(life: Life, event: any, context: Context) => Step} Cell */

export const STATES = /** @type {const} */ (['down', 'starting', 'up', 'stopping', 'backoff', 'failed']);
export const EVENTS = /** @type {const} */ (['start', 'stop', 'spawned', 'refused', 'ready', 'exited', 'gone', 'timer']);

/** @type {Record<State, Record<LifeEvent['type'], Cell>>} */
export const TABLE = {
  //          start         stop               spawned             refused           ready         exited            gone           timer
  down:     { start: spawn, stop: stay,        spawned: bug,       refused: bug,     ready: bug,   exited: bug,      gone: bug,     timer: bug },
  starting: { start: stay,  stop: retire,      spawned: setBootTimer, refused: crashed, ready: beUp, exited: crashed, gone: bug,    timer: overdue },
  up:       { start: stay,  stop: retire,      spawned: stay,      refused: bug,     ready: stay,  exited: crashed,  gone: bug,     timer: bug },
  stopping: { start: stay,  stop: askAgain,    spawned: retireAtLast,     refused: settle,  ready: stay,  exited: stay,     gone: settle,  timer: bug },
  backoff:  { start: stay,  stop: rest,        spawned: bug,       refused: bug,     ready: bug,   exited: bug,      gone: bug,     timer: spawn },
  failed:   { start: spawn, stop: rest,        spawned: bug,       refused: bug,     ready: bug,   exited: bug,      gone: bug,     timer: bug },
};

/** @returns {Life}  A seat nothing has happened to. */
export function newLife() {
  return { state: 'down', asked: null, streak: 0, unstableAtMs: [], hasFailed: false };
}

/**
 * What an event makes of a seat. Pure. An event that cannot happen in a state leaves it as it is and is reported as effect `bug`.
 * @param {Life} life
 * @param {LifeEvent} event
 * @param {Context} context
 * @returns {Step}
 */
export function next(life, event, context) {
  return TABLE[life.state][event.type](life, event, context);
}

/** @type {Cell} */
function stay(life) {
  return { life, effects: [] };
}

/** @type {Cell} */
function bug(life, event) {
  return { life, effects: [{ type: 'bug', state: life.state, event: event.type }] };
}

/** @type {Cell} */
function spawn(life) {
  return { life: { ...life, state: 'starting' }, effects: [{ type: 'clearTimer' }, { type: 'spawn' }] };
}

/** The first deadline of an instance: to say that it is ready, or, when it need not say so, the age at which it counts as up. @type {Cell} */
function setBootTimer(life, event, { policy, nowMs }) {
  const allowedMs = policy.waitReady ? policy.listenTimeoutMs : policy.minUptimeMs;
  // Bounded from above too: after a wall clock that was set back, an adopted instance would have its deadline in the far future.
  const leftMs = Math.min(allowedMs, Math.max(0, event.startedAtMs + allowedMs - nowMs));
  return { life, effects: [{ type: 'setTimer', ms: leftMs }] };
}

/** @type {Cell} */
function beUp(life) {
  return { life: { ...life, state: 'up', hasFailed: false }, effects: [{ type: 'clearTimer' }] };
}

/** @type {Cell} */
function overdue(life, event, context) {
  if (!context.policy.waitReady) return beUp(life, event, context);
  const asked = /** @type {Asked} */ ({ cause: 'boot-timeout', by: null });
  return { life: { ...life, state: 'stopping', asked }, effects: [{ type: 'retire', asked, drain: 'finish' }] };
}

/** @type {Cell} */
function retire(life, event) {
  const { asked, drain } = event;
  return { life: { ...life, state: 'stopping', asked }, effects: [{ type: 'clearTimer' }, { type: 'retire', asked, drain }] };
}

/** A second wish to stop takes the place of a boot timeout, after which the seat would come back. @type {Cell} */
function askAgain(life, event, context) {
  return life.asked?.cause === 'boot-timeout' ? retire(life, event, context) : stay(life, event, context);
}

/** @type {Cell} */
function rest(life) {
  return { life: { ...life, state: 'down', asked: null }, effects: [{ type: 'clearTimer' }] };
}

/** The wish to stop came while the process was being created, when the keeper could not yet be asked to end it. @type {Cell} */
function retireAtLast(life) {
  const asked = /** @type {Asked} */ (life.asked);
  return { life, effects: [{ type: 'retire', asked, drain: 'finish' }] };
}

/** The last process is gone. @type {Cell} */
function settle(life, event, context) {
  if (life.asked?.cause !== 'boot-timeout' || !context.isWanted) return rest(life, event, context);
  return judge({ ...life, asked: null }, { code: null, isUnstable: true, wasUp: false }, context);
}

/** @type {Cell} */
function crashed(life, event, context) {
  const wasUp = life.state === 'up';
  const code = event.type === 'exited' ? event.code : null;
  const isUnstable = !wasUp || event.uptimeMs < context.policy.minUptimeMs;
  return context.isWanted ? judge(life, { code, isUnstable, wasUp }, context) : rest(life, event, context);
}

/**
 * @param {Life} life
 * @param {{code: number|null, isUnstable: boolean, wasUp: boolean}} exit
 * @param {Context} context
 * @returns {Step}
 */
function judge(life, exit, { policy, nowMs }) {
  const verdict = judgeExit(policy, life, exit, nowMs);
  const after = { ...life, ...verdict.record, hasFailed: life.hasFailed || !exit.wasUp };
  if (verdict.what === 'failed') return { life: { ...after, state: 'failed' }, effects: [{ type: 'clearTimer' }] };
  if (verdict.what === 'done') {
    const isOk = exit.wasUp || exit.code === 0 || (exit.code !== null && policy.stopExitCodes.includes(exit.code));
    return { life: { ...after, state: 'down' }, effects: [{ type: 'clearTimer' }, { type: 'ended', isOk }] };
  }
  if (verdict.delayMs === 0) return { life: { ...after, state: 'starting' }, effects: [{ type: 'clearTimer' }, { type: 'spawn' }] };
  return { life: { ...after, state: 'backoff' }, effects: [{ type: 'setTimer', ms: verdict.delayMs }] };
}
