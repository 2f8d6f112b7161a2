import { isCrash } from '../../../lib/shared/death-text.js';

/** @import { LoggedEvent } from '../../../lib/shared/event-log.js' */

export const MINUTE_MS = 60_000;

/** Crashes that are further apart do not belong together. */
const APART_MS = 10 * MINUTE_MS;

const OVER_LIMIT_KEPT = 20;

/**
 * Events of an app that no later event has ended.
 * @typedef {object} Incidents
 * @property {Crashes | null} crashes  Since the last command that replaced the instances.
 * @property {LoggedEvent[]} overLimit  Oldest first.
 * @property {LoggedEvent | null} rollout  The last one, if it was halted or rolled back.
 * @property {LoggedEvent | null} failedTrigger
 * @property {{ generation: number | null, isGuarded: boolean } | null} deploy  In progress. The
 *   deaths of a guarded one halt it, and do not count as crashes.
 */

/**
 * @typedef {object} Crashes
 * @property {number} times
 * @property {number} firstMs
 * @property {number} lastMs
 * @property {number[]} slots
 * @property {LoggedEvent} last  Without the last lines of its output.
 */

/** @type {Readonly<Incidents>} */
export const NO_INCIDENTS = Object.freeze({
  crashes: null,
  overLimit: [],
  rollout: null,
  failedTrigger: null,
  deploy: null,
});

/** @type {Record<string, (before: Incidents, event: LoggedEvent) => Incidents>} */
const ON_EVENT = {
  added: () => NO_INCIDENTS,
  deleted: () => NO_INCIDENTS,
  stop: () => NO_INCIDENTS,
  'rollout:began'(before, { generation = null, isGuarded = false, by, cause }) {
    // Other replacements start the same code again.
    const isDeploy = cause !== 'orphan' && cause !== 'unhealthy' && !String(by).startsWith('memory: ');
    if (!isDeploy) return { ...before, deploy: null };
    return { ...(isGuarded ? before : NO_INCIDENTS), deploy: { generation, isGuarded } };
  },
  'rollout:done': (before) => (before.deploy ? NO_INCIDENTS : before),
  'rollout:halted': (before, event) => (before.deploy ? { ...before, deploy: null, rollout: event } : before),
  // A user who has called `rollback` knows of it.
  'rollout:rolled-back': (before, event) => ({
    ...before,
    deploy: null,
    rollout: event.by === 'rollback' ? null : event,
  }),
  'trigger:failed': (before, event) => ({ ...before, failedTrigger: event }),
  'limit:memory': (before, event) => ({ ...before, overLimit: [...before.overLimit, event].slice(-OVER_LIMIT_KEPT) }),
  died(before, event) {
    const isOfDeploy = before.deploy?.isGuarded === true && before.deploy.generation === event.generation;
    return isCrash(event) && !isOfDeploy ? { ...before, crashes: addCrash(before.crashes, event) } : before;
  },
};

/**
 * @param {Incidents} before
 * @param {LoggedEvent} event  Of the app.
 * @returns {Incidents}
 */
export function noteEvent(before, event) {
  return Object.hasOwn(ON_EVENT, event.type) ? ON_EVENT[event.type](before, event) : before;
}

/**
 * The clock of the machine has jumped: nothing could happen in between.
 * @param {Incidents} before
 * @param {number} ms
 * @returns {Incidents}
 */
export function moveTimes({ crashes, overLimit, ...rest }, ms) {
  return {
    ...rest,
    crashes: crashes && { ...crashes, firstMs: crashes.firstMs + ms, lastMs: crashes.lastMs + ms },
    overLimit: overLimit.map((event) => ({ ...event, at: event.at + ms })),
  };
}

/**
 * @param {Crashes | null} before
 * @param {LoggedEvent} event
 * @returns {Crashes}
 */
function addCrash(before, event) {
  const { lines: _, ...last } = event;
  const { at, slot = 0 } = event;
  const known = before && at - before.lastMs <= APART_MS ? before : null;
  return {
    times: (known?.times ?? 0) + 1,
    firstMs: known?.firstMs ?? at,
    lastMs: at,
    slots: known?.slots.includes(slot) ? known.slots : [...(known?.slots ?? []), slot].sort((a, b) => a - b),
    last,
  };
}
