import { judgeExit } from './restart-policy.js';

/** @import { Policy } from './restart-policy.js' */

// The only place where the state of a seat changes. State says what is; `want` says what should be.
// They are never merged.
//
//            start             spawned, booted, ready or old enough
//     down ---------> starting -----------------------------> up
//      ^               |   |  exited                           |  exited
//      |          stop |   +-------> backoff / failed <--------+
//      |               v              |         ^              | stop
//      +---- gone -- stopping <-------|---------|--------------+
//      +--------------- stop ---------+    (boot timeout: stopping, then as after an exit)
//
// Through a door that is kept shut (a guarded rollout):
//
//     starting --ready--> soaking --answered--> entering --admitted--> up --park--> parked
//                            (the first one only)  ^                                  | takeBack
//                                                  +----------------------------------+

/**
 * @typedef {'down' | 'starting' | 'soaking' | 'entering' | 'up' | 'parked'
 *   | 'stopping' | 'backoff' | 'failed'} State
 */

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
 *   | {type: 'timer'}} LifeEvent
 *
 * booted: its main module has been evaluated. answered, silent: whether its event loop did, when
 * asked. admitted: connections come to it.
 */

/**
 * @typedef {{type: 'spawn'}
 *   | {type: 'retire', asked: Asked, drain: 'handover'|'finish'}
 *   | {type: 'setTimer', ms: number}
 *   | {type: 'clearTimer'}
 *   | {type: 'ask'}
 *   | {type: 'admit'}
 *   | {type: 'park'}
 *   | {type: 'unpark'}
 *   | {type: 'ended', isOk: boolean}
 *   | {type: 'bug', state: State, event: string}} Effect
 *
 * spawn: ask the keeper for an instance. ended: the program has done its work, or may not be tried
 * again; nothing is wanted of this slot any more. What an instance that exited by itself leaves
 * behind (children) the keeper ends unasked.
 */

/**
 * @typedef {object} Context
 * @property {Policy} policy
 * @property {boolean} isWanted  The slot should be up, in this seat's generation.
 * @property {Trial} trial
 * @property {number} nowMs
 */

/**
 * How much a guarded rollout asks of an instance before connections come to it.
 * @typedef {object} Trial
 * @property {boolean} isOn  The first mistake is the last.
 * @property {'open' | 'gated' | 'canary'} door  canary: it has to live for a while and to answer
 *   before it is let in. gated: it is let in when it is ready.
 * @property {string | null} missing  What it has to do besides living. Null: nothing.
 * @property {boolean} isLoading  All that is missing is the end of its main module, which may have
 *   none: a loop at the top level of an ES module.
 * @property {number | null} startedAtMs
 * @property {number | null} bootedAtMs  Since when its age counts.
 */

/** @typedef {{ life: Life, effects: Effect[] }} Step */
/** @typedef {(life: Life, event: any, context: Context) => Step} Cell */

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
  'answered',
  'silent',
  'admitted',
  'park',
  'takeBack',
]);

/** @type {Record<State, Record<LifeEvent['type'], Cell>>} */
// prettier-ignore
export const TABLE = {
  down:     { start: spawn,    stop: stay,     spawned: bug,          booted: bug,  refused: bug,     ready: bug,
              exited: bug,     gone: bug,      timer: bug,     ...notAsked(bug) },
  starting: { start: stay,     stop: retire,   spawned: setBootTimer, booted: age,  refused: crashed, ready: letIn,
              exited: crashed, gone: bug,      timer: overdue, ...notAsked(bug), answered: turns, silent: hangs },
  soaking:  { start: stay,     stop: retire,   spawned: stay,         booted: stay, refused: bug,     ready: stay,
              exited: crashed, gone: bug,      timer: ask,     ...notAsked(bug), answered: enter, silent: expel },
  entering: { start: stay,     stop: retire,   spawned: stay,         booted: stay, refused: bug,     ready: stay,
              exited: crashed, gone: bug,      timer: expel,   ...notAsked(stay), admitted: beUp },
  up:       { start: stay,     stop: retire,   spawned: stay,         booted: stay, refused: bug,     ready: stay,
              exited: crashed, gone: bug,      timer: bug,     ...notAsked(stay), park },
  parked:   { start: stay,     stop: retire,   spawned: stay,         booted: stay, refused: bug,     ready: stay,
              exited: rest,    gone: bug,      timer: bug,     ...notAsked(stay), takeBack },
  stopping: { start: stay,     stop: askAgain, spawned: retireAtLast, booted: stay, refused: settle,  ready: stay,
              exited: stay,    gone: settle,   timer: bug,     ...notAsked(stay) },
  backoff:  { start: stay,     stop: rest,     spawned: bug,          booted: bug,  refused: bug,     ready: bug,
              exited: bug,     gone: bug,      timer: spawn,   ...notAsked(bug) },
  failed:   { start: spawn,    stop: rest,     spawned: bug,          booted: bug,  refused: bug,     ready: bug,
              exited: bug,     gone: bug,      timer: bug,     ...notAsked(bug) },
};

/**
 * The events of the door, where no door is: an answer may come late, when the seat has moved on.
 * @param {Cell} late
 */
function notAsked(late) {
  return { answered: late, silent: late, admitted: late, park: bug, takeBack: bug };
}

/** @returns {Life}  A seat nothing has happened to. */
export function newLife() {
  return { state: 'down', asked: null, streak: 0, unstableAtMs: [], hasFailed: false };
}

/**
 * What an event makes of a seat. Pure. An event that cannot happen in a state leaves it as it is
 * and is reported as effect `bug`.
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

/**
 * The first deadline of an instance: to be ready, or, when it need not say so, the age at which it
 * counts as up.
 * @type {Cell}
 */
function setBootTimer(life, event, context) {
  const { trial, nowMs } = context;
  if (trial.missing === null) return age(life, event, context);
  return { life, effects: [{ type: 'setTimer', ms: leftOf(allowedToShow(context), event.startedAtMs, nowMs) }] };
}

/**
 * How long it may take until nothing is missing, in ms; what loads is asked then.
 * @param {Context} context
 */
function allowedToShow({ policy, trial }) {
  return trial.isLoading ? policy.minUptimeMs : policy.listenTimeoutMs;
}

/** From now on it may have nothing to do but to live. @type {Cell} */
function age(life, event, context) {
  const { policy, trial, nowMs } = context;
  if (trial.missing !== null) return stay(life, event, context);
  return { life, effects: [{ type: 'setTimer', ms: leftOf(policy.minUptimeMs, trial.bootedAtMs ?? nowMs, nowMs) }] };
}

/**
 * Bounded from above too: after a wall clock that was set back, an adopted instance would have its
 * deadline in the far future.
 * @param {number} allowedMs
 * @param {number} sinceMs
 * @param {number} nowMs
 */
function leftOf(allowedMs, sinceMs, nowMs) {
  return Math.min(allowedMs, Math.max(0, sinceMs + allowedMs - nowMs));
}

/** Ready, or old enough to count as ready. @type {Cell} */
function letIn(life, event, context) {
  const { policy, trial, nowMs } = context;
  if (trial.door === 'open') return beUp(life, event, context);
  if (trial.door === 'gated') return enter(life, event, context);
  const leftMs = leftOf(policy.minUptimeMs, trial.bootedAtMs ?? nowMs, nowMs);
  return {
    life: { ...life, state: 'soaking' },
    effects: leftMs > 0 ? [{ type: 'setTimer', ms: leftMs }] : [{ type: 'clearTimer' }, { type: 'ask' }],
  };
}

/** It has lived long enough. @type {Cell} */
function ask(life) {
  return { life, effects: [{ type: 'ask' }] };
}

/** @type {Cell} */
function enter(life, _event, { policy }) {
  return {
    life: { ...life, state: 'entering' },
    effects: [{ type: 'setTimer', ms: policy.listenTimeoutMs }, { type: 'admit' }],
  };
}

/** @type {Cell} */
function beUp(life) {
  return { life: { ...life, state: 'up', hasFailed: false }, effects: [{ type: 'clearTimer' }] };
}

/** @type {Cell} */
function park(life) {
  return { life: { ...life, state: 'parked' }, effects: [{ type: 'park' }] };
}

/** @type {Cell} */
function takeBack(life, _event, { policy }) {
  return {
    life: { ...life, state: 'entering' },
    effects: [{ type: 'setTimer', ms: policy.listenTimeoutMs }, { type: 'unpark' }],
  };
}

/** @type {Cell} */
function overdue(life, event, context) {
  const { trial, nowMs } = context;
  if (trial.missing === null) return letIn(life, event, context);
  // The others may have begun to listen meanwhile, and then so must this one.
  const ageMs = nowMs - (trial.startedAtMs ?? 0);
  const leftMs = ageMs < 0 ? 0 : allowedToShow(context) - ageMs;
  if (leftMs > 0) return { life, effects: [{ type: 'setTimer', ms: leftMs }] };
  return trial.isLoading ? ask(life, event, context) : expel(life, event, context);
}

/**
 * Its main module may be a loop that never ends, and so it is up; or it has been loaded since it
 * was asked.
 * @type {Cell}
 */
function turns(life, event, context) {
  return context.trial.isLoading ? letIn(life, event, context) : stay(life, event, context);
}

/** @type {Cell} */
function hangs(life, event, context) {
  return context.trial.isLoading ? expel(life, event, context) : stay(life, event, context);
}

/** @type {Cell} */
function expel(life, _event, { trial }) {
  const asked = /** @type {Asked} */ ({
    cause: 'boot-timeout',
    by: life.state === 'starting' ? trial.missing : 'its event loop did not answer',
  });
  return {
    life: { ...life, state: 'stopping', asked },
    effects: [{ type: 'clearTimer' }, { type: 'retire', asked, drain: 'finish' }],
  };
}

/** @type {Cell} */
function retire(life, event) {
  const { asked, drain } = event;
  return {
    life: { ...life, state: 'stopping', asked },
    effects: [{ type: 'clearTimer' }, { type: 'retire', asked, drain }],
  };
}

/**
 * A second wish to stop takes the place of a boot timeout, after which the seat would come back.
 * @type {Cell}
 */
function askAgain(life, event, context) {
  return life.asked?.cause === 'boot-timeout' ? retire(life, event, context) : stay(life, event, context);
}

/** @type {Cell} */
function rest(life) {
  return { life: { ...life, state: 'down', asked: null }, effects: [{ type: 'clearTimer' }] };
}

/**
 * The wish to stop came while the process was being created, when the keeper could not yet be asked
 * to end it.
 * @type {Cell}
 */
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
 * @param {{ code: number | null, isUnstable: boolean, wasUp: boolean }} exit
 * @param {Context} context
 * @returns {Step}
 */
function judge(life, exit, { policy, trial, nowMs }) {
  const verdict = judgeExit(policy, life, exit, nowMs);
  const isOk = exit.wasUp || exit.code === 0 || (exit.code !== null && policy.stopExitCodes.includes(exit.code));
  const isDone = verdict.what === 'done' && (isOk || !trial.isOn);
  const after = { ...life, ...verdict.record, hasFailed: life.hasFailed || !exit.wasUp };
  if (isDone) return { life: { ...after, state: 'down' }, effects: [{ type: 'clearTimer' }, { type: 'ended', isOk }] };
  // On trial nothing is tried twice: the rollout decides what follows.
  if (verdict.what === 'failed' || trial.isOn)
    return { life: { ...after, state: 'failed' }, effects: [{ type: 'clearTimer' }] };
  if (verdict.delayMs === 0)
    return { life: { ...after, state: 'starting' }, effects: [{ type: 'clearTimer' }, { type: 'spawn' }] };
  return { life: { ...after, state: 'backoff' }, effects: [{ type: 'setTimer', ms: verdict.delayMs }] };
}
