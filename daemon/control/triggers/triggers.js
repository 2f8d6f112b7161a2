// Knows: reloads that no user asked for: watched files, cron, the memory limit. Must not: replace a
// process in any way except beginReload().
import { randomUUID } from 'node:crypto';
import { isWatched } from '../../../lib/app-spec/watch-pattern.js';
import { beginReload } from '../requests/reload.js';
import { findApp } from '../state/desired.js';
import { listSeats, seatKey } from '../state/registry.js';
import { createCrons } from './cron.js';
import { createMemoryWatch } from './memory-limit.js';
import { createReloadQueue } from './reload-queue.js';
import { createWatches } from './watches.js';

/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { SlotTriggers } from '../../../lib/shared/wire/protocol.js' */
/** @import { ApiContext } from '../context.js' */
/** @import { ReadTrees } from '../host/processes.js' */
/** @import { DesiredApp, Desired } from '../state/desired.js' */
/** @import { Identify } from './app-watch.js' */
/** @import { NextRun } from './cron.js' */
/** @import { Limited } from './memory-limit.js' */
/** @import { ReloadRequest } from './reload-queue.js' */
/** @import { OpenWatcher } from './folder-watcher.js' */

/**
 * @typedef {object} TriggerInputs
 * @property {OpenWatcher} openWatcher
 * @property {Identify} [identify]
 * @property {NextRun} [nextRun]
 * @property {ReadTrees} readTrees
 * @property {(pids: number[]) => number | null} sharedBytes
 */

/**
 * @typedef {{ reason: string, isDue: () => boolean, onEnd: NonNullable<ReloadRequest['onEnd']> }} Due
 */

/**
 * @typedef {object} Triggers
 * @property {() => void} sync  Called after every turn. Cheap if nothing has changed.
 * @property {(name: string, id: number) => SlotTriggers} describe
 * @property {(name: string, id: number, o: Due) => void} replace  Replaces an instance that cannot
 *   serve, if it is still due when its turn comes.
 * @property {() => string[]} notices  One for each app whose watch has ended. One for each app whose
 *   last trigger failed, until all of its instances have started again.
 * @property {() => void} close
 */

/** Limit for the length of a reason, because reasons appear in death records and tables. */
const REASON_MAX = 200;

/**
 * @param {Omit<ApiContext, 'triggers'>} context
 * @param {TriggerInputs} senses
 */
export function createTriggers(context, { openWatcher, identify, nextRun, readTrees, sharedBytes }) {
  const { control, parts } = context;
  const { clock, managerLog } = parts;
  const reloadQueue = createReloadQueue({ reload, nowMs: clock.nowMs, managerLog });
  const watches = createWatches({
    context,
    openWatcher,
    identify,
    onQuiet: (name, reason) => ask(name, 'watch', reason, wanted),
  });
  const crons = createCrons({
    clock,
    nextRun,
    managerLog,
    onDue: (name, pattern) => ask(name, 'cron', pattern, wantedOrDone),
  });
  const memory = createMemoryWatch({
    clock,
    readTrees,
    sharedBytes,
    limited,
    managerLog,
    onAbove: ({ name, id }, reason) => ask(name, 'memory', reason, (app) => wanted(app).filter((one) => one === id)),
  });
  /** @type {Desired | null} */
  let seen = null;

  /**
   * @param {string} name
   * @param {ReloadRequest['trigger']} trigger
   * @param {string} reason
   * @param {ReloadRequest['choose']} choose
   * @param {ReloadRequest['onEnd']} [onEnd]
   */
  function ask(name, trigger, reason, choose, onEnd) {
    reloadQueue.enqueue(name, { trigger, by: `${trigger}: ${oneLine(reason)}`, choose, onEnd });
  }

  /**
   * @param {string} name
   * @param {ReloadRequest} due
   */
  async function reload(name, due) {
    await awaitRollout(name);
    const choose = (/** @type {Desired} */ desired) => {
      const app = findApp(desired, name);
      return app ? due.choose(app) : [];
    };
    if (control.registry.ending || choose(control.registry.desired).length === 0) return false;
    const receipt = await beginReload(context, {
      ...{ token: randomUUID(), by: due.by, choose, change: (/** @type {AppSpec} */ spec) => spec },
      // An instance that must not live on is not kept for a rollback.
      canRollBack: due.trigger !== 'memory' && due.trigger !== 'health',
      cause: due.trigger === 'health' ? 'unhealthy' : 'reload',
    });
    await control.waitFor(receipt);
    return true;
  }

  /**
   * Waits for the end of a reload in progress, because another reload would supersede the reload
   * that a client has requested.
   * @param {string} name
   */
  async function awaitRollout(name) {
    const app = findApp(control.registry.desired, name);
    if (!app?.rollout.isGuarded) return;
    const up = app.slots.filter((slot) => slot.want === 'up').map(({ id, generation }) => ({ id, generation }));
    await control.waitFor({ token: '', method: 'reload', up, gone: [], about: [] }).catch(() => {});
  }

  /** @returns {Limited[]} */
  function limited() {
    const { desired, seats, instances } = control.registry;
    return desired.apps
      .filter((app) => app.spec.maxMemoryBytes > 0 && !app.rollout.isGuarded && !reloadQueue.isBusy(app.spec.name))
      .flatMap(({ spec, slots }) =>
        slots.flatMap(({ id, generation }) => {
          const seat = seats.get(seatKey(id, generation));
          const instance = seat?.life.state === 'up' ? instances.get(seat.instanceId ?? '') : undefined;
          if (!instance || instance.exit || instance.startedAtMs === null || instance.snapshots) return [];
          const { pid, startedAtMs } = instance;
          const { name, maxMemoryBytes: limitBytes, minUptimeMs, backoffMs } = spec;
          return { name, id, pid, startedAtMs, limitBytes, minUptimeMs, backoffMs: backoffMs ?? 0 };
        }),
      );
  }

  /**
   * Cron starts no slot of a stopped app.
   * @param {string} name
   */
  function isStopped(name) {
    const app = findApp(control.registry.desired, name);
    return app === null || wantedOrDone(app).length === 0;
  }

  /**
   * @param {string} name
   * @param {number} atMs
   */
  function hasStartedSince(name, atMs) {
    const { instances } = control.registry;
    return listSeats(control.registry, name)
      .filter(({ life }) => life.state === 'up')
      .every(({ instanceId }) => (instances.get(instanceId ?? '')?.startedAtMs ?? -Infinity) > atMs);
  }

  /** @type {Triggers} */
  const self = {
    sync() {
      const { desired, ending } = control.registry;
      if (seen === desired && !ending) return;
      seen = desired;
      const apps = ending ? [] : desired.apps;
      watches.sync(apps.filter((app) => isWatched(app.spec) && wanted(app).length > 0));
      crons.sync(
        new Map(apps.flatMap(({ spec }) => (spec.cronRestart === null ? [] : [[spec.name, spec.cronRestart]]))),
      );
      const withLimit = apps.filter(({ spec }) => spec.maxMemoryBytes > 0);
      memory.sync(new Set(withLimit.flatMap(({ slots }) => slots.map(({ id }) => id))));
      reloadQueue.forget((name) => findApp(desired, name) !== null);
    },
    describe: (name, id) => ({
      watch: watches.describe(name),
      nextRunMs: isStopped(name) ? null : crons.nextRunMs(name),
      memory: memory.describe(id),
      last: reloadQueue.last(name),
    }),
    replace(name, id, { reason, isDue, onEnd }) {
      /** Decided when its turn comes. @type {boolean | null} */
      let isMeant = null;
      const choose = (/** @type {DesiredApp} */ app) => {
        isMeant ??= isDue();
        return isMeant ? wanted(app).filter((one) => one === id) : [];
      };
      ask(name, 'health', reason, choose, onEnd);
    },
    notices: () => [
      ...watches.notices(),
      ...control.registry.desired.apps.flatMap(({ spec: { name } }) => {
        const last = reloadQueue.last(name);
        return last?.problem && !isStopped(name) && !hasStartedSince(name, last.atMs)
          ? [`${last.problem} (${last.by})`]
          : [];
      }),
    ],
    close() {
      watches.close();
      crons.close();
      memory.close();
    },
  };
  return self;
}

/** @param {DesiredApp} app */
function wanted({ slots }) {
  return slots.filter((slot) => slot.want === 'up').map(({ id }) => id);
}

/**
 * Includes finished slots, because a finished program is a job that waits for its next run.
 * @param {DesiredApp} app
 */
function wantedOrDone({ slots }) {
  return slots.filter((slot) => slot.want === 'up' || slot.isDone).map(({ id }) => id);
}

/** @param {string} text */
function oneLine(text) {
  const line = text.replace(/[\u0000-\u001f\u007f]+/g, ' ');
  return line.length > REASON_MAX ? `${line.slice(0, REASON_MAX)}...` : line;
}
