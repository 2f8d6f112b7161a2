/** @import { Death, DeathCause } from '../../../lib/shared/wire/protocol.js' */
/** @import { Asked } from './seat.js' */

/**
 * @typedef {object} Circumstances
 * @property {number | null} code
 * @property {string | null} signal
 * @property {Asked | null} asked  Who wanted it to end.
 * @property {string | null} signalledBy  The command that sent it a signal.
 * @property {boolean} isOrphan  Of a keeper that died: the next one cannot see how it ends.
 * @property {string[]} lastLines  Of stderr.
 * @property {() => boolean} hasOomKillGrown  Whether the kernel has killed something for memory
 *   lately. Asked only after a SIGKILL.
 */

/** What a process does to itself, as opposed to what somebody sends. */
const OWN_FAULTS = new Set(['SIGSEGV', 'SIGABRT', 'SIGILL', 'SIGBUS', 'SIGFPE', 'SIGTRAP', 'SIGSYS']);

/**
 * V8 prints it before it aborts: "FATAL ERROR: Reached heap limit Allocation failed - JavaScript
 * heap out of memory".
 */
const HEAP_LIMIT = /JavaScript heap out of memory|invalid (?:array|table) size Allocation failed/;

/** 128 + SIGABRT: what a shell between nclust and node makes of the abort. */
const ABORTED = 134;

/**
 * Why an instance died.
 * @param {Circumstances} c
 * @returns {{ cause: DeathCause, by: string | null }}
 */
export function causeOf(c) {
  if (c.asked) return c.asked;
  if ((c.signal === 'SIGABRT' || c.code === ABORTED) && c.lastLines.some((line) => HEAP_LIMIT.test(line)))
    return { cause: 'out-of-memory', by: 'the heap limit of V8' };
  if (c.isOrphan) return { cause: 'orphan', by: null };
  if (c.signal === null) return { cause: 'crash', by: null };
  if (c.signalledBy) return { cause: 'signal', by: c.signalledBy };
  if (c.signal === 'SIGKILL' && c.hasOomKillGrown()) return { cause: 'out-of-memory', by: 'the kernel' };
  return { cause: OWN_FAULTS.has(c.signal) ? 'crash' : 'signal', by: null };
}
