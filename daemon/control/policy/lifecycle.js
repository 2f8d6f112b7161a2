// Knows: only rules: what a seat does next, when a seat is replaced, how long a restart waits.
// Must not: import from another folder, do I/O, read the clock.
import {
  ageOf,
  allowedMs,
  leftOf,
  listSocketLooks,
  LOADING_MAX_MS,
  lookEveryMs,
  mayLoadOn,
  missingAfter,
  soakMs,
} from './boot-time.js';
import { judgeExit } from './restart-policy.js';

/** @import { Asked, Cell, Context, Life, LifeEvent, State, Step } from './seat.js' */

// The table has all changes of a seat's state, except the changes when control starts (adopt.js).
// The state is what exists; `want` is what a user asked for.
//
//            start             spawned, booted, ready or old enough
//     down ---------> starting -----------------------------> up
//      ^               |   |  exited                           |  exited
//      |          stop |   +-------> backoff / failed <--------+
//      |               v              |         ^              | stop
//      +---- gone -- stopping <-------|---------|--------------+
//      +--------------- stop ---------+    (boot timeout: stopping, then as after an exit)
//
// Behind a gate (a guarded rollout):
//
//     starting --ready--> soaking --answered--> entering --admitted--> up --park--> parked
//                            (the first one only)  ^                                  | takeBack
//                                                  +----------------------------------+

/** @type {Record<State, Record<LifeEvent['type'], Cell>>} */
// prettier-ignore
export const TABLE = {
  down:     { start: spawn, stop: stay,     spawned: bug,          booted: bug,         refused: bug,     ready: bug,
              exited: bug,     gone: bug,    timer: bug,     listenFailed: bug,     ...gateEvents(bug) },
  starting: { start: stay,  stop: retire,   spawned: setBootTimer, booted: setAgeTimer, refused: onExit,  ready: admit,
              exited: onExit,  gone: bug,    timer: overdue, listenFailed: hurry,   ...gateEvents(bug),
              answered, silent: judgeLoading, looked },
  soaking:  { start: stay,  stop: retire,   spawned: stay,         booted: stay,        refused: bug,     ready: stay,
              exited: onExit,  gone: bug,    timer: probe,   listenFailed: stay,    ...gateEvents(bug),
              answered: enter, silent: expel },
  entering: { start: stay,  stop: retire,   spawned: stay,         booted: stay,        refused: bug,     ready: stay,
              exited: onExit,  gone: bug,    timer: expel,   listenFailed: stay, ...gateEvents(stay), admitted: beUp },
  up:       { start: stay,  stop: retire,   spawned: stay,         booted: stay,        refused: bug,     ready: stay,
              exited: onExit,  gone: bug,    timer: bug,     listenFailed: recheck, ...gateEvents(stay), park },
  parked:   { start: stay,  stop: retire,   spawned: stay,         booted: stay,        refused: bug,     ready: stay,
              exited: beDown,    gone: bug,    timer: bug,     listenFailed: stay,    ...gateEvents(stay), takeBack },
  stopping: { start: stay,  stop: overrule, spawned: retireAtLast, booted: stay,        refused: finish,  ready: stay,
              exited: stay,    gone: finish, timer: bug,     listenFailed: stay,    ...gateEvents(stay) },
  backoff:  { start: stay,  stop: beDown,     spawned: bug,          booted: bug,         refused: bug,     ready: bug,
              exited: bug,     gone: bug,    timer: spawn,   listenFailed: bug,     ...gateEvents(bug) },
  failed:   { start: spawn, stop: beDown,     spawned: bug,          booted: bug,         refused: bug,     ready: bug,
              exited: bug,     gone: bug,    timer: bug,     listenFailed: bug,     ...gateEvents(bug) },
};

/**
 * Cells for gate events in a state that does not expect such events.
 * @param {Cell} late  For answers, because an answer may come after the state has changed.
 */
function gateEvents(late) {
  return { answered: late, silent: late, looked: late, admitted: late, park: bug, takeBack: bug };
}

/**
 * Pure. An impossible event does not change the seat and is reported as effect `bug`.
 * @param {Life} life
 * @param {LifeEvent} event
 * @param {Context} context
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

/** Sets a deadline to be ready, or the time at which the instance counts as up. @type {Cell} */
function setBootTimer(life, event, context) {
  const { readiness, nowMs } = context;
  if (readiness.missing === null) return setAgeTimer(life, event, context);
  return awaitBoot(life, context, leftOf(allowedMs(context), event.startedAtMs, nowMs));
}

/**
 * Looks in the middle of the time, so that the look at the deadline shows the progress since then.
 * @param {Life} life
 * @param {Context} context
 * @param {number} ms
 * @returns {Step}
 */
function awaitBoot(life, { readiness }, ms) {
  const look = /** @type {const} */ ({ type: 'look', ms: ms / 2 });
  return { life, effects: [{ type: 'setTimer', ms }, ...(readiness.mayBeLoading ? [look] : [])] };
}

/** @type {Cell} */
function hurry(life, event, context) {
  const { policy, readiness, nowMs } = context;
  if (!readiness.isAddressRefused) return stay(life, event, context);
  return {
    life,
    effects: [{ type: 'setTimer', ms: leftOf(policy.minUptimeMs, readiness.startedAtMs ?? nowMs, nowMs) }],
  };
}

/**
 * If a cluster worker counted as up because of its age, and then its listen() fails, the worker is
 * `starting` again. On probation, the worker stays up.
 * @type {Cell}
 */
function recheck(life, event, context) {
  const { policy, readiness } = context;
  if (!readiness.cannotListen || readiness.isOnProbation) return stay(life, event, context);
  return { life: { ...life, state: 'starting' }, effects: [{ type: 'setTimer', ms: policy.minUptimeMs }] };
}

/** Time limit for a ping during loading, in ms. A free event loop answers sooner. */
const ANSWER_MS = 1_000;

/** @type {Cell} */
function setAgeTimer(life, event, context) {
  const { policy, readiness, nowMs } = context;
  if (readiness.missing !== null) return stay(life, event, context);
  const ms = leftOf(policy.minUptimeMs, readiness.bootedAtMs ?? nowMs, nowMs);
  return { life, effects: [{ type: 'setTimer', ms }, ...listSocketLooks(context)] };
}

/** @type {Cell} */
function admit(life, event, context) {
  const { policy, readiness, nowMs } = context;
  if (readiness.gate === 'open') return beUp(life, event, context);
  if (readiness.gate === 'gated') return enter(life, event, context);
  const leftMs = leftOf(soakMs(context), readiness.bootedAtMs ?? nowMs, nowMs);
  return {
    life: { ...life, state: 'soaking' },
    effects:
      leftMs > 0
        ? [{ type: 'setTimer', ms: leftMs }]
        : [{ type: 'clearTimer' }, { type: 'ping', ms: policy.listenTimeoutMs }],
  };
}

/** @type {Cell} */
function probe(life, _event, { policy }) {
  return { life, effects: [{ type: 'ping', ms: policy.listenTimeoutMs }] };
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
  const { readiness } = context;
  if (readiness.missing === null) return admit(life, event, context);
  // Computes the time limit again: after control set the timer, older instances may have started
  // to listen, and then this instance must listen too.
  const leftMs = allowedMs(context) - ageOf(context);
  if (leftMs > 0) return awaitBoot(life, context, leftMs);
  if (readiness.mayBeLoading) return { life, effects: [{ type: 'look', ms: 0 }] };
  return expel(life, event, context);
}

/** @type {Cell} */
function looked(life, event, context) {
  const { readiness } = context;
  if (readiness.missing === null) return { life, effects: listSocketLooks(context) };
  if (ageOf(context) < allowedMs(context)) return stay(life, event, context);
  return readiness.isLoading
    ? { life, effects: [{ type: 'ping', ms: ANSWER_MS }] }
    : judgeLoading(life, event, context);
}

/** The main module may be a loop that never ends, so an answer is enough. @type {Cell} */
function answered(life, event, context) {
  return context.readiness.isLoading ? admit(life, event, context) : judgeLoading(life, event, context);
}

/** @type {Cell} */
function judgeLoading(life, event, context) {
  const { readiness, policy, nowMs } = context;
  if (readiness.missing === null) return stay(life, event, context);
  if (!mayLoadOn(context)) return expel(life, event, context);
  return {
    life,
    effects: [
      { type: 'setTimer', ms: leftOf(LOADING_MAX_MS, readiness.startedAtMs ?? nowMs, nowMs) },
      { type: 'look', ms: lookEveryMs(policy) },
    ],
  };
}

/** @type {Cell} */
function expel(life, _event, context) {
  const asked = /** @type {Asked} */ ({
    cause: 'boot-timeout',
    by: life.state === 'starting' ? missingAfter(context) : 'its event loop did not answer',
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

/** A stop replaces a boot timeout, because a boot timeout starts the seat again. @type {Cell} */
function overrule(life, event, context) {
  return life.asked?.cause === 'boot-timeout' ? retire(life, event, context) : stay(life, event, context);
}

/** @type {Cell} */
function beDown(life) {
  return { life: { ...life, state: 'down', asked: null }, effects: [{ type: 'clearTimer' }] };
}

/**
 * Retires the instance now, because the stop came while the keeper was still creating the process.
 * @type {Cell}
 */
function retireAtLast(life) {
  const asked = /** @type {Asked} */ (life.asked);
  return { life, effects: [{ type: 'retire', asked, drain: 'finish' }] };
}

/** @type {Cell} */
function finish(life, event, context) {
  if (life.asked?.cause !== 'boot-timeout' || !context.isWanted) return beDown(life, event, context);
  return decideRestart({ ...life, asked: null }, { code: null, isUnstable: true, wasUp: false }, context);
}

/** @type {Cell} */
function onExit(life, event, context) {
  const wasUp = life.state === 'up';
  const code = event.type === 'exited' ? event.code : null;
  const isSignalled = event.type === 'exited' && event.isSignalled === true;
  const isUnstable = !isSignalled && (!wasUp || event.uptimeMs < context.policy.minUptimeMs);
  return context.isWanted ? decideRestart(life, { code, isUnstable, wasUp }, context) : beDown(life, event, context);
}

/**
 * @param {Life} life
 * @param {{ code: number | null, isUnstable: boolean, wasUp: boolean }} exit
 * @param {Context} context
 * @returns {Step}
 */
function decideRestart(life, exit, { policy, readiness, nowMs }) {
  const verdict = judgeExit(policy, life, exit, nowMs);
  const isOk = exit.wasUp || exit.code === 0 || (exit.code !== null && policy.stopExitCodes.includes(exit.code));
  const isDone = verdict.what === 'done' && (isOk || !readiness.isOnProbation);
  const after = { ...life, ...verdict.record, hasFailed: life.hasFailed || !exit.wasUp };
  if (isDone) return { life: { ...after, state: 'down' }, effects: [{ type: 'clearTimer' }, { type: 'ended', isOk }] };
  // On probation, a failure is final, because the rollout decides what follows.
  if (verdict.what === 'failed' || readiness.isOnProbation)
    return { life: { ...after, state: 'failed' }, effects: [{ type: 'clearTimer' }] };
  if (verdict.delayMs === 0)
    return { life: { ...after, state: 'starting' }, effects: [{ type: 'clearTimer' }, { type: 'spawn' }] };
  return { life: { ...after, state: 'backoff' }, effects: [{ type: 'setTimer', ms: verdict.delayMs }] };
}
