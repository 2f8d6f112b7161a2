import { mergeLiveFields } from '../../lib/app-spec/check.js';
import { catchUp } from './journal/process-events.js';
import { retireInstance } from './loop/effects.js';
import {
  attachLogs,
  keeperEventHandlers,
  forgetSlot,
  markSpawned,
  noteActivity,
  onSpawnRefused,
} from './loop/keeper-events.js';
import { reconcile } from './loop/reconcile.js';
import { step } from './loop/step.js';
import { adopt } from './recovery/adopt.js';
import { findApp, getSpec } from './state/desired.js';
import { findSlot, openScope, findSeatOfInstance, listSeats } from './state/registry.js';
import { renameRunning } from './state/rename.js';

/** @import { ControlEvent, LoopContext } from './context.js' */
/** @import { Snapshot } from './keeper-link/link.js' */
/** @import { Registry } from './state/registry.js' */

/** @type {{ [T in ControlEvent['type']]: (context: LoopContext, event: any) => void }} */
export const EVENTS = {
  'keeper-event': onKeeperEvent,
  spawned: onSpawned,
  refused: onRefused,
  answered: onGate,
  silent: onGate,
  admitted: onGate,
  looked: onLooked,
  timer: onTimer,
  changed: onDesiredChanged,
  adopted: onAdopted,
};

/** These events need no reconcile(), because they set a timer at most. */
const CHANGES_NO_PLAN = new Set(['booted']);

/**
 * @param {LoopContext} context
 * @param {Extract<ControlEvent, { type: 'keeper-event' }>} event
 */
function onKeeperEvent(context, { event, data }) {
  const instance = context.registry.instances.get(data.instanceId);
  if (!instance) return adoptUnknown(context, event, data.instanceId);
  keeperEventHandlers[event](context, instance, data);
  if (!CHANGES_NO_PLAN.has(event)) reconcile(context, instance.label.name);
}

/**
 * @param {LoopContext} context
 * @param {Extract<ControlEvent, { type: 'spawned' }>} event
 */
function onSpawned(context, event) {
  const instance = context.registry.instances.get(event.instanceId);
  if (!instance) return adoptUnknown(context, 'spawned', event.instanceId);
  // Does not call reconcile(), because that would double the work when five hundred instances
  // start.
  markSpawned(context, instance, event);
}

/**
 * @param {LoopContext} context
 * @param {Extract<ControlEvent, { type: 'refused' }>} event
 */
function onRefused(context, { instanceId, message }) {
  const instance = context.registry.instances.get(instanceId);
  if (!instance) return;
  onSpawnRefused(context, instance, message);
  reconcile(context, instance.label.name);
}

/**
 * @param {LoopContext} context
 * @param {Extract<ControlEvent, { type: 'answered' | 'silent' | 'admitted' }>} event
 */
function onGate(context, { type, instanceId }) {
  const instance = context.registry.instances.get(instanceId);
  if (!instance) return;
  if (type === 'admitted') Object.assign(instance, { isGated: false, isParked: false });
  const seat = findSeatOfInstance(context.registry, instanceId);
  if (!seat) return;
  step(context, seat, { type });
  reconcile(context, seat.name);
}

/**
 * @param {LoopContext} context
 * @param {Extract<ControlEvent, { type: 'looked' }>} event
 */
function onLooked(context, { instanceId, activity }) {
  const instance = context.registry.instances.get(instanceId);
  if (!instance || instance.exit) return;
  noteActivity(context, instance, activity);
  reconcile(context, instance.label.name);
}

/**
 * @param {LoopContext} context
 * @param {Extract<ControlEvent, { type: 'timer' }>} event
 */
function onTimer(context, { seat }) {
  // Ignores the timer if the snapshot of a new keeper has replaced this seat.
  if (context.registry.seats.get(seat.key) !== seat) return;
  seat.untilMs = null;
  step(context, seat, { type: 'timer' });
  reconcile(context, seat.name);
}

/**
 * @param {LoopContext} context
 * @param {Extract<ControlEvent, { type: 'changed' }>} event
 */
function onDesiredChanged(context, { names }) {
  renameRunning(context.registry);
  for (const name of names) applyLiveFields(context, name);
  onChanged(context, { names });
}

/**
 * @param {LoopContext} context
 * @param {{ names: string[] }} event
 */
function onChanged(context, { names }) {
  const { registry } = context;
  for (const name of names) reconcile(context, name);
  if (registry.ending)
    for (const instance of registry.instances.values())
      if (instance.isStray && !instance.exit) retireInstance(context, instance, 'finish');
  for (const id of [...registry.histories.keys()]) forgetSlot(context, id);
}

/**
 * @param {LoopContext} context
 * @param {Extract<ControlEvent, { type: 'adopted' }>} event
 */
function onAdopted(context, { children, listeners }) {
  const { registry } = context;
  for (const { app, scope } of listeners) openScope(registry, scope ?? app, app);
  const { news, names } = context.journal.quietly(() => adopt(context, children));
  catchUp(context);
  for (const { event, instanceId, data } of news) {
    const instance = registry.instances.get(instanceId);
    if (instance) keeperEventHandlers[event](context, instance, data);
  }
  onChanged(context, { names: [...new Set([...names, ...allAppNames(registry)])] });
}

/**
 * Adopts an instance that an earlier control started just before it died. The plan decides whether
 * the instance stays.
 * @param {LoopContext} context
 * @param {string} event
 * @param {string} instanceId
 */
function adoptUnknown(context, event, instanceId) {
  context.parts.managerLog('unknown-instance', { said: event, instanceId });
  if (event === 'gone') return;
  // Uses requestInOrder(). Otherwise control could handle the `gone` of the instance first, and
  // then a snapshot that still contains the instance.
  context.link?.requestInOrder('snapshot', {}, (/** @type {Snapshot} */ { children, listeners }) =>
    context.dispatch({ type: 'adopted', children, listeners }),
  );
}

/**
 * Includes apps that are no longer in the list, but still have a seat or a socket.
 * @param {Registry} registry
 */
export function allAppNames(registry) {
  const listed = registry.desired.apps.map((app) => app.spec.name);
  const seated = [...registry.seats.values()].map((seat) => seat.name);
  return [...new Set([...listed, ...seated, ...[...registry.openScopes.values()].flatMap((names) => [...names])])];
}

/**
 * @param {LoopContext} context
 * @param {string} name
 */
function applyLiveFields(context, name) {
  const { registry } = context;
  const app = findApp(registry.desired, name);
  if (!app) return;
  for (const seat of listSeats(registry, name)) {
    if (!seat.spec) continue;
    seat.spec = mergeLiveFields(seat.spec, getSpec(app, seat.generation));
    registry.touched.add(seat.id);
  }
  for (const instance of registry.instances.values()) {
    const { label, pid, isStray } = instance;
    if (label.name === name && pid > 0 && !isStray && findSlot(registry, label.id)?.app === app)
      attachLogs(context, instance);
  }
}
