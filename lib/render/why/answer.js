import { clockTime, formatAgo, formatCoarse, formatCount } from '../../figures/format.js';
import { needsAttention, oldestStart, worstStatus } from '../../figures/rows.js';
import { adviseOnPort, isAsked, quoteErrorLine } from '../../shared/death-text.js';
import { formatDuration } from '../../shared/units.js';
import { eventWords, findDeletion, isFinish } from '../event-text.js';
import { describeRun, nameSubject } from './fold.js';

/** @import { Story } from '../../commands/why.js' */
/** @import { LoggedEvent } from '../../shared/event-log.js' */
/** @import { WorkerSample } from '../../shared/metrics.js' */
/** @import { ShownStatus, SlotStatus } from '../../shared/wire/protocol.js' */

/**
 * If two crashes are further apart than this, the answer leaves out the earlier crash. If an app is
 * online, a crash that is older than this does not explain its state.
 */
export const APART_MS = 10 * 60_000;

/**
 * @param {Story} story
 * @param {{ isRunning: boolean, nowMs: number }} o
 * @returns {{ status: ShownStatus | 'gone' | 'unknown', text: string, next: string | null }}
 *   `next`: the command that the user should run next, or an advice.
 */
export function explain({ name, slots, events, blocked = [] }, { isRunning, nowMs }) {
  const own = events.filter(({ app }) => app === name);
  if (slots.length === 0) return withoutSlots(name, own, { isRunning, nowMs });
  const status = worstStatus(slots);
  const worst = slots.filter((slot) => slot.status === status);
  const crashes = crashesOfSlots(worst, events);
  const text =
    status === 'online'
      ? onlineText(name, worst, { crashes, own, nowMs })
      : downText(name, slots, { worst, crashes, own, nowMs });
  return {
    status,
    text: `${text}${blockedNote(status, slots, blocked)}${rolloutNote(status, own, nowMs)}`,
    next: nextStep(name, { status, crashes, blocked, nowMs }),
  };
}

/**
 * @param {string} name
 * @param {SlotStatus[]} slots  All online.
 * @param {{ crashes: LoggedEvent[], own: LoggedEvent[], nowMs: number }} o
 */
function onlineText(name, slots, { crashes, own, nowMs }) {
  const last = crashes.at(-1);
  if (!last) return `${name} is online${since(oldestStart(slots), nowMs)}${afterRollout(slots, own)}`;
  // Shows an old crash apart from the present state, because the crash does not explain this state.
  if (nowMs - last.at > APART_MS)
    return (
      `${name} is online${since(oldestStart(slots), nowMs)}; ` +
      `${slots.length === 1 ? 'it' : `instance ${last.slot}`} last died at ${clockTime(last.at, nowMs)}, ` +
      `${formatAgo(last.at, nowMs)}: it ${eventWords(last)}`
    );
  const starts = slots.flatMap(({ id, startedAtMs }) =>
    startedAtMs !== null && crashes.some((crash) => crash.id === id) ? [startedAtMs] : [],
  );
  const who = slots.length === 1 ? '' : `; ${nameSubject(crashes).trimEnd()}`;
  const after =
    crashes.length === 1 ? `a crash: it ${eventWords(last)}` : `${crashes.length} crashes ${describeRun(crashes)}`;
  return `${name} is online${who}${since(starts.length > 0 ? Math.max(...starts) : null, nowMs)}, after ${after}`;
}

/**
 * @param {string} name
 * @param {SlotStatus[]} slots
 * @param {{ worst: SlotStatus[], crashes: LoggedEvent[], own: LoggedEvent[], nowMs: number }} o
 *   `worst`: the slots with the worst status. The answer describes only these slots.
 */
function downText(name, slots, { worst, crashes, own, nowMs }) {
  const { status } = worst[0];
  const who =
    worst.length === slots.length ? name : `${formatCount(worst.length, 'instance')} of ${slots.length} of ${name}`;
  const about = own.filter(({ id }) => id === undefined || worst.some((slot) => slot.id === id));
  const verb = worst.length === slots.length || worst.length === 1 ? 'is' : 'are';
  const found = { about, crashes };
  const age = since(describeSince(status, worst, found), nowMs);
  return `${who} ${verb} ${status}${age}${describeReason(status, worst, found)}`;
}

/**
 * @param {string} name
 * @param {LoggedEvent[]} own
 * @param {{ isRunning: boolean, nowMs: number }} o
 * @returns {ReturnType<typeof explain>}
 */
function withoutSlots(name, own, { isRunning, nowMs }) {
  const deleted = findDeletion(own, name) ?? (isRunning ? own.findLast(({ type }) => type === 'deleted') : undefined);
  if (!isRunning && !deleted)
    return {
      status: 'unknown',
      text:
        `nclust is not running, so ${name} is not supervised; this was its last known ` +
        `state${crashNote(listCrashes(own))}`,
      next: 'nclust resurrect',
    };
  const since = deleted
    ? `: it was deleted at ${clockTime(deleted.at, nowMs)}, ${formatCoarse(nowMs - deleted.at)} ago`
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
  return atMs === null ? '' : ` since ${clockTime(atMs, nowMs)} (${formatCoarse(nowMs - atMs)})`;
}

/**
 * Returns an empty text unless all instances come from the same rollout.
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
 */
function describeSince(status, slots, { about, crashes }) {
  const last = (/** @type {string[]} */ ...types) => about.findLast(({ type }) => types.includes(type))?.at ?? null;
  if (status === 'launching') return oldestStart(slots);
  if (status === 'errored')
    return (
      about.findLast((event) => event.type === 'gave-up' && slots.some((slot) => isAboutSlot(slot, event)))?.at ??
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
function describeReason(status, slots, { about, crashes }) {
  const stop = about.findLast(({ type }) => type === 'stop' || type === 'done');
  if (status === 'stopped' && stop?.type === 'stop')
    return `: ${stop.by?.includes(' ') ? stop.by : `nclust ${stop.by ?? 'stop'}`}`;
  const finish = about.find((event) => stop?.type === 'done' && isFinish(event, stop));
  if (status === 'stopped' && finish) return `: it finished with code 0 after ${formatDuration(finish.uptimeMs)}`;
  if (status === 'stopped' && stop) return crashNote(crashes) || ': it exited on its own';
  const waiting = slots[0].waitingFor ? `; it waits for ${slots[0].waitingFor}` : '';
  return `${status === 'stopping' ? '' : crashNote(crashes)}${waiting}`;
}

/** @param {LoggedEvent[]} crashes */
function crashNote(crashes) {
  const last = crashes.at(-1);
  if (!last) return '';
  return crashes.length === 1
    ? `: it ${eventWords(last)}`
    : `: it crashed ${crashes.length} times ${describeRun(crashes)}`;
}

/**
 * Returns the latest crashes of the present generation, oldest first. The gaps between two crashes
 * are at most APART_MS.
 * @param {SlotStatus[]} slots
 * @param {LoggedEvent[]} events
 */
export function crashesOfSlots(slots, events) {
  const all = slots
    .flatMap((slot) => {
      const crashes = listCrashes(events.filter((event) => isAboutSlot(slot, event)));
      // Leaves out crashes before "nclust reset". It logs no event, but sets slot.restarts to zero.
      return slot.status === 'online' ? crashes.slice(Math.max(0, crashes.length - slot.restarts)) : crashes;
    })
    .sort((a, b) => a.at - b.at);
  const gap = all.findLastIndex(({ at }, index) => index > 0 && at - all[index - 1].at > APART_MS);
  return gap < 0 ? all : all.slice(gap);
}

/**
 * An event of another generation is not about the slot: it is from before a reload, or from an
 * instance on probation.
 * @param {SlotStatus} slot
 * @param {LoggedEvent} event
 */
function isAboutSlot(slot, { type, app, id, generation, slots }) {
  if (app === undefined) return type === 'manager:ending';
  if (app !== slot.name || (id !== undefined && id !== slot.id)) return false;
  if (type === 'stop') return slots?.includes(slot.slot) !== false;
  return type === 'added' || generation === undefined || generation === slot.generation;
}

/** A crash before one of these events does not explain the present state. */
const BEGINNINGS = ['added', 'stop', 'rollout:began', 'manager:ending'];

/**
 * Returns the crashes after the last event of BEGINNINGS, oldest first. Leaves out crashes that a
 * gap of more than APART_MS or a "gave-up" event separates from later crashes, and the exit of a
 * program that finished its work. Skips a rollout that was halted or rolled back: its crashes do
 * not count, and its beginning does not separate other crashes.
 * @param {LoggedEvent[]} events
 */
export function listCrashes(events) {
  /** @type {LoggedEvent[]} */
  const crashes = [];
  /** @type {Set<number | undefined>} */
  const undone = new Set();
  /** The last exit that nclust did not follow with a restart. @type {LoggedEvent | null} */
  let done = null;
  for (const event of events.toReversed()) {
    if (event.type === 'done') done = event;
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
    if (event.type === 'died' && !isAsked(event) && !(done && isFinish(event, done))) crashes.unshift(event);
  }
  return crashes;
}

/**
 * @param {ShownStatus} status
 * @param {SlotStatus[]} slots
 * @param {WorkerSample[]} blocked
 */
function blockedNote(status, slots, blocked) {
  if (blocked.length === 0) return '';
  const who = slots.length === 1 ? '' : nameSubject(blocked);
  const longest = formatCoarse(Math.max(...blocked.map(({ reportAgeMs }) => reportAgeMs ?? 0)));
  return (
    `${status === 'online' ? ', but' : ';'} ${who}` +
    (blocked.length === 1
      ? `does not answer: its event loop has been blocked for ${longest}`
      : `do not answer: their event loops have been blocked for up to ${longest}`)
  );
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
    `${last.reason}${quoteErrorLine(last)}`
  );
}

/**
 * @param {string} name
 * @param {{ status: ShownStatus, crashes: LoggedEvent[], blocked: WorkerSample[], nowMs: number }} o
 */
function nextStep(name, { status, crashes, blocked, nowMs }) {
  if (status === 'online' && blocked.length > 0) return `nclust stack ${blocked[0].id}`;
  const last = crashes.at(-1);
  const hasJustCrashed =
    (status === 'online' || status === 'launching') && last !== undefined && nowMs - last.at <= APART_MS;
  if (needsAttention(status) || hasJustCrashed)
    return last?.listenFailure ? adviseOnPort(last.listenFailure, name) : `nclust logs ${name} --err`;
  if (status === 'launching') return `nclust logs ${name}`;
  return status === 'stopped' ? `nclust start ${name}` : null;
}
