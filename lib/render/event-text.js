import { formatCoarse, formatCount } from '../figures/format.js';
import { describeEnd, isAsked, isCrash, quoteErrorLine, withoutPrefix } from '../shared/death-text.js';
import { formatDuration } from '../shared/units.js';
import { describePastTrouble, describeTrouble } from './troubles.js';

/** @import { LoggedEvent } from '../shared/event-log.js' */
/** @import { Style } from './paint.js' */

const MINUTES_OF_CRASHES = '10m';

/** In place of the cause. @type {Record<string, string>} */
const ROLLOUTS = {
  orphan: 'replacement of processes that a dead keeper left',
  unhealthy: 'replacement',
};

/**
 * The text for each event. It follows the name of the process or app.
 * @type {Record<string, (event: LoggedEvent) => string>}
 */
const WORDS = {
  added: ({ by, instances }) => `was added${byNote(by)}, with ${formatCount(instances, 'instance')}`,
  deleted: ({ by }) => `was ${by === 'kill' ? 'removed from the list' : 'deleted'}${byNote(by)}`,
  config: ({ attributes = [], by }) => `has new settings: ${attributes.join(', ')}${byNote(by)}`,
  scaled: ({ from, to, by }) => `was scaled from ${from} to ${to}${byNote(by)}`,
  stop: ({ by, slots = [] }) => `was asked to stop${byNote(by)}: ${formatCount(slots.length, 'instance')}`,
  started: ({ pid }) => `was started${pid ? `, pid ${pid}` : ''}`,
  ready: ({ afterMs }) => `is up${afterMs === undefined ? '' : `, ${formatDuration(afterMs)} after its start`}`,
  died: (event) => `${describeEnd(event)}${quoteErrorLine(event)}`,
  backoff: ({ delayMs, streak }) =>
    `restarts in ${formatDuration(delayMs)}${streak > 1 ? `, after ${streak} unstable exits in a row` : ''}`,
  'gave-up': ({ crashes }) => `is not restarted: ${formatCount(crashes, 'unstable exit')} within ${MINUTES_OF_CRASHES}`,
  done: ({ isOk }) =>
    isOk ? 'has finished its work, and is not restarted' : 'exited before it was up, and is not restarted',
  'rollout:began': ({ cause, by, instances, generation }) =>
    `${ROLLOUTS[cause] ?? cause} of ${formatCount(instances, 'instance')} began` +
    `${cause === 'orphan' || cause === by ? '' : byNote(by)}: generation ${generation}`,
  'rollout:canary': ({ of }) => `is up as the first of ${of}: the new code serves`,
  'rollout:step': ({ step, of }) => `is up: ${step} of ${of} replaced`,
  'rollout:window': () => 'all are replaced; the old ones are kept until the rollback window closes',
  'rollout:done': ({ generation }) => `the reload is done: generation ${generation} serves`,
  'rollout:halted': (event) =>
    `the reload to generation ${event.generation} was halted: ${event.reason}${quoteErrorLine(event)}; ` +
    'the old instances keep serving',
  'rollout:rolled-back': (event) =>
    `generation ${event.generation} was rolled back: ${event.reason}${quoteErrorLine(event)}`,
  'limit:memory': ({ by }) => `is above its memory limit (${withoutPrefix(by)}), and is replaced`,
  'limit:channel': ({ reason }) => `runs without a channel to the manager until it is restarted (${reason})`,
  'limit:logs': ({ reason }) => `writes more than can be kept: lines are lost (${reason})`,
  'trigger:watch': ({ by }) => `is reloaded, because ${withoutPrefix(by)}`,
  'trigger:health': ({ by }) => `is replaced, because it ${withoutPrefix(by)}`,
  'trigger:cron': ({ by }) => `is reloaded by its cron (${withoutPrefix(by)})`,
  'trigger:failed': ({ by, message }) => `could not be reloaded (${by}): ${message}`,
  'trouble:began': (event) => `needs attention: it ${describeTrouble(/** @type {any} */ (event)).text}`,
  'trouble:ended': ({ kind, at, sinceMs = at, evidence }) =>
    `trouble over after ${formatCoarse(at - sinceMs)}: it ${describePastTrouble({ kind, evidence })}`,
  'manager:ready': ({ version, instances }) =>
    instances > 0
      ? `control of nclust ${version} is back; ${formatCount(instances, 'process', 'processes')} kept running`
      : `nclust ${version} is ready`,
  'manager:crashed': ({ message }) => `control crashed, and restarts: ${message}`,
  'manager:keeper-lost': () => 'the keeper died; a new one starts',
  'manager:keeper': ({ pid }) => `a new keeper has started, pid ${pid}`,
  'manager:keeper-failed': ({ message }) => `a new keeper could not be started: ${message}`,
  'manager:orphans': ({ count: found }) =>
    `${formatCount(found, 'process', 'processes')} of a keeper that died ${found === 1 ? 'is' : 'are'} taken ` +
    `over, and replaced`,
  'manager:update': ({ version }) => `the update to nclust ${version} began`,
  'manager:state-lost': ({ message }) => message,
  'manager:state-unwritten': ({ message }) => `the list could not be written: ${message}`,
  'manager:ending': ({ by }) =>
    by === 'kill' ? 'nclust was ended: nclust kill' : 'nclust was ended by a system shutdown or a signal',
  lost: ({ count: number, reason }) => `${formatCount(number, 'event')} could not be written (${reason})`,
};

/** A test compares these types with the table of docs/events.md. */
export const EVENT_TYPES = Object.keys(WORDS);

/** @type {Record<string, Style>} */
const STYLES = {
  died: 'red',
  'gave-up': 'red',
  'rollout:halted': 'red',
  'rollout:rolled-back': 'red',
  lost: 'red',
  backoff: 'yellow',
  'limit:memory': 'yellow',
  'limit:channel': 'yellow',
  'limit:logs': 'yellow',
  'trigger:failed': 'red',
  'trouble:began': 'yellow',
  'trouble:ended': 'green',
  ready: 'green',
  'rollout:done': 'green',
};

/**
 * Describes an event, without its time and the name of the app.
 * @param {LoggedEvent} event
 */
export function eventWords(event) {
  // Shows an unknown type unchanged, because a newer version of nclust may have logged the event.
  return Object.hasOwn(WORDS, event.type) ? WORDS[event.type](event) : event.type;
}

/** @param {LoggedEvent} event */
export function eventStyle(event) {
  if (event.type === 'died' && !isCrash(event) && !hadToBeKilled(event)) return isAsked(event) ? null : 'yellow';
  if (event.type.startsWith('manager:')) return 'magenta';
  return Object.hasOwn(STYLES, event.type) ? STYLES[event.type] : null;
}

/**
 * Whether nclust asked the instance to exit, and then killed it.
 * @param {LoggedEvent} event
 */
function hadToBeKilled({ cause, signal }) {
  return signal === 'SIGKILL' && cause !== 'signal';
}

/**
 * Whether `done` follows from this exit, and the program finished its work without an error.
 * @param {LoggedEvent} event
 * @param {LoggedEvent} done
 */
export function isFinish({ type, instanceId, code, signal }, done) {
  return type === 'died' && instanceId === done.instanceId && code === 0 && signal === null && done.isOk;
}

/**
 * @param {LoggedEvent[]} events
 * @param {string} name
 * @returns {LoggedEvent | null}  Null: the app was not deleted, or "nclust resurrect" restores it,
 *   because "nclust kill" removed it.
 */
export function findDeletion(events, name) {
  const last = events.findLast(({ type, app }) => app === name && (type === 'added' || type === 'deleted'));
  return last?.type === 'deleted' && last.by !== 'kill' ? last : null;
}

/** @param {string | null | undefined} by */
function byNote(by) {
  if (!by) return '';
  // A text with a space is a trigger and its reason. A text without a space is a command.
  return by.includes(' ') ? ` (${by})` : ` (nclust ${by})`;
}
