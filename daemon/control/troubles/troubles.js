import { lookAtActivity } from '../host/activity-kind.js';
import { isAppScope } from '../state/registry.js';
import { createFacts } from './facts.js';
import { createFrames } from './frames.js';
import { moveTimes, noteEvent, NO_INCIDENTS } from './incidents.js';
import { judge } from './judge.js';
import { createHttpReader } from './usual.js';

/** @import { LoggedEvent } from '../../../lib/shared/event-log.js' */
/** @import { Evidence, Kind, Replacement, Trouble } from '../../../lib/shared/troubles.js' */
/** @import { Control, Parts } from '../context.js' */
/** @import { Metrics } from '../metrics/metrics.js' */
/** @import { AppFacts } from './facts.js' */
/** @import { Incidents } from './incidents.js' */
/** @import { Standings } from './judge.js' */

/** The key of the note in which the keeper keeps the open troubles for the next control. */
const NOTE_KEY = 'troubles';

/** The sockets of the keeper change seldom. */
const SOCKETS_EVERY = 10;

/** Control was stopped, the machine slept, or its clock was set: what is measured means nothing. */
const JUMP_MS = 5_000;
const AFTER_JUMP_MS = 10_000;

/** Looks after events; a storm of events is looked at together. */
const GATHER_MS = 200;

/** With more workers, looks are less frequent, so that they cost no more. */
const WORKERS_A_TICK = 200;

/** @typedef {ReturnType<typeof createTroubles>} Troubles */

/**
 * Replaces instances; the judge gives it the facts of each look.
 * @typedef {object} Replacer
 * @property {(apps: AppFacts[], nowMs: number) => void} look
 * @property {(instanceId: string) => Replacement | null} of
 * @property {(ms: number) => void} moveTimes  By which the clock of the machine has jumped.
 */

/**
 * @param {object} o
 * @param {Pick<Control, 'registry' | 'keeper' | 'isHeld' | 'askKeeper' | 'journal'>} o.control
 * @param {Pick<Parts, 'clock' | 'eventLog' | 'logs' | 'managerLog' | 'settings'>} o.parts
 * @param {Pick<Metrics, 'sources' | 'addActivities' | 'moveTimes' | 'history' | 'onTick'>} o.metrics
 * @param {LoggedEvent[]} o.past  Oldest first.
 * @param {Parameters<typeof createFrames>[0]['take']} o.takeFrame
 * @param {Replacer} o.health
 * @param {typeof lookAtActivity} [o.lookAt]
 */
export function createTroubles({ control, parts, metrics, past, takeFrame, health, lookAt = lookAtActivity }) {
  const { clock, eventLog, logs, managerLog, settings } = parts;
  const frames = createFrames({
    clock,
    areTaken: () => settings.troubles().areFramesTaken,
    take: takeFrame,
    look: lookAt,
    onTaken() {
      lookSafely();
      keep();
    },
    onFailed: ({ name, id }, message) => managerLog('frame-failed', { app: name, id, message }),
  });
  const readHttp = createHttpReader(metrics, clock.nowMs);
  const facts = createFacts({ control, metrics, logs, readHttp, frameOf: frames.of, replacementOf: health.of });
  /** By app. @type {Map<string, Incidents>} */
  const incidents = new Map();
  /** By app. @type {Map<string, AppFacts['sockets']>} */
  let sockets = new Map();
  /** Null: control has not met its keeper yet. @type {Standings | null} */
  let standings = null;
  let ticks = 0;
  let lastMs = clock.nowMs();
  let restsUntilMs = 0;
  let isDue = false;
  let problem = '';

  for (const event of past) note(event);

  /** @param {LoggedEvent} event */
  function note(event) {
    if (event.app === undefined || event.type.startsWith('trouble:')) return;
    const before = incidents.get(event.app) ?? NO_INCIDENTS;
    const after = noteEvent(before, event);
    if (after === NO_INCIDENTS) incidents.delete(event.app);
    else incidents.set(event.app, after);
  }

  function look() {
    const nowMs = clock.nowMs();
    if (nowMs < restsUntilMs || control.registry.ending || control.isHeld) return;
    if (!standings) {
      standings = restore(control.keeper?.notes[NOTE_KEY], nowMs);
      frames.restore(listFrames(standings));
    }
    const apps = facts.collect(incidents, sockets, nowMs);
    const found = judge(apps, standings, nowMs);
    standings = found.standings;
    considerFrames(apps, standings);
    for (const { hasBegun, trouble } of found.changes) {
      const { id: _, ...about } = trouble;
      eventLog.note({ type: hasBegun ? 'trouble:began' : 'trouble:ended', ...about });
      control.journal.send({ type: 'trouble', at: nowMs, hasBegun, ...trouble });
    }
    if (found.changes.length > 0) keep();
    health.look(apps, nowMs);
  }

  /**
   * @param {AppFacts[]} apps
   * @param {Standings} judged
   */
  function considerFrames(apps, judged) {
    const names = [...judged.values()].flatMap(({ trouble }) =>
      trouble?.kind === 'loop-blocked' && readFrame(trouble)?.isEarlier !== false ? trouble.app : [],
    );
    frames.forget((instanceId) => control.registry.instances.has(instanceId));
    if (names.length > 0) frames.consider(apps.flatMap(({ name, workers }) => (names.includes(name) ? workers : [])));
  }

  /** Logs an error of look(), because an error in a judgement must not end control. */
  function lookSafely() {
    try {
      look();
      problem = '';
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      if (problem !== message) managerLog('judge-failed', { message });
      problem = message;
    }
  }

  function keep() {
    control.askKeeper('note', { key: NOTE_KEY, value: list() }).catch(() => {
      // The keeper has died. The next change writes the note again.
    });
  }

  function tick() {
    const nowMs = clock.nowMs();
    if (Math.abs(nowMs - lastMs) > JUMP_MS) jump(nowMs);
    lastMs = nowMs;
    if (ticks % SOCKETS_EVERY === 0) void readSockets();
    if (ticks % countTicks() === 0) lookSafely();
    ticks += 1;
  }

  /** @param {number} nowMs */
  function jump(nowMs) {
    restsUntilMs = nowMs + AFTER_JUMP_MS;
    for (const [app, own] of incidents) incidents.set(app, moveTimes(own, nowMs - lastMs));
    facts.moveTimes(nowMs - lastMs);
    frames.moveTimes(nowMs - lastMs);
    health.moveTimes(nowMs - lastMs);
    standings = standings && restore(getOpen(), restsUntilMs);
  }

  function getOpen() {
    return [...(standings?.values() ?? [])].flatMap(({ trouble }) => trouble ?? []);
  }

  /** @returns {number}  From one look to the next. */
  function countTicks() {
    return Math.max(1, Math.ceil(control.registry.instances.size / WORKERS_A_TICK));
  }

  async function readSockets() {
    try {
      sockets = groupSockets(control.registry, (await control.askKeeper('sockets', {})).sockets);
    } catch {
      // The keeper has died. The next one is asked with the next tick.
    }
  }

  function list() {
    // An event that has just come is judged first.
    if (isDue) {
      isDue = false;
      lookSafely();
    }
    const open = getOpen();
    return [...open.filter(({ level }) => level === 'bad'), ...open.filter(({ level }) => level === 'warn')];
  }

  const endings = [
    metrics.onTick(tick),
    eventLog.follow((event) => {
      note(event);
      if (isDue || event.type.startsWith('trouble:')) return;
      isDue = true;
      clock.after(GATHER_MS * countTicks(), () => {
        isDue = false;
        lookSafely();
      });
    }),
  ];

  return {
    /** @returns {Trouble[]}  The worst first. */
    list,
    /** False: control has not met its keeper, so the list is empty. */
    isReady: () => standings !== null,
    /** @returns {(app: string, slot: number) => Kind[]} */
    bySlot() {
      const open = list();
      return (name, slot) =>
        open.flatMap(({ app, slots, kind }) =>
          app === name && (slots.length === 0 || slots.includes(slot)) ? kind : [],
        );
    },
    close() {
      for (const end of endings) end();
    },
  };
}

/** @param {Trouble} trouble */
function readFrame({ evidence }) {
  return /** @type {Evidence['loop-blocked'] | null} */ (evidence)?.frame ?? null;
}

/** @param {Standings} standings */
function listFrames(standings) {
  return [...standings.values()].flatMap(({ trouble }) => (trouble && readFrame(trouble)) ?? []);
}

/**
 * @param {unknown} note
 * @param {number} fromMs  They are measured again from then on.
 * @returns {Standings}
 */
function restore(note, fromMs) {
  const troubles = /** @type {Trouble[]} */ (Array.isArray(note) ? note : []);
  return new Map(
    troubles.map((trouble) => [trouble.id, { foundMs: trouble.sinceMs, lastMs: fromMs, trouble, isRestored: true }]),
  );
}

/**
 * @param {Control['registry']} registry
 * @param {{ app: string, scope: string, address: string, port: number, users: string[] }[]} held
 * @returns {Map<string, AppFacts['sockets']>}
 */
function groupSockets({ desired }, held) {
  /** @type {Map<string, AppFacts['sockets']>} */
  const found = new Map();
  for (const { app, scope, address, port, users } of held) {
    // The keeper knows only the name at the time of the bind.
    const name = desired.apps.find((one) => isAppScope(scope, one))?.spec.name ?? app;
    found.set(name, [...(found.get(name) ?? []), { address, port, isServed: users.length > 0 }]);
  }
  return found;
}
