// Starts control, and starts it again when it exits: at most once a second.
import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describeError, withLog } from './host/log.js';

/** @import { ChildProcess } from 'node:child_process' */
/** @import { Log } from './host/log.js' */

const MIN_INTERVAL_MS = 1_000;
const PARENT_POLL_MS = 100;
/** After this number of failed starts of a new control, the keeper goes back to the old one. */
const TRIES = 3;

/**
 * Why the keeper went back to the previous installation.
 * @typedef {'unready' | 'crashed' | 'silent'} Reason
 */

/** @typedef {{ node: string, root: string }} Installation */

/**
 * An installation whose control has not proven yet that it works.
 * @typedef {object} Probation
 * @property {string} before  Root of the previous installation.
 * @property {boolean} isNewKeeper  This keeper and its agent are from the new installation.
 * @property {Probation | null} earlier  Not null if `before` was on probation too.
 * @property {number} triesLeft
 * @property {boolean} wasReady
 */

/**
 * Control. It is a child of the keeper, or the parent if it started this keeper.
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
 * @param {Record<string, string>} o.env
 * @param {string} o.root
 * @param {(peer: Peer) => void} o.onStarted
 * @param {() => void} o.onEnded
 * @param {(root: string) => void} o.onMoved  Called with the new root when control will start
 *   from another installation, which has the same agent, or replaces one that was removed.
 * @param {(path: string) => void} o.onMissing  Control cannot start, because this file is missing.
 * @param {() => void} o.ping
 * @param {Log} o.log
 */
export function createControlSupervisor({ env, root, onStarted, onEnded, onMoved, onMissing, ping, log }) {
  /** @type {Probation | null} */
  let probation = null;
  /** @type {ReturnType<typeof watchProbation> | null} */
  let watch = null;
  let endBootWatch = () => {};
  /** @type {{ root: string, why: Reason } | null} */
  let refused = null;
  let node = process.execPath;
  let saidMissing = '';
  let lastStartMono = -Infinity;
  let isRunning = false;
  let isReady = false;
  let wasReady = false;
  let isStopped = false;
  /** @type {ChildProcess | null} */
  let control = null;
  /** @type {NodeJS.Timeout | undefined} */
  let timer;

  const start = () => {
    lastStartMono = performance.now();
    if (probation && (probation.triesLeft -= 1) < 0) goBack(probation, probation.wasReady ? 'crashed' : 'unready');
    const gone = missing();
    if (gone !== null) return waitFor(gone);
    control = tryFork();
    if (!control) return restart();
    follow(control);
  };
  const waitFor = (/** @type {string} */ path) => {
    if (path !== saidMissing) log('control-not-started', { missing: path });
    saidMissing = path;
    onMissing(path);
    restart();
  };
  /** A version manager may have removed Node.js, or the package of nclust. */
  const missing = () => [node, findMain(root)].find((path) => !existsSync(path)) ?? null;
  const tryFork = () => {
    try {
      return withLog((output) =>
        fork(findMain(root), [], {
          env,
          execPath: node,
          execArgv: process.execArgv,
          stdio: ['ignore', output, output, 'ipc'],
        }),
      );
    } catch (error) {
      log('control-not-started', describeError(error)); // For example, memory is full.
      return null;
    }
  };
  /** @param {ChildProcess} control */
  const follow = (control) => {
    isRunning = true;
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
      // Without a pid the fork has failed, and Node.js does not emit 'exit'.
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
    isRunning = false;
    isReady = false;
    onEnded();
    restart();
  };
  const goBack = (/** @type {Probation} */ { before, earlier, isNewKeeper }, /** @type {Reason} */ why) => {
    probation = earlier;
    if (!existsSync(findMain(before))) return log('control-cannot-be-taken-back', { root, why, gone: before });
    log('control-refused', { root, why, instead: before });
    refused = { root, why };
    root = before;
    if (!isNewKeeper) onMoved(before);
  };
  /**
   * Switches to another installation. If its control fails, the keeper goes back to `before`.
   * @param {string} next
   * @param {string} [before]  The root of the control that started this keeper.
   */
  const move = (next, before = root) => {
    watch?.end();
    if (next !== before)
      probation = { before, isNewKeeper: before !== root, earlier: probation, triesLeft: TRIES, wasReady: false };
    refused = null;
    root = next;
    onMoved(next);
  };
  const onSilent = () => {
    if (probation) goBack(probation, 'silent');
    control?.kill('SIGKILL');
  };
  const restart = () => {
    if (isStopped) return;
    timer = setTimeout(start, Math.max(0, lastStartMono + MIN_INTERVAL_MS - performance.now()));
  };
  return {
    start,
    /** The keeper calls this instead of start() if control started the keeper. */
    followParent() {
      isRunning = true;
      // Polls, because Node.js may emit 'disconnect' before there is a listener, or never
      // (daemon/agent/channel.cjs).
      const poll = setInterval(() => {
        if (process.connected) return;
        clearInterval(poll);
        controlEnded();
      }, PARENT_POLL_MS);
      onStarted(parentPeer());
    },
    isReady: () => isReady,
    wasReady: () => wasReady,
    snapshot: () => ({ root, refusedRoot: refused?.root ?? null, refusedWhy: refused?.why ?? null }),
    move,
    /**
     * Uses the Node.js and the package of a command instead of those that were removed. Its version
     * may be another one, so the keeper goes back, if it can, when its control fails.
     * @param {Installation} offer
     */
    offer(offer) {
      const gone = isRunning ? null : missing();
      if (gone === null || !existsSync(offer.node) || !existsSync(findMain(offer.root))) return;
      if (!existsSync(node)) node = offer.node;
      if (!existsSync(findMain(root))) move(offer.root);
      log('control-moved', { gone, node, root });
      clearTimeout(timer);
      restart();
    },
    /** @param {boolean} isAnswering  This version of control answers pings. */
    ready(isAnswering) {
      isReady = true;
      wasReady = true;
      endBootWatch();
      if (!probation) return;
      probation.wasReady = true;
      watch?.end();
      watch = watchProbation({
        ping: () => (isAnswering ? ping() : watch?.answered()),
        onProven: () => {
          probation = null;
        },
        onSilent,
      });
    },
    answered() {
      watch?.answered();
    },
    killControl() {
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
function findMain(root) {
  return join(root, 'daemon/control/main.js');
}

const LOOK_MS = 1_000;
/**
 * Control hangs if it is not ready after this number of ticks. A boot takes 0.5 to 10 s. Ticks are
 * counted, because a clock also runs while a machine sleeps.
 */
const LOOKS = 30;

/**
 * @param {() => void} onLate
 * @returns {() => void}
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

const ASK_MS = 1_000;
/** The probation ends when control still answers after this number of pings. */
const QUESTIONS = 10;
const UNANSWERED_MAX = 5;

/**
 * Pings control, because a control that has become ready may still hang.
 * @param {{ ping: () => void, onProven: () => void, onSilent: () => void }} o
 * @returns {{ answered: () => void, end: () => void }}
 */
export function watchProbation({ ping, onProven, onSilent }) {
  let asked = 0;
  let unanswered = 0;
  const look = () => {
    if (unanswered === UNANSWERED_MAX) {
      end();
      return onSilent();
    }
    asked += 1;
    unanswered += 1;
    ping();
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
