import { withoutChannel } from '../../../lib/app-spec/channel.js';
import { KeeperLost } from '../keeper-link/link.js';
import { tell } from '../keeper-link/tell.js';
import { isOnProbation } from '../rollout/readiness.js';
import { canHideInspector, createLabel, spawnParams, stopSettings } from '../spawn/params.js';
import { finishSlot } from '../state/changes.js';
import { findApp, getSpec } from '../state/desired.js';
import { takeTurn } from '../state/keeper-deaths.js';
import { findSlot, getSlotHistory, openScope, findSeatOfInstance } from '../state/registry.js';
import { countSpawn } from '../state/slot-history.js';
import { saveIfPossible } from '../state/store.js';

/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { LoopContext } from '../context.js' */
/** @import { Effect } from '../policy/seat.js' */
/** @import { Values } from '../spawn/secrets.js' */
/** @import { DesiredApp } from '../state/desired.js' */
/** @import { Instance, Seat } from '../state/registry.js' */

/**
 * @type {{ [T in Effect['type']]:
 *   (context: LoopContext, seat: Seat, effect: any, nowMs: number) => void }}
 */
export const EFFECTS = {
  spawn,
  retire,
  setTimer,
  clearTimer,
  look,
  ping: (context, seat, { ms }) => request(context, seat, 'ping', { timeoutMs: ms }, 'answered'),
  // Opens the gate: connections reach the instance from now on.
  admit: (context, seat) => request(context, seat, 'admit', {}, 'admitted'),
  park,
  unpark: (context, seat) => request(context, seat, 'unpark', {}, 'admitted'),
  ended: recordFinishedSlot,
  bug,
};

/**
 * @param {LoopContext} context
 * @param {Seat} seat
 */
function spawn(context, seat) {
  const { parts, registry } = context;
  const app = findSlot(registry, seat.id)?.app;
  if (!app) return; // The app was removed, so the next plan ends the seat.
  const history = getSlotHistory(registry, seat.id);
  countSpawn(history);
  const { hasNoChannel = false } = history;
  const wanted = parts.substituteMissingNode(getSpec(app, seat.generation));
  const spec = hasNoChannel ? withoutChannel(wanted) : wanted;
  seat.spec = spec;
  const instanceId = parts.newInstanceId();
  const isGated = spec.kind === 'node' && isOnProbation(registry, seat);
  const label = {
    ...createLabel(spec, seat, { spawns: history.spawns, logs: parts.logsFolder, scope: app.scope }),
    ...(isGated ? { isGated } : {}),
    ...(parts.settings.troubles().areFramesTaken && canHideInspector(spec) ? { hasSecretInspector: true } : {}),
    ...(hasNoChannel ? { hasNoChannel } : {}),
  };
  seat.instanceId = instanceId;
  const instance = { ...newInstance(instanceId, label), isGated };
  registry.instances.set(instanceId, instance);
  openScope(registry, label.scope, label.name);
  withSecrets(context, { app, seat, spec, instance }, (secrets) =>
    inTurn(context, instance, () =>
      askForProcess(context, instanceId, spawnParams(spec, seat, { instanceId, home: parts.home, label, secrets })),
    ),
  );
}

/**
 * @param {LoopContext} context
 * @param {Instance} instance
 * @param {() => void} start
 */
function inTurn(context, instance, start) {
  const { registry, parts, link } = context;
  const begin = () => {
    instance.isAwaitingTurn = false;
    if (!instance.label.hasNoChannel) registry.keeperDeaths.lastStarted = instance.label.id;
    start();
  };
  const ms = takeTurn(registry, parts.clock.nowMs());
  if (ms === 0) return begin();
  instance.isAwaitingTurn = true;
  parts.clock.after(ms, () => {
    if (context.link === link && registry.instances.get(instance.instanceId) === instance) begin();
  });
}

/**
 * Handles the answer before later events, because a process may write lines and exit at once.
 * @param {LoopContext} context
 * @param {string} instanceId
 * @param {ReturnType<typeof spawnParams>} params
 */
function askForProcess(context, instanceId, params) {
  context.link?.requestInOrder(
    'spawn',
    params,
    (process) => context.dispatch({ type: 'spawned', instanceId, ...process }),
    ({ code, message }) => refuse(context, instanceId, message.startsWith(code) ? message : `${code}: ${message}`),
  );
}

/**
 * @param {LoopContext} context
 * @param {string} instanceId
 * @param {string} message
 */
function refuse({ dispatch }, instanceId, message) {
  dispatch({ type: 'refused', instanceId, message });
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
    onlineSinceMs: null,
    addresses: [],
    listenFailure: null,
    isReady: false,
    isExcused: false,
    hasSocket: false,
    activity: null,
    isProgressing: null,
    wasUp: false,
    isAwaitingSecrets: false,
    isAwaitingTurn: false,
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
 * @param {LoopContext} context
 * @param {Seat} seat
 * @param {Extract<Effect, { type: 'retire' }>} effect
 */
function retire(context, seat, { drain }) {
  const instance = context.registry.instances.get(seat.instanceId ?? '');
  // A process that is being created is retired as soon as its pid is known.
  if (instance && instance.pid > 0) retireInstance(context, instance, drain);
  else if (instance?.isAwaitingSecrets || instance?.isAwaitingTurn)
    refuse(context, instance.instanceId, 'it was stopped before it was started');
}

/**
 * The only place that asks the keeper to end a process.
 * @param {LoopContext} context
 * @param {Instance} instance
 * @param {'handover' | 'finish'} drain
 */
export function retireInstance(context, { instanceId, label, isHung }, drain) {
  const stop = findStop(context.registry, instanceId, label);
  // It cannot finish a request, nor handle a signal.
  tell(context, 'retire', { instanceId, drain, ...stop, ...(isHung ? { killTimeoutMs: 0 } : {}) });
}

/**
 * Returns the stop settings that the app has now, because the label may have older settings. If the
 * app was removed, returns the settings of the label.
 * @param {LoopContext['registry']} registry
 * @param {string} instanceId
 * @param {Instance['label']} label
 */
export function findStop(registry, instanceId, label) {
  const app = findApp(registry.desired, label.name);
  const spec = findSeatOfInstance(registry, instanceId)?.spec ?? (app && getSpec(app, label.generation));
  return spec ? stopSettings(spec) : label.stop;
}

/**
 * @param {LoopContext} context
 * @param {Seat} seat
 * @param {Extract<Effect, { type: 'setTimer' }>} effect
 * @param {number} nowMs  The time from which the note in the keeper counts, too.
 */
function setTimer(context, seat, { ms }, nowMs) {
  clearTimer(context, seat);
  seat.untilMs = nowMs + ms;
  seat.cancelTimer = context.parts.clock.after(ms, () => context.dispatch({ type: 'timer', seat }));
}

/**
 * @param {LoopContext} context
 * @param {Seat} seat
 */
function clearTimer(context, seat) {
  cancelTimers(seat);
  seat.untilMs = null;
}

/** @param {Seat} seat */
export function cancelTimers(seat) {
  seat.cancelTimer();
  seat.cancelLook();
}

/**
 * Measures what the processes of the instance do. Replaces the look that waits. Ends with the timer
 * of the seat.
 * @param {LoopContext} context
 * @param {Seat} seat
 * @param {Extract<Effect, { type: 'look' }>} effect
 */
function look({ parts, registry, dispatch }, seat, { ms }) {
  const instance = registry.instances.get(seat.instanceId ?? '');
  if (!instance) return;
  const { instanceId, pid } = instance;
  const isNode = seat.spec?.kind === 'node';
  seat.cancelLook();
  seat.cancelLook = parts.clock.after(ms, () => {
    parts.readActivity(pid, isNode).then(
      (activity) => dispatch({ type: 'looked', instanceId, activity }),
      ({ message }) => {
        parts.managerLog('look-failed', { app: seat.name, slot: seat.slot, message });
        dispatch({ type: 'looked', instanceId, activity: null });
      },
    );
  });
}

/**
 * The program finished its work. Do not restart it, not even after a reboot.
 * @param {LoopContext} context
 * @param {{ id: number }} slot
 */
export function recordFinishedSlot(context, { id }) {
  context.registry.desired = finishSlot(context.registry.desired, id);
  // A failure loses nothing: the note in the keeper also records that the slot is finished.
  saveIfPossible(context);
}

/**
 * @param {LoopContext} context
 * @param {Seat} seat
 * @param {Extract<Effect, { type: 'bug' }>} effect
 */
function bug({ parts }, seat, { state, event }) {
  const { name: app, slot, generation } = seat;
  parts.managerLog('impossible', { app, slot, generation, state, during: event });
}

/**
 * Takes the instance out of rotation. Its process stays alive, because unpark() may need it again.
 * @param {LoopContext} context
 * @param {Seat} seat
 */
function park(context, seat) {
  const { instanceId } = seat;
  const instance = context.registry.instances.get(instanceId ?? '');
  if (instance) instance.isParked = true;
  tell(context, 'park', { instanceId });
}

/**
 * Reports the outcome to the seat. Reports nothing if the keeper is lost, or if the instance has
 * exited, because the event `exited` reports that.
 * @param {LoopContext} context
 * @param {Seat} seat
 * @param {'ping' | 'admit' | 'unpark'} verb
 * @param {object} more
 * @param {'answered' | 'admitted'} done
 */
function request({ link, parts, dispatch }, { instanceId }, verb, more, done) {
  if (!instanceId) return;
  link?.request(verb, { instanceId, ...more }).then(
    () => dispatch({ type: done, instanceId }),
    (error) => {
      if (error instanceof KeeperLost || error.code === 'ESRCH') return;
      // ENOSYS: a keeper of an earlier version has no gates, so all instances are in rotation
      // already.
      if (error.code !== 'ENOSYS') return dispatch({ type: 'silent', instanceId });
      parts.managerLog('keeper-refused', { verb, params: { instanceId }, message: error.message });
      return dispatch({ type: done, instanceId });
    },
  );
}

/**
 * If a secret cannot be read, the instance is refused, as if the system had refused to create it.
 * @param {LoopContext} context
 * @param {{ app: DesiredApp, seat: Seat, spec: AppSpec, instance: Instance }} who
 * @param {(secrets: Values) => void} start  Called at once, later, or never.
 */
function withSecrets(context, { app, seat, spec, instance }, start) {
  if (Object.keys(spec.secrets).length === 0) return start({});
  const { secrets } = context.parts.environment;
  const known = secrets.known(app, seat.generation);
  if (known) return start(known);
  const { link } = context;
  const { instanceId } = instance;
  instance.isAwaitingSecrets = true;
  // False if the instance was stopped, or if the keeper has died and control has asked for the
  // process again.
  const isAwaited = () => context.link === link && context.registry.instances.get(instanceId) === instance;
  secrets.need(app, seat.generation, spec).then(
    (values) => {
      if (!isAwaited()) return;
      instance.isAwaitingSecrets = false;
      start(values);
    },
    (error) => {
      if (isAwaited()) refuse(context, instanceId, `${error.code}: ${error.message}`);
    },
  );
}
