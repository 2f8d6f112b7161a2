import { KeeperLost } from '../keeper-link/link.js';
import { tell } from '../keeper-link/tell.js';
import { isOnTrial } from '../rollout/readiness.js';
import { labelFor, spawnParams, stopSettings } from '../spawn/params.js';
import { finishSlot } from '../state/changes.js';
import { findApp, specOf } from '../state/desired.js';
import { findSlot, memoryOf, openScope, seatOfInstance } from '../state/registry.js';

/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */
/** @import { Core } from '../keeper-link/tell.js' */
/** @import { Effect } from '../policy/seat.js' */
/** @import { Values } from '../spawn/secrets.js' */
/** @import { AppWish } from '../state/desired.js' */
/** @import { Instance, Seat } from '../state/registry.js' */

/**
 * How each effect of the lifecycle table is brought about.
 * @type {{ [T in Effect['type']]: (core: Core, seat: Seat, effect: any) => void }}
 */
export const EFFECTS = { spawn, retire, setTimer, clearTimer, ask, admit, park, unpark, ended, bug };

/**
 * @param {Core} core
 * @param {Seat} seat
 */
function spawn(core, seat) {
  const { parts, world } = core;
  const app = findSlot(world, seat.id)?.app;
  if (!app) return; // The seat is not wanted any more: the next plan ends it.
  const memory = memoryOf(world, seat.id);
  memory.spawns += 1;
  const spec = parts.withPresentNode(specOf(app, seat.generation));
  seat.spec = spec;
  const instanceId = parts.newInstanceId();
  const isGated = spec.kind === 'node' && isOnTrial(world, seat);
  const label = {
    ...labelFor(spec, seat, { spawns: memory.spawns, logs: parts.logsFolder, scope: app.scope }),
    ...(isGated ? { isGated } : {}),
  };
  seat.instanceId = instanceId;
  const instance = { ...newInstance(instanceId, label), isGated };
  world.instances.set(instanceId, instance);
  openScope(world, label.scope, label.name);
  withSecrets(core, { app, seat, spec, instance }, (secrets) =>
    askForProcess(core, instanceId, spawnParams(spec, seat, { instanceId, home: parts.home, label, secrets })),
  );
}

/**
 * A process may end as soon as it has begun. Its end must not be heard before the answer: its
 * output would not be read yet, and it would die without its last words. When the keeper is gone,
 * the next one is asked anew, from the wishes.
 * @param {Core} core
 * @param {string} instanceId
 * @param {ReturnType<typeof spawnParams>} params
 */
function askForProcess(core, instanceId, params) {
  core.link?.ask(
    'spawn',
    params,
    (fact) => core.dispatch({ type: 'spawned', instanceId, ...fact }),
    ({ code, message }) =>
      core.dispatch({
        type: 'refused',
        instanceId,
        message: message.startsWith(code) ? message : `${code}: ${message}`,
      }),
  );
}

/**
 * @param {string} instanceId
 * @param {Instance['label']} label
 * @returns {Instance}
 */
export function newInstance(instanceId, label) {
  return {
    instanceId,
    label,
    pid: 0,
    startedAtMs: null,
    bootedAtMs: null,
    addresses: [],
    listenFailure: null,
    isReady: false,
    wasUp: false,
    isAwaitingSecrets: false,
    isStray: false,
    isOrphan: false,
    isGated: false,
    isParked: false,
    exit: null,
    outPipe: null,
    errPipe: null,
    signalledBy: null,
  };
}

/**
 * @param {Core} core
 * @param {Seat} seat
 * @param {Extract<Effect, { type: 'retire' }>} effect
 */
function retire(core, seat, { drain }) {
  const instance = core.world.instances.get(seat.instanceId ?? '');
  // One that is just being created is retired when the keeper has said its pid.
  if (instance && instance.pid > 0) retireInstance(core, instance, drain);
  else if (instance?.isAwaitingSecrets)
    core.dispatch({
      type: 'refused',
      instanceId: instance.instanceId,
      message: 'it was stopped before its secrets were there',
    });
}

/**
 * The one place that asks the keeper to end something.
 * @param {Core} core
 * @param {Instance} instance
 * @param {'handover' | 'finish'} drain
 */
export function retireInstance(core, { instanceId, label }, drain) {
  tell(core, 'retire', { instanceId, drain, ...stopOf(core.world, instanceId, label) });
}

/**
 * How it is to be ended, as its app says now. The label says how that was when it started.
 * @param {Core['world']} world
 * @param {string} instanceId
 * @param {Instance['label']} label
 */
function stopOf(world, instanceId, label) {
  const app = findApp(world.desired, label.name);
  const spec = seatOfInstance(world, instanceId)?.spec ?? (app && specOf(app, label.generation));
  return spec ? stopSettings(spec) : label.stop;
}

/**
 * @param {Core} core
 * @param {Seat} seat
 * @param {Extract<Effect, { type: 'setTimer' }>} effect
 */
function setTimer(core, seat, { ms }) {
  clearTimer(core, seat);
  seat.untilMs = core.parts.clock.nowMs() + ms;
  seat.cancelTimer = core.parts.clock.after(ms, () => core.dispatch({ type: 'timer', seat }));
}

/**
 * @param {Core} core
 * @param {Seat} seat
 */
function clearTimer(core, seat) {
  seat.cancelTimer();
  seat.cancelTimer = () => {};
  seat.untilMs = null;
}

/**
 * @param {Core} core
 * @param {Seat} seat
 */
function ended(core, seat) {
  fulfil(core, seat.id);
}

/**
 * The work of a slot is done: from now on it is not wanted, after a reboot neither.
 * @param {Core} core
 * @param {number} id
 */
export function fulfil({ parts, world }, id) {
  world.desired = finishSlot(world.desired, id);
  try {
    parts.store.save(world.desired);
  } catch (error) {
    // The note in the keeper says so too; the next change writes it.
    parts.journal('state-write-failed', { message: /** @type {Error} */ (error).message });
  }
}

/**
 * @param {Core} core
 * @param {Seat} seat
 * @param {Extract<Effect, { type: 'bug' }>} effect
 */
function bug({ parts }, seat, { state, event }) {
  parts.journal('impossible', { app: seat.name, slot: seat.slot, generation: seat.generation, state, during: event });
}

// The door through which connections come to an instance.

/**
 * Whether its event loop runs.
 * @param {Core} core
 * @param {Seat} seat
 * @param {Extract<Effect, { type: 'ask' }>} effect
 */
function ask(core, seat, { ms }) {
  request(core, seat, 'ask', { timeoutMs: ms }, 'answered');
}

/**
 * From now on connections come to it.
 * @param {Core} core
 * @param {Seat} seat
 */
function admit(core, seat) {
  request(core, seat, 'admit', {}, 'admitted');
}

/**
 * No connection comes to it any more; it stays, so that it can be taken back.
 * @param {Core} core
 * @param {Seat} seat
 */
function park(core, seat) {
  const { instanceId } = seat;
  const instance = core.world.instances.get(instanceId ?? '');
  if (instance) instance.isParked = true;
  tell(core, 'park', { instanceId });
}

/**
 * It is taken back.
 * @param {Core} core
 * @param {Seat} seat
 */
function unpark(core, seat) {
  request(core, seat, 'unpark', {}, 'admitted');
}

/**
 * Asks the keeper for something that an instance has to do, and tells the seat how it went. An
 * instance that has ended says so by itself.
 * @param {Core} core
 * @param {Seat} seat
 * @param {'ask' | 'admit' | 'unpark'} verb
 * @param {object} more
 * @param {'answered' | 'admitted'} done
 */
function request({ link, parts, dispatch }, { instanceId }, verb, more, done) {
  if (!instanceId) return;
  link?.request(verb, { instanceId, ...more }).then(
    () => dispatch({ type: done, instanceId }),
    (error) => {
      if (error instanceof KeeperLost || error.code === 'ESRCH') return;
      // An earlier version of the keeper has no gates: there everything is let in that lives.
      if (error.code !== 'ENOSYS') return dispatch({ type: 'silent', instanceId });
      parts.journal('keeper-refused', { verb, params: { instanceId }, message: error.message });
      return dispatch({ type: done, instanceId });
    },
  );
}

/**
 * Has an instance wait for its secrets, if there are any that are not at hand. One whose secrets
 * cannot be had is refused, as if the system had done it.
 * @param {Core} core
 * @param {{ app: AppWish, seat: Seat, spec: AppSpec, instance: Instance }} who
 * @param {(secrets: Values) => void} start  Called at once or later, or never.
 */
function withSecrets(core, { app, seat, spec, instance }, start) {
  if (Object.keys(spec.secrets).length === 0) return start({});
  const { secrets } = core.parts.environment;
  const known = secrets.known(app, seat.generation);
  if (known) return start(known);
  const { link } = core;
  const { instanceId } = instance;
  instance.isAwaitingSecrets = true;
  // It may have been stopped meanwhile, or the keeper has died and everything was asked for anew.
  const isAwaited = () => core.link === link && core.world.instances.get(instanceId) === instance;
  secrets.need(app, seat.generation, spec).then(
    (values) => {
      if (!isAwaited()) return;
      instance.isAwaitingSecrets = false;
      start(values);
    },
    (error) => {
      if (isAwaited()) core.dispatch({ type: 'refused', instanceId, message: `${error.code}: ${error.message}` });
    },
  );
}
