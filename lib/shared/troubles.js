// docs/troubles.md explains the kinds.

/** @import { ActivityKind } from './metrics.js' */
/** @import { ListenFailure } from './wire/protocol.js' */

/** @typedef {'bad' | 'warn'} Level  bad: users of the app notice it now. */

/**
 * The deaths that a trouble is about.
 * @typedef {object} DeathsEvidence
 * @property {number} firstMs
 * @property {number} lastMs
 * @property {Record<string, any>} last  The event `died` of the last one.
 */

/**
 * The code that blocked an event loop.
 * @typedef {object} BlockFrame
 * @property {string | null} where  Like `render (report.js:31)`: the innermost frame of the app
 *   outside of its packages. Null: there is none.
 * @property {string[]} stack  The innermost frame first.
 * @property {string} instanceId
 * @property {number} atMs
 * @property {boolean} isEarlier  It was taken in an earlier block.
 */

/**
 * When the instance is replaced, unless it recovers. Or why it is not replaced. loading: it loads
 * its main module. harmless: no request waits for it. brake: others were replaced a short time
 * ago. failed: the new instance did not start.
 * @typedef {{ atMs: number }
 *   | { held: 'machine' | 'inspected' | 'loading' | 'shared' | 'harmless' | 'brake' | 'failed' }}
 *   Replacement
 */

/**
 * @typedef {object} HaltEvidence
 * @property {boolean} isRolledBack
 * @property {string} reason
 * @property {string | null} words  The error line of the new code. Null: it has written none.
 * @property {string | null} frame
 * @property {number} generation
 */

/**
 * @typedef {object} BlockEvidence
 * @property {number | null} forMs  Null: it turns again.
 * @property {number} longestMs
 * @property {ActivityKind | null} doing
 * @property {BlockFrame | null} frame
 * @property {Replacement | null} [replacement]  Null, or missing: it is left as it is.
 */

/**
 * By kind.
 * @typedef {object} Evidence
 * @property {DeathsEvidence | {}} errored  Empty: too long ago.
 * @property {DeathsEvidence} crash-loop
 * @property {{ failure: ListenFailure }} port-taken
 * @property {{ forMs: number, isProgressing: boolean }} slow-start
 * @property {BlockEvidence} loop-blocked
 * @property {{ forMs: number, requests: number, replacement?: Replacement | null }} pool-stuck
 * @property {{ requests: number, oldestMs: number, isIdle: boolean }} no-progress
 * @property {{ share: number, perS: number, line: string | null }} failing
 * @property {{ p99Ms: number, usualMs: number | null, delayP99Ms: number }} slow
 * @property {{ firstMs: number, lastMs: number, by: string }} memory-limit
 * @property {{ usedBytes: number, limitBytes: number, replacement?: Replacement | null }} memory-wall
 * @property {{ open: number, limit: number, sockets: number | null }} descriptors
 * @property {{ pid: number, program: string, cpu: number }} child-burns
 * @property {{ perS: number, usualPerS: number | null, line: string | null, share: number }} log-storm
 * @property {{ lines: number, file: string | null, reason: string }} lines-lost
 * @property {HaltEvidence} deploy-halted
 * @property {{ signal: string | null, forMs: number, killAtMs: number }} stop-hangs
 * @property {{ by: string, message: string }} trigger-failed
 * @property {{ address: string, port: number }} socket-unserved
 */

/** @typedef {keyof Evidence} Kind */

/**
 * @template {Kind} [K=Kind]
 * @typedef {object} Trouble
 * @property {string} id  Stays the same until the trouble ends.
 * @property {K} kind
 * @property {Level} level
 * @property {string} app
 * @property {number[]} slots  Empty: the app as a whole.
 * @property {number} sinceMs  When its cause began, wall clock.
 * @property {number} times  How often its cause has happened.
 * @property {Evidence[K] | null} evidence  Null: left out, because it may contain output.
 */

/**
 * For followers of events.
 * @typedef {Trouble & { type: 'trouble', at: number, hasBegun: boolean }} TroubleEvent  hasBegun:
 *   false: it has ended.
 */

/**
 * @param {Trouble[]} troubles
 * @param {{ name: string, slot: number }[]} workers
 * @returns {Trouble[]}  Those that concern one of the workers, in the same order.
 */
export function selectTroubles(troubles, workers) {
  return troubles.filter(({ app, slots }) =>
    workers.some(({ name, slot }) => name === app && (slots.length === 0 || slots.includes(slot))),
  );
}
