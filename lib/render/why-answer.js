import { formatDuration } from '../shared/units.js';
import { count, endOf, eventStyle, eventWords, isAsked, quoted } from './event-text.js';
import { ago, clockTime, coarse } from './time.js';

/** @import { Story } from '../commands/why.js' */
/** @import { LoggedEvent } from '../shared/event-log.js' */
/** @import { ShownStatus, SlotStatus } from '../shared/wire/protocol.js' */
/** @import { Style } from './paint.js' */

/** Deaths that are further apart belong to different stories. */
const APART_MS = 10 * 60_000;

/** Of several instances the worst is what the question is about. @type {ShownStatus[]} */
const WORST_FIRST = ['errored', 'waiting restart', 'launching', 'stopping', 'stopped', 'online'];

/**
 * What a person at night has to know first, in one line.
 * @param {Story} story
 * @param {{ isRunning: boolean, nowMs: number }} o
 * @returns {{ status: ShownStatus | 'gone' | 'unknown', text: string, next: string | null }}
 *   `next`: the command to type.
 */
export function answerOf({ name, slots, events }, { isRunning, nowMs }) {
  const own = events.filter(({ app }) => app === name);
  if (slots.length === 0) return withoutSlots(name, own, { isRunning, nowMs });
  const status = /** @type {ShownStatus} */ (
    WORST_FIRST.find((one) => slots.some((slot) => slot.status === one)) ?? slots[0].status
  );
  const those = slots.filter((slot) => slot.status === status);
  const crashes = crashesOfSlots(those, events);
  const told =
    status === 'online'
      ? onlineText(name, those, { crashes, own, nowMs })
      : downText(name, slots, { those, crashes, own, nowMs });
  return { status, text: `${told}${rolloutNote(status, own, nowMs)}`, next: nextStep(status, name) };
}

/**
 * @param {string} name
 * @param {SlotStatus[]} slots  All of them are online.
 * @param {{ crashes: LoggedEvent[], own: LoggedEvent[], nowMs: number }} o
 */
function onlineText(name, slots, { crashes, own, nowMs }) {
  const last = crashes.at(-1);
  if (!last) return `${name} is online${since(firstStart(slots), nowMs)}${afterRollout(slots, own)}`;
  const how = `${endOf(last)}${quoted(last)}`;
  // What died long ago is not what keeps anybody awake.
  if (nowMs - last.at > APART_MS)
    return (
      `${name} is online${since(firstStart(slots), nowMs)}; ` +
      `${slots.length === 1 ? 'it' : `instance ${last.slot}`} last died at ${clockTime(last.at, nowMs)}, ` +
      `${ago(last.at, nowMs)}: ${how}`
    );
  const starts = slots.flatMap(({ id, startedAtMs }) =>
    startedAtMs !== null && crashes.some((crash) => crash.id === id) ? [startedAtMs] : [],
  );
  const who = slots.length === 1 ? '' : `; ${subjectOf(crashes).trimEnd()}`;
  const after =
    crashes.length === 1 ? 'a crash: ' : `${crashes.length} crashes within ${within(crashes[0].at, last.at)}; last: `;
  return `${name} is online${who}${since(starts.length > 0 ? Math.max(...starts) : null, nowMs)}, after ${after}${how}`;
}

/**
 * @param {string} name
 * @param {SlotStatus[]} slots
 * @param {{ those: SlotStatus[], crashes: LoggedEvent[], own: LoggedEvent[], nowMs: number }} o
 *   `those`: of the slots, all that have the status in question.
 */
function downText(name, slots, { those, crashes, own, nowMs }) {
  const { status } = those[0];
  const who = those.length === slots.length ? name : `${count(those.length, 'instance')} of ${slots.length} of ${name}`;
  const about = own.filter(({ id }) => id === undefined || those.some((slot) => slot.id === id));
  const verb = those.length === slots.length || those.length === 1 ? 'is' : 'are';
  return (
    `${who} ${verb} ` +
    `${status}${since(sinceOf(status, those, { about, crashes }), nowMs)}${reasonOf(status, those, { about, crashes })}`
  );
}

/**
 * @param {string} name
 * @param {LoggedEvent[]} own
 * @param {{ isRunning: boolean, nowMs: number }} o
 * @returns {ReturnType<typeof answerOf>}
 */
function withoutSlots(name, own, { isRunning, nowMs }) {
  if (!isRunning)
    return {
      status: 'unknown',
      text:
        `No nclust runs, so nobody looks after ${name}; this is what was known until ` +
        `then${crashNote(crashesOf(own))}`,
      next: 'nclust resurrect',
    };
  const deleted = own.findLast(({ type }) => type === 'deleted');
  const since = deleted
    ? `: it was deleted at ${clockTime(deleted.at, nowMs)}, ${coarse(nowMs - deleted.at)} ago`
    : ' any more';
  return {
    status: 'gone',
    text: `${name} is not in the list${since}`,
    next: null,
  };
}

/**
 * @param {number | null} atMs
 * @param {number} nowMs
 */
function since(atMs, nowMs) {
  return atMs === null ? '' : ` since ${clockTime(atMs, nowMs)} (${coarse(nowMs - atMs)})`;
}

/**
 * @param {SlotStatus[]} slots
 * @returns {number | null}
 */
function firstStart(slots) {
  const starts = slots.flatMap(({ startedAtMs }) => startedAtMs ?? []);
  return starts.length > 0 ? Math.min(...starts) : null;
}

/**
 * What the instances that serve were started for, when it was not the first start of their app.
 * @param {SlotStatus[]} slots
 * @param {LoggedEvent[]} own
 */
function afterRollout(slots, own) {
  const [{ generation }] = slots;
  const began = own.findLast(
    (event) => event.type === 'added' || (event.type === 'rollout:began' && event.generation === generation),
  );
  if (began?.type !== 'rollout:began' || slots.some((slot) => slot.generation !== generation)) return '';
  const { by, cause } = began;
  if (cause === 'orphan') return ', after the death of its keeper';
  if (cause === 'restart' && by === 'start') return ', after a start';
  return `, after a ${cause}${!by || by === cause ? '' : ` (${by.includes(' ') ? by : `nclust ${by}`})`}`;
}

/**
 * @param {ShownStatus} status
 * @param {SlotStatus[]} slots
 * @param {{ about: LoggedEvent[], crashes: LoggedEvent[] }} o
 * @returns {number | null}
 */
function sinceOf(status, slots, { about, crashes }) {
  const last = (/** @type {string[]} */ ...types) => about.findLast(({ type }) => types.includes(type))?.at ?? null;
  if (status === 'launching') return firstStart(slots);
  if (status === 'errored')
    return (
      about.findLast((event) => event.type === 'gave-up' && slots.some((slot) => isOf(slot, event)))?.at ??
      last('rollout:halted') ??
      last('died')
    );
  if (status === 'waiting restart') return crashes[0]?.at ?? null;
  return last('stop', 'done', 'died');
}

/**
 * @param {ShownStatus} status
 * @param {SlotStatus[]} slots
 * @param {{ about: LoggedEvent[], crashes: LoggedEvent[] }} o
 */
function reasonOf(status, slots, { about, crashes }) {
  const stop = about.findLast(({ type }) => type === 'stop' || type === 'done');
  if (status === 'stopped' && stop?.type === 'stop')
    return `: ${stop.by?.includes(' ') ? stop.by : `nclust ${stop.by ?? 'stop'}`}`;
  if (status === 'stopped' && stop) return `: it ended by itself${crashNote(crashes).replace(/^:/, ',')}`;
  const waiting = slots[0].waitingFor ? `; it waits for ${slots[0].waitingFor}` : '';
  return `${status === 'stopping' ? '' : crashNote(crashes)}${waiting}`;
}

/** @param {LoggedEvent[]} crashes */
function crashNote(crashes) {
  const last = crashes.at(-1);
  if (!last) return '';
  if (crashes.length === 1) return `: it died once, ${endOf(last)}${quoted(last)}`;
  return (
    `: it crashed ${crashes.length} times within ${within(crashes[0].at, last.at)}; last: ` +
    `${endOf(last)}${quoted(last)}`
  );
}

/**
 * The crashes that explain how slots are: of the code that is in them, since it was last started,
 * and together. The last of them at the end.
 * @param {SlotStatus[]} slots
 * @param {LoggedEvent[]} events
 */
function crashesOfSlots(slots, events) {
  const all = slots
    .flatMap((slot) => {
      const crashes = crashesOf(events.filter((event) => isOf(slot, event)));
      // A reset leaves no event, but it zeroes what each crash was counted in.
      return slot.status === 'online' ? crashes.slice(Math.max(0, crashes.length - slot.restarts)) : crashes;
    })
    .sort((a, b) => a.at - b.at);
  const gap = all.findLastIndex(({ at }, index) => index > 0 && at - all[index - 1].at > APART_MS);
  return gap < 0 ? all : all.slice(gap);
}

/**
 * Whether an event is about what is in a slot. Beside old instances there may be new ones on trial:
 * those are of another generation, and so is what was before a reload.
 * @param {SlotStatus} slot
 * @param {LoggedEvent} event
 */
function isOf(slot, { type, app, id, generation, slots }) {
  if (app === undefined) return type === 'manager:ending';
  if (app !== slot.name || (id !== undefined && id !== slot.id)) return false;
  if (type === 'stop') return slots?.includes(slot.slot) !== false;
  return type === 'added' || generation === undefined || generation === slot.generation;
}

/** What a crash before it does not explain any more. */
const BEGINNINGS = ['added', 'stop', 'rollout:began', 'manager:ending'];

/**
 * The deaths nobody asked for that belong together, the last of them at the end. What a rollout
 * that came to nothing has tried is not among them, and it separates none.
 * @param {LoggedEvent[]} events
 */
export function crashesOf(events) {
  /** @type {LoggedEvent[]} */
  const crashes = [];
  /** @type {Set<number | undefined>} */
  const undone = new Set();
  for (const event of events.toReversed()) {
    if (event.type === 'rollout:halted' || event.type === 'rollout:rolled-back') undone.add(event.generation);
    const isUndone =
      event.generation !== undefined &&
      undone.has(event.generation) &&
      (event.type === 'died' || event.type === 'rollout:began');
    if (isUndone) continue;
    if (
      BEGINNINGS.includes(event.type) ||
      (crashes.length > 0 && (crashes[0].at - event.at > APART_MS || event.type === 'gave-up'))
    )
      break;
    if (event.type === 'died' && !isAsked(event)) crashes.unshift(event);
  }
  return crashes;
}

/**
 * @param {ShownStatus} status
 * @param {LoggedEvent[]} own
 * @param {number} nowMs
 */
function rolloutNote(status, own, nowMs) {
  const last = own.findLast(({ type }) =>
    ['added', 'rollout:began', 'rollout:done', 'rollout:halted', 'rollout:rolled-back'].includes(type),
  );
  if (last?.type !== 'rollout:halted' && last?.type !== 'rollout:rolled-back') return '';
  const what = last.type === 'rollout:halted' ? 'was halted' : 'was rolled back';
  return (
    `${status === 'online' ? ', but' : ';'} its last reload ${what} at ${clockTime(last.at, nowMs)}: ` +
    `${last.reason}`
  );
}

/**
 * @param {ShownStatus} status
 * @param {string} name
 */
function nextStep(status, name) {
  if (status === 'errored' || status === 'waiting restart') return `nclust logs ${name} --err`;
  if (status === 'launching') return `nclust logs ${name}`;
  return status === 'stopped' ? `nclust start ${name}` : null;
}

/**
 * One line of a timeline.
 * @typedef {{ at: number, text: string, style: Style | null, events: number }} TimeLine
 */

/** What belongs to a crash and the next attempt. */
const BETWEEN_CRASHES = new Set(['started', 'ready', 'backoff']);

/**
 * The events of an app as lines, oldest first: what follows from another event is left out, and
 * what repeats itself is one line.
 * @param {LoggedEvent[]} events
 * @returns {TimeLine[]}
 */
export function foldEvents(events) {
  const telling = withoutConsequences(events);
  /** @type {TimeLine[]} */
  const lines = [];
  for (let at = 0; at < telling.length;) {
    const run = runFrom(telling, at);
    lines.push(run.length > 1 ? lineOfRun(run.filter(({ type }) => type === telling[at].type)) : lineOf(telling[at]));
    at += run.length;
  }
  return lines;
}

/**
 * A start or a pause whose outcome is known, an instance that was up as a step of a rollout, an end
 * that somebody asked for: another line says so.
 * @param {LoggedEvent[]} events
 */
function withoutConsequences(events) {
  const settled = new Set(
    events.filter(({ type }) => type === 'ready' || type === 'died').map(({ instanceId }) => instanceId),
  );
  const steps = new Set(
    events
      .filter(({ type }) => type === 'rollout:canary' || type === 'rollout:step')
      .map(({ instanceId }) => instanceId),
  );
  const outcomes = new Map(
    events.flatMap(({ type, id }, at) => (type === 'started' || type === 'gave-up' ? [[id, at]] : [])),
  );
  return events.filter((event, at) => {
    if (event.type === 'backoff') return at > (outcomes.get(event.id) ?? -1);
    if (event.type === 'started') return !settled.has(event.instanceId);
    if (event.type === 'ready') return !steps.has(event.instanceId);
    return event.type !== 'died' || !isAsked(event) || event.signal === 'SIGKILL';
  });
}

/**
 * The events from one on that make one line with it.
 * @param {LoggedEvent[]} events
 * @param {number} from
 * @returns {LoggedEvent[]}
 */
function runFrom(events, from) {
  const first = events[from];
  const isCrash = first.type === 'died' && !isAsked(first);
  if (!isCrash && first.type !== 'ready' && first.type !== 'rollout:step') return [first];
  let last = from;
  for (let at = from + 1; at < events.length; at++) {
    if (isCrash ? isSameDeath(first, events[at]) : events[at].type === first.type) last = at;
    else if (!isCrash || !BETWEEN_CRASHES.has(events[at].type)) break;
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
function lineOf(event) {
  return { at: event.at, text: `${subjectOf([event])}${eventWords(event)}`, style: eventStyle(event), events: 1 };
}

/**
 * @param {LoggedEvent[]} run  Of one type, several.
 * @returns {TimeLine}
 */
function lineOfRun(run) {
  const [first, last] = [run[0], run[run.length - 1]];
  if (run.length === 1) return lineOf(first);
  const line = { at: last.at, style: eventStyle(last), events: run.length };
  if (first.type === 'died')
    return {
      ...line,
      text:
        `${subjectOf(run)}crashed ${run.length} times within ${within(first.at, last.at)}: ` +
        `${endOf(last)}${quoted(last)}`,
    };
  if (first.type === 'rollout:step')
    return { ...line, text: `${subjectOf(run)}are up: ${last.step} of ${last.of} replaced` };
  return { ...line, text: `${subjectOf(run)}${isOne(run) ? 'is' : 'are'} up` };
}

/**
 * @param {number} fromMs
 * @param {number} toMs
 */
function within(fromMs, toMs) {
  return formatDuration(Math.max(1_000, Math.round((toMs - fromMs) / 1_000) * 1_000));
}

/** @param {LoggedEvent[]} run */
function isOne(run) {
  return new Set(run.map(({ slot }) => slot)).size === 1;
}

/**
 * @param {LoggedEvent[]} run
 * @returns {string}  "instances 0, 1 ", or nothing: what words of an event follow.
 */
function subjectOf(run) {
  const slots = [...new Set(run.flatMap(({ slot }) => slot ?? []))].sort((a, b) => a - b);
  if (slots.length === 0) return '';
  if (slots.length > 6) return `${count(slots.length, 'instance')} `;
  return `instance${slots.length === 1 ? '' : 's'} ${slots.join(', ')} `;
}
