import { createAnswer } from '../../../daemon/control/api/methods.js';
import { Control } from '../../../daemon/control/control.js';
import { emptyDesired } from '../../../daemon/control/state/desired.js';
import { createEnvironment } from '../../../daemon/control/spawn/environment.js';
import { createSecrets } from '../../../daemon/control/spawn/secrets.js';
import { createTriggers } from '../../../daemon/control/triggers/triggers.js';
import { createHealth } from '../../../daemon/control/health/health.js';
import { createTroubles } from '../../../daemon/control/troubles/troubles.js';
import { homePaths } from '../../../lib/shared/paths.js';
import { NclustError } from '../../../lib/shared/errors.js';
import { createFakeClock } from '../../helpers/fake-clock.js';
import { FakeKeeper, settle } from '../../helpers/fake-keeper.js';
import { makeSpec } from './make-spec.js';

export function memoryStore() {
  let text = JSON.stringify(emptyDesired());
  return {
    isFull: false,
    isExact: true,
    saves: 0,
    /** Called before each save. If it returns false, the save fails because control is dead. */
    mayPass: () => true,
    load() {
      return { desired: JSON.parse(text), isExact: this.isExact, notices: [] };
    },
    save(desired) {
      if (this.isFull) throw new NclustError('ERR_NCLUST_STATE_WRITE', 'full');
      if (!this.mayPass()) throw new Error('control is dead');
      this.saves += 1;
      text = JSON.stringify(desired);
    },
    forget() {
      text = JSON.stringify(emptyDesired());
    },
  };
}

export function createRig({ seed = 0 } = {}) {
  const clock = createFakeClock();
  const store = memoryStore();
  const paths = homePaths('/home/nclust');
  const events = [];
  let nextInstance = 0;
  let nextToken = 0;
  const rig = {
    clock,
    store,
    events,
    noted: [],
    keeper: new FakeKeeper(clock),
    control: null,
    orphans: [],
    left: null,
    lastLines: [],
    drained: [],
    /** By instance. */
    attached: new Map(),
    detached: [],
    flushed: [],
    reopened: [],
    settings: {
      entries: () => ({}),
      set: () => {},
      unset: () => false,
      limitsOf: () => ({}),
      notices: () => [],
      troubles: () => ({ areFramesTaken: true }),
    },
    preflight: () => {},
    /** By path. */
    files: {},
    /** Values of secrets, in place of files and commands. */
    secret: async (spec, name) => `secret-${name}`,
    /** Inputs of the triggers. */
    senses: {
      openWatcher: () => ({ replaced: async () => [], close: () => {} }),
      identify: async () => 'folder:1',
      nextRun: () => null,
      readTrees: async () => new Map(),
      sharedBytes: () => null,
    },
    /** Returns the versioning of each app. */
    readVersioning: async (specs) => specs.map(() => null),
    systemLimits: { files: Infinity, tasks: Infinity, tasksFile: '' },
    behaveNext: null,
    /** Finds the code that blocks an event loop. */
    takeFrame: async () => null,
    connections: () => ({ isInspected: false, hasInput: true }),
    /** Makes the metrics. Default: none. */
    makeMetrics: null,
    /** Control's own installation. */
    own: { root: '/fake', node: process.execPath, digest: 'control' },
    /** By root of an installation: the report of its processes, or the error why it cannot run. */
    installed: {},
    /** The root of each keeper that control launched. Null: the installation of control. */
    launched: [],
    /** Returns the digest of the next keeper, or throws if the keeper cannot start. */
    nextKeeper: () => 'fake',
    /** Control has exited, so that the next control can start. */
    hasMadeWay: false,
    /** Notifications. */
    published: [],
    /** Followers of the event log. */
    takers: new Set(),
    /** Events sent to clients. */
    happened: [],
    subscriptions: new Map(),
    /** Apps that lose lines. */
    losing: new Map(),
    oomKilled: false,
    /** Returns the program that holds an address. Default: unknown. */
    findHolder: () => null,
    /** Returns the activity of an instance. Default: it waits. */
    activity: () => ({ cpuMs: 0, ioBytes: 0, isListening: false }),
    /** Control will die, or has died, in the middle of an operation. */
    isDoomed: false,
    token: () => `token-${seed}-${nextToken++}`,
    eventLog: () => ({
      note(event) {
        const entry = { at: clock.nowMs(), ...event };
        rig.noted.push(entry);
        for (const take of rig.takers) take(entry);
      },
      follow(take) {
        rig.takers.add(take);
        return () => rig.takers.delete(take);
      },
      sinceMs: clock.nowMs(),
      generationOf: () => null,
      close: () => {},
    }),

    /** Starts the next control. From then on, the previous control is dead. */
    async boot(mayPass) {
      rig.control?.close();
      rig.hasMadeWay = false;
      rig.isDoomed = mayPass !== undefined;
      const parts = {
        home: paths.home,
        logsFolder: paths.logs,
        clock,
        store,
        logs: {
          attach: (place) => void rig.attached.set(place.instanceId, place),
          drain: (id) => (rig.drained.push(id), rig.lastLines),
          detach: (id) => void rig.detached.push(id),
          follow: () => () => {},
          notices: () => [],
          losing: () => rig.losing,
          describe: () => ({ logLost: null, shipping: [] }),
          flush: async (files) => void rig.flushed.push(...files.map(({ path }) => path)),
          reopen: () => void rig.reopened.push('apps'),
        },
        settings: rig.settings,
        ownLog: { reopen: () => void rig.reopened.push('own') },
        managerLog: (event, fields) => void events.push({ event, ...fields }),
        eventLog: rig.eventLog(),
        oom: { hasGrown: () => rig.oomKilled, refresh: () => {} },
        findHolder: (failure) => rig.findHolder(failure),
        readActivity: async (pid) => rig.activity(pid),
        environment: createEnvironment({
          clock,
          secrets: createSecrets({ clock, readOne: (spec, name) => rig.secret(spec, name) }),
          readFile: async (file) =>
            rig.files[file] === undefined
              ? { bytes: null, fault: 'could not be read (ENOENT)' }
              : { bytes: Buffer.from(rig.files[file]), fault: null },
        }),
        newInstanceId: () => `i${seed}-${nextInstance++}`,
        cpus: () => 4,
        findOrphans: (uidsOf) => rig.orphans.filter(({ id, instanceId }) => uidsOf(id, instanceId)?.length !== 0),
        launchKeeper: async (from) => {
          rig.launched.push(from?.root ?? null);
          const digest = rig.nextKeeper(from);
          rig.keeper = Object.assign(new FakeKeeper(clock, { firstPid: 5000 }), {
            digest,
            root: from?.root ?? rig.own.root,
          });
          if (rig.behaveNext) rig.keeper.behave = rig.behaveNext;
          return rig.keeper.connect();
        },
        substituteMissingNode: (spec) => spec,
        preflight: async (specs, method) => rig.preflight(specs, method),
        readVersioning: (specs) => rig.readVersioning(specs),
        systemLimits: () => rig.systemLimits,
        leave: (status) => {
          rig.left = status;
        },
        makeWay: () => {
          rig.hasMadeWay = true;
          rig.control.close();
        },
        own: rig.own,
        probe: async ({ root }) => {
          await settle();
          if (rig.installed[root] instanceof Error) throw rig.installed[root];
          return rig.installed[root];
        },
      };
      rig.control = new Control(parts, store.load());
      rig.metrics?.close?.();
      const metrics = rig.makeMetrics?.(rig.control) ?? {
        usageOf: () => ({ cpu: 0, memoryBytes: 0, processes: 0, fds: null }),
        measureNew: async () => {},
        onTick: () => () => {},
      };
      rig.metrics = metrics;
      rig.troubles?.close();
      rig.troubles = rig.makeMetrics
        ? createTroubles({
            control: rig.control,
            parts,
            metrics,
            past: rig.noted,
            takeFrame: (id, instanceId) => rig.takeFrame(id, instanceId),
            health: createHealth({
              control: rig.control,
              replace: (...about) => rig.triggers.replace(...about),
              readTables: (pids) => new Map(pids.map((pid) => [pid, rig.connections(pid)])),
              isInDiskWait: () => false,
            }),
            lookAt: () => ({ atMono: clock.nowMs(), state: 'R', cpuMs: clock.nowMs(), delayMs: 0 }),
          })
        : { list: () => [], bySlot: () => () => [], close: () => {} };
      const exports = { notices: () => [], close: async () => {} };
      const web = { notices: () => [] };
      const shared = { control: rig.control, parts, metrics, troubles: rig.troubles };
      const context = { ...shared, exports, web, paths, version: '0.0.0' };
      rig.triggers?.close();
      rig.triggers = createTriggers(context, rig.senses);
      rig.control.follow(rig.triggers.sync);
      rig.context = { ...context, triggers: rig.triggers };
      rig.answer = createAnswer(rig.context);
      const meeting = rig.control.session.meet(rig.keeper.connect({ mayPass }));
      meeting.catch(() => {});
      await settle();
      await settle();
    },

    call(method, params = {}) {
      const client = {
        signal: new AbortController().signal,
        notify: (kind, params) => void rig.published.push({ kind, ...params }),
        notifyLog: () => {},
        notifyEvent: (subscription, event) => void rig.happened.push({ subscription, ...event }),
        subscriptions: rig.subscriptions,
      };
      return rig.answer(method, { token: rig.token(), ...params }, client);
    },

    start: (fields, more = {}) => rig.call('start', { specs: [makeSpec(fields)], ...more }),

    /** Advances the clock from timer to timer, and lets every message arrive in between. */
    async turn(ms = 1_000) {
      await settle();
      for (let left = ms; left > 0;) {
        const stepMs = Math.min(left, Math.max(0, clock.untilNextMs()));
        clock.advance(stepMs);
        left -= stepMs;
        await settle();
        if (stepMs === Infinity) break;
      }
    },

    async list(more = {}) {
      return (await rig.call('list', more)).slots;
    },

    running: () =>
      rig.keeper.alive
        .filter((child) => !child.isRetiring)
        .map((child) => `${child.label.name}/${child.label.slot}`)
        .sort(),

    wanted: () =>
      rig.control.registry.desired.apps
        .flatMap((app) => app.slots.filter((slot) => slot.want === 'up').map((slot) => `${app.spec.name}/${slot.slot}`))
        .sort(),

    spawned: () => rig.keeper.requests.filter(({ verb }) => verb === 'spawn'),
  };
  return rig;
}

export function watch(promise) {
  const seen = { state: 'pending', result: null, error: null };
  promise.then(
    (result) => Object.assign(seen, { state: 'done', result }),
    (error) => Object.assign(seen, { state: 'failed', error }),
  );
  return seen;
}

/** Processes that run on without a keeper, as the next keeper reports them. */
export const asOrphans = (children) =>
  children.map(({ instanceId, pid, startedAtMs, label: { name, id } }) => {
    return { instanceId, pid, startTicks: '1', startedAtMs, name, id, outPipe: null, errPipe: null };
  });
