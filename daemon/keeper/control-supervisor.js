// Control may crash at any moment: it is started again at once, then at most once a second.
import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describeError } from './host/log.js';

/** @import { ChildProcess } from 'node:child_process' */
/** @import { Log } from './host/log.js' */

const MIN_INTERVAL_MS = 1_000;
const PARENT_POLL_MS = 100;
/**
 * A control of another installation that has been started so often, and is not proven, will not be.
 */
const TRIES = 3;

/**
 * Why control was taken back: it never got ready, it ended soon after it had, or it did not answer.
 * @typedef {'unready' | 'crashed' | 'silent'} Reason
 */

/**
 * An installation that control is started from and that has yet to show that its control runs.
 * @typedef {object} Trial
 * @property {string} before  What was in its place.
 * @property {boolean} isNewKeeper  We came with it: what was before has another agent.
 * @property {Trial | null} earlier  That was on trial itself.
 * @property {number} triesLeft
 * @property {boolean} wasReady
 */

/**
 * What both kinds of peers have in common: control as our child, or control as our parent (it
 * started us when the keeper before us died).
 * @typedef {Pick<NodeJS.Process, 'pid'> & {
 *   send?: (
 *     message: unknown,
 *     handle?: unknown,
 *     options?: unknown,
 *     callback?: (error: Error | null) => void,
 *   ) => boolean,
 *   connected?: boolean,
 *   on: (event: string, listener: (...args: any[]) => void) => unknown,
 *   once: (event: string, listener: (...args: any[]) => void) => unknown,
 * }} Peer
 */

/**
 * @param {object} o
 * @param {Record<string, string>} o.env  Control's whole environment.
 * @param {string} o.root  Of the installation that control is started from.
 * @param {(peer: Peer) => void} o.onStarted
 * @param {() => void} o.onEnded
 * @param {(root: string) => void} o.onMoved  Control is started from there from now on, and the
 *   same agent is there.
 * @param {() => void} o.ask  Asks control whether it is there.
 * @param {Log} o.log
 */
export function createControlSupervisor({ env, root, onStarted, onEnded, onMoved, ask, log }) {
  /** @type {Trial | null} */
  let trial = null;
  /** @type {ReturnType<typeof watchTrial> | null} */
  let watch = null;
  let endBootWatch = () => {};
  /** An installation whose control would not run. @type {{ root: string, why: Reason } | null} */
  let refused = null;
  let lastStartMono = -Infinity;
  let isReady = false;
  let wasReady = false;
  let isStopped = false;
  /** @type {ChildProcess | null} */
  let control = null;
  /** @type {NodeJS.Timeout | undefined} */
  let timer;

  const start = () => {
    lastStartMono = performance.now();
    if (trial && (trial.triesLeft -= 1) < 0) goBack(trial, trial.wasReady ? 'crashed' : 'unready');
    control = tryFork();
    if (!control) return restart();
    follow(control);
  };
  const tryFork = () => {
    try {
      return fork(mainOf(root), [], {
        env,
        execArgv: process.execArgv,
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      });
    } catch (error) {
      log('control-not-started', describeError(error)); // Out of memory: in a second it may be different.
      return null;
    }
  };
  /** @param {ChildProcess} control */
  const follow = (control) => {
    let hasEnded = false;
    /**
     * @param {number | null} code
     * @param {string | null} signal
     */
    const ended = (code, signal) => {
      if (hasEnded) return;
      hasEnded = true;
      endBootWatch();
      watch?.end();
      log('control-ended', { pid: control.pid, code, signal });
      controlEnded();
    };
    control.on('exit', ended);
    control.on('error', (error) => {
      log('control-error', describeError(error));
      // No pid: it could not be started, and no exit will follow.
      if (control.pid === undefined) ended(null, null);
    });
    log('control-started', { pid: control.pid });
    endBootWatch = watchBoot(() => {
      log('control-hangs', { pid: control.pid });
      control.kill('SIGKILL');
    });
    onStarted(/** @type {Peer} */ (/** @type {unknown} */ (control)));
  };
  const controlEnded = () => {
    isReady = false;
    onEnded();
    restart();
  };
  const goBack = (/** @type {Trial} */ { before, earlier, isNewKeeper }, /** @type {Reason} */ why) => {
    trial = earlier;
    if (!existsSync(mainOf(before))) return log('control-cannot-be-taken-back', { root, why, gone: before });
    log('control-refused', { root, why, instead: before });
    refused = { root, why };
    root = before;
    if (!isNewKeeper) onMoved(before);
  };
  const onSilent = () => {
    if (trial) goBack(trial, 'silent');
    control?.kill('SIGKILL');
  };
  const restart = () => {
    if (isStopped) return;
    timer = setTimeout(start, Math.max(0, lastStartMono + MIN_INTERVAL_MS - performance.now()));
  };
  return {
    start,
    /** In place of `start`, when control started this keeper because the one before died. */
    followParent() {
      // Control may have died before there was a listener for it, and a channel that closes while a
      // handle waits to be acknowledged never says 'disconnect' (Node 20 to 26).
      const poll = setInterval(() => {
        if (process.connected) return;
        clearInterval(poll);
        controlEnded();
      }, PARENT_POLL_MS);
      onStarted(parentPeer());
    },
    get isReady() {
      return isReady;
    },
    /** Whether any control has been. */
    get wasReady() {
      return wasReady;
    },
    snapshot: () => ({ root, refusedRoot: refused?.root ?? null, refusedWhy: refused?.why ?? null }),
    /**
     * The next control is started from another installation; if it does not run, the one after it
     * from where it was.
     * @param {string} next
     * @param {string} [before]  Where the control was started from that has started us.
     */
    move(next, before = root) {
      watch?.end();
      if (next !== before)
        trial = { before, isNewKeeper: before !== root, earlier: trial, triesLeft: TRIES, wasReady: false };
      refused = null;
      root = next;
      onMoved(next);
    },
    /**
     * Control is ready.
     * @param {boolean} isAnswering  Whether it knows the question: an earlier version does not.
     */
    ready(isAnswering) {
      isReady = true;
      wasReady = true;
      endBootWatch();
      if (!trial) return;
      trial.wasReady = true;
      watch?.end();
      watch = watchTrial({
        ask: () => (isAnswering ? ask() : watch?.answered()),
        onProven: () => {
          trial = null;
        },
        onSilent,
      });
    },
    /** To the question whether it is there. */
    answered() {
      watch?.answered();
    },
    /** It has nothing left to do, and hangs in its end: nobody else would ever end it. */
    giveUp() {
      if (!control || control.exitCode !== null || control.signalCode !== null) return;
      log('control-hangs', { pid: control.pid });
      control.kill('SIGKILL');
    },
    stop() {
      isStopped = true;
      endBootWatch();
      watch?.end();
      clearTimeout(timer);
    },
  };
}

function parentPeer() {
  const parent = {
    pid: process.ppid,
    get connected() {
      return process.connected;
    },
    send: process.send?.bind(process),
    on: process.on.bind(process),
    once: process.once.bind(process),
  };
  return /** @type {Peer} */ (/** @type {unknown} */ (parent));
}

/** @param {string} root */
function mainOf(root) {
  return join(root, 'daemon/control/main.js');
}

// A control that hangs while it boots would never end, and nobody would start the next one.

const LOOK_MS = 1_000;
/**
 * Generous: it takes half a second, and on a machine that has far too much to do ten. Counted and
 * not measured, as below.
 */
const LOOKS = 30;

/**
 * @param {() => void} onLate  Called once, unless it is ended before.
 * @returns {() => void}  Ends it.
 */
export function watchBoot(onLate) {
  let left = LOOKS;
  const end = () => clearInterval(timer);
  const timer = setInterval(() => {
    left -= 1;
    if (left > 0) return;
    end();
    onLate();
  }, LOOK_MS);
  return end;
}

// A control of another installation that got ready may still hang. So it is asked for a while
// whether its event loop runs.

const ASK_MS = 1_000;
/**
 * A control that is still there, and answers, when so many questions were asked is proven: after 10
 * s.
 */
const QUESTIONS = 10;
/**
 * So many without an answer: it hangs. Counted and not measured, because a machine that was stopped
 * meanwhile has asked nothing.
 */
const UNANSWERED = 5;

/**
 * @param {{ ask: () => void, onProven: () => void, onSilent: () => void }} o
 * @returns {{ answered: () => void, end: () => void }}  One of the two listeners is called, once,
 *   unless it is ended before.
 */
export function watchTrial({ ask, onProven, onSilent }) {
  let asked = 0;
  let unanswered = 0;
  const look = () => {
    if (unanswered === UNANSWERED) {
      end();
      return onSilent();
    }
    asked += 1;
    unanswered += 1;
    ask();
  };
  const timer = setInterval(look, ASK_MS);
  const end = () => clearInterval(timer);
  return {
    answered() {
      unanswered = 0;
      if (asked < QUESTIONS) return;
      end();
      onProven();
    },
    end,
  };
}
