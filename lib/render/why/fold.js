import { isAsked, isCrash } from '../../shared/death-text.js';
import { formatCount, formatSpan } from '../../figures/format.js';
import { eventStyle, eventWords, isFinish } from '../event-text.js';

/** @import { LoggedEvent } from '../../shared/event-log.js' */
/** @import { Style } from '../paint.js' */

/** @typedef {{ at: number, text: string, style: Style | null, events: number }} TimeLine */

/** The cause of these troubles is an event, which has its own line. */
const OF_EVENTS = new Set(['errored', 'crash-loop', 'deploy-halted', 'trigger-failed']);

const BETWEEN_CRASHES = new Set(['started', 'ready', 'backoff']);

/**
 * Returns lines, oldest first. Leaves out an event that follows from another event. Several similar
 * events in a row become one line.
 * @param {LoggedEvent[]} events
 */
export function foldEvents(events) {
  const kept = withoutConsequences(events);
  /** @type {TimeLine[]} */
  const lines = [];
  for (let at = 0; at < kept.length;) {
    const run = findRun(kept, at);
    lines.push(run.length > 1 ? lineOfRun(run.filter(({ type }) => type === kept[at].type)) : formatLine(kept[at]));
    at += run.length;
  }
  return lines;
}

/**
 * Leaves out events that another line shows: a start or a back-off whose outcome is known, an
 * instance that got ready as a step of a rollout, a trouble whose cause is an event, the exit of a
 * program that finished its work, and an exit that a user or a rollout requested, unless a
 * signal of a user or SIGKILL ended it.
 * @param {LoggedEvent[]} events
 */
function withoutConsequences(events) {
  const explained = new Set(
    events.filter(({ type }) => type === 'ready' || type === 'died').map(({ instanceId }) => instanceId),
  );
  const steps = new Set(
    events
      .filter(({ type }) => type === 'rollout:canary' || type === 'rollout:step')
      .map(({ instanceId }) => instanceId),
  );
  const done = new Map(events.flatMap((event) => (event.type === 'done' ? [[event.instanceId, event]] : [])));
  const outcomes = new Map(
    events.flatMap(({ type, id }, at) => (type === 'started' || type === 'gave-up' ? [[id, at]] : [])),
  );
  return events.filter((event, at) => {
    if (event.type === 'trouble:began') return !OF_EVENTS.has(event.kind);
    if (event.type === 'backoff') return at > (outcomes.get(event.id) ?? -1);
    if (event.type === 'started') return !explained.has(event.instanceId);
    if (event.type === 'ready') return !steps.has(event.instanceId);
    const end = done.get(event.instanceId);
    if (end && isFinish(event, end)) return false;
    return event.type !== 'died' || !isAsked(event) || event.signal === 'SIGKILL' || event.cause === 'signal';
  });
}

/**
 * @param {LoggedEvent[]} events
 * @param {number} from
 */
function findRun(events, from) {
  const first = events[from];
  const isUnplanned = first.type === 'died' && !isAsked(first);
  if (!isUnplanned && first.type !== 'ready' && first.type !== 'rollout:step') return [first];
  let last = from;
  for (let at = from + 1; at < events.length; at++) {
    if (isUnplanned ? isSameDeath(first, events[at]) : events[at].type === first.type) last = at;
    else if (!isUnplanned || !BETWEEN_CRASHES.has(events[at].type)) break;
  }
  return events.slice(from, last + 1);
}

/**
 * @param {LoggedEvent} one
 * @param {LoggedEvent} other
 */
function isSameDeath(one, other) {
  return (
    other.type === 'died' &&
    !isAsked(other) &&
    other.cause === one.cause &&
    other.code === one.code &&
    other.signal === one.signal
  );
}

/**
 * @param {LoggedEvent} event
 * @returns {TimeLine}
 */
function formatLine(event) {
  return { at: event.at, text: `${nameSubject([event])}${eventWords(event)}`, style: eventStyle(event), events: 1 };
}

/**
 * @param {LoggedEvent[]} run  Events of one type.
 * @returns {TimeLine}
 */
function lineOfRun(run) {
  const [first, last] = [run[0], run[run.length - 1]];
  if (run.length === 1) return formatLine(first);
  const line = { at: last.at, style: eventStyle(last), events: run.length };
  if (first.type === 'died')
    return {
      ...line,
      text: `${nameSubject(run)}${isCrash(first) ? 'crashed' : endedWord(run)} ${run.length} times ${describeRun(run)}`,
    };
  if (first.type === 'rollout:step')
    return { ...line, text: `${nameSubject(run)}are up: ${last.step} of ${last.of} replaced` };
  return { ...line, text: `${nameSubject(run)}${isOne(run) ? 'is' : 'are'} up` };
}

/** @param {LoggedEvent[]} run */
function endedWord(run) {
  return `${isOne(run) ? 'was' : 'were'} ended by a signal`;
}

/** @param {LoggedEvent[]} run */
function isOne(run) {
  return new Set(run.map(({ slot }) => slot)).size === 1;
}

/**
 * @param {LoggedEvent[]} deaths  Oldest first.
 * @returns {string}  "within 3s; the last time it exited with code 1 after 200ms".
 */
function describeRun(deaths) {
  const last = deaths[deaths.length - 1];
  return `within ${formatSpan(deaths[0].at, last.at)}; the last time it ${eventWords(last)}`;
}

/**
 * @param {{ slot?: number }[]} run
 * @returns {string}  "instances 0, 1 ", or "9 instances ". Empty if no slot is known.
 */
function nameSubject(run) {
  const slots = [...new Set(run.flatMap(({ slot }) => slot ?? []))].sort((a, b) => a - b);
  if (slots.length === 0) return '';
  if (slots.length > 6) return `${formatCount(slots.length, 'instance')} `;
  return `instance${slots.length === 1 ? '' : 's'} ${slots.join(', ')} `;
}
