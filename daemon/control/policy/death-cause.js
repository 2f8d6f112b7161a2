import { constants } from 'node:os';

/** @import { DeathCause } from '../../../lib/shared/wire/protocol.js' */
/** @import { Asked } from './seat.js' */

/**
 * @typedef {object} Circumstances
 * @property {number | null} code
 * @property {string | null} signal
 * @property {Asked | null} asked
 * @property {string | null} signalledBy  The command that sent a signal.
 * @property {boolean} isOrphan  The keeper died, and the next keeper cannot see the exit status.
 * @property {string[]} lastLines  The last lines of stderr.
 * @property {() => boolean} hasOomKillGrown  Called only after a SIGKILL.
 */

const OWN_FAULTS = new Set(['SIGSEGV', 'SIGABRT', 'SIGILL', 'SIGBUS', 'SIGFPE', 'SIGTRAP', 'SIGSYS']);

/** V8: "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory". */
const HEAP_LIMIT = /JavaScript heap out of memory|invalid (?:array|table) size Allocation failed/;

/** 128 + SIGABRT: a shell between nclust and Node.js reports the abort like this. */
const ABORTED = 134;

/** Programs often handle these signals and exit. */
const ENDING = ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP'];

/**
 * Whether the code is that of a shell, npm or Python that a signal has ended.
 * @param {number | null} code
 */
function hasPassedOn(code) {
  return ENDING.some((name) => code === 128 + constants.signals[/** @type {NodeJS.Signals} */ (name)]);
}

/**
 * Whether the command ended the process. The process may have lived on after its signal, and ended
 * later for another reason.
 * @param {Circumstances} c
 */
function isSignalled({ code, signal, signalledBy }) {
  const sent = /** @type {NodeJS.Signals} */ (signalledBy?.split(' ').at(-1));
  if (signal !== null) return signal === sent;
  return ENDING.includes(sent) && (code === 0 || code === 128 + constants.signals[sent]);
}

/**
 * @param {Circumstances} c
 * @returns {{ cause: DeathCause, by: string | null }}
 */
export function findCause(c) {
  if (c.asked) return { cause: c.asked.cause, by: c.asked.by };
  if ((c.signal === 'SIGABRT' || c.code === ABORTED) && c.lastLines.some((line) => HEAP_LIMIT.test(line)))
    return { cause: 'out-of-memory', by: 'the heap limit of V8' };
  if (c.isOrphan) return { cause: 'orphan', by: null };
  if (isSignalled(c)) return { cause: 'signal', by: c.signalledBy };
  if (c.signal === null) return { cause: hasPassedOn(c.code) ? 'signal' : 'crash', by: null };
  if (c.signal === 'SIGKILL' && c.hasOomKillGrown()) return { cause: 'out-of-memory', by: 'the kernel' };
  return { cause: OWN_FAULTS.has(c.signal) ? 'crash' : 'signal', by: null };
}
