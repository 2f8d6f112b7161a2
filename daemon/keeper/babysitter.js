// Control may crash at any moment: it is started again at once, then at most once a second.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { describeError } from './log.js';

const MIN_INTERVAL_MS = 1_000;
/** A control of another installation that has been started so often without having got ready will not get so. */
const TRIES = 3;

/**
 * What both kinds of peers have in common: control as our child, or control as our parent (it started us when the keeper before us died).
 * @typedef {Pick<NodeJS.Process, 'pid'> & {
 *   send?: (message: unknown, handle?: unknown, options?: unknown, callback?: (error: Error | null) => void) => boolean,
 *   connected?: boolean,
 *   on: (event: string, listener: (...args: any[]) => void) => unknown,
 *   once: (event: string, listener: (...args: any[]) => void) => unknown }} Peer
 */

/**
 * @param {object} o
 * @param {Record<string, string>} o.env  Control's whole environment.
 * @param {string} o.root  Of the installation that control is started from.
 * @param {(peer: Peer) => void} o.onStarted
 * @param {(exit: { code: number | null, signal: string | null }) => void} o.onEnded
 * @param {import('./log.js').Log} o.log
 */
export function createBabysitter({ env, root, onStarted, onEnded, log }) {
  /** The installation that is on trial, and what was in its place. @type {{ before: string, triesLeft: number } | null} */
  let trial = null;
  /** @type {string | null} */
  let refusedRoot = null;
  let lastStartMono = -Infinity;
  let isStopped = false;
  /** @type {NodeJS.Timeout | undefined} */
  let timer;

  const start = () => {
    lastStartMono = performance.now();
    if (trial && (trial.triesLeft -= 1) < 0) goBack(trial.before);
    const control = tryFork();
    if (!control) return restart();
    follow(control);
  };
  const tryFork = () => {
    try {
      return fork(join(root, 'daemon/control/main.js'), [], { env, execArgv: process.execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    } catch (error) {
      log('control-not-started', describeError(error)); // Out of memory: in a second it may be different.
      return null;
    }
  };
  /** @param {import('node:child_process').ChildProcess} control */
  const follow = (control) => {
    let hasEnded = false;
    /** @param {number | null} code  @param {string | null} signal */
    const ended = (code, signal) => {
      if (hasEnded) return;
      hasEnded = true;
      log('control-ended', { pid: control.pid, code, signal });
      onEnded({ code, signal });
      restart();
    };
    control.on('exit', ended);
    control.on('error', (error) => {
      log('control-error', describeError(error));
      // No pid: it could not be started, and no exit will follow.
      if (control.pid === undefined) ended(null, null);
    });
    log('control-started', { pid: control.pid });
    onStarted(/** @type {Peer} */ (/** @type {unknown} */ (control)));
  };
  const goBack = (/** @type {string} */ before) => {
    log('control-refused', { root, instead: before });
    refusedRoot = root;
    root = before;
    trial = null;
  };
  const restart = () => {
    if (isStopped) return;
    timer = setTimeout(start, Math.max(0, lastStartMono + MIN_INTERVAL_MS - performance.now()));
  };
  return {
    start,
    restart,
    /** Where control is started from. */
    get root() { return root; },
    /** An installation whose control would not run. */
    get refusedRoot() { return refusedRoot; },
    /** @param {string} next  The next control is started from there; if it does not get ready, the one after that from where it was. */
    move(next) {
      if (next !== root) trial = { before: trial?.before ?? root, triesLeft: TRIES };
      refusedRoot = null;
      root = next;
    },
    /** Control is ready. */
    proven() {
      trial = null;
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
