import { withLiveFields } from '../../lib/shared/spec/change-effects.js';
import { catchUp } from './events/process-events.js';
import { retireInstance } from './loop/effects.js';
import { attachLogs, FACTS, forgetSlot, markSpawned, onSpawnRefused } from './loop/keeper-events.js';
import { reconcile } from './loop/reconcile.js';
import { readFact } from './loop/said-by-apps.js';
import { step } from './loop/step.js';
import { adopt } from './recovery/adopt.js';
import { findApp, specOf } from './state/desired.js';
import { findSlot, openScope, seatOfInstance, seatsOf } from './state/registry.js';
import { takeNames } from './state/rename.js';

/** @import { Snapshot } from './keeper-link/link.js' */
/** @import { ControlEvent, Core } from './keeper-link/tell.js' */
/** @import { Instance, World } from './state/registry.js' */

/**
 * What each event of the owner loop does: change the records, then plan.
 * @type {{ [T in ControlEvent['type']]: (core: Core, event: any) => void }}
 */
export const EVENTS = {
  fact: onFact,
  spawned: onSpawned,
  refused: onRefused,
  answered: onDoor,
  silent: onDoor,
  admitted: onDoor,
  timer: onTimer,
  changed: onWished,
  adopted: onAdopted,
};

/** As with a spawn, at most a timer is set. */
const CHANGES_NO_PLAN = new Set(['booted']);

/**
 * @param {Core} core
 * @param {Extract<ControlEvent, { type: 'fact' }>} event
 */
function onFact(core, { event, data }) {
  const instance = core.world.instances.get(data.instanceId);
  if (!instance) return lookAgain(core, event, data.instanceId);
  const fact = checked(core, instance, event, data);
  if (!fact) return;
  FACTS[event](core, instance, fact);
  if (!CHANGES_NO_PLAN.has(event)) reconcile(core, instance.label.name);
}

/**
 * @param {Core} core
 * @param {Instance} instance
 * @param {string} event
 * @param {object} data
 * @returns {object | null}  Null: the process stated nonsense. The log has it, and control goes on.
 */
function checked(core, { instanceId, label }, event, data) {
  try {
    return readFact(event, data);
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    core.parts.journal('fact-failed', { app: label.name, id: label.id, instanceId, fact: event, message });
    return null;
  }
}

/**
 * @param {Core} core
 * @param {Extract<ControlEvent, { type: 'spawned' }>} event
 */
function onSpawned(core, event) {
  const instance = core.world.instances.get(event.instanceId);
  if (!instance) return lookAgain(core, 'spawned', event.instanceId);
  // Sets a timer and no more: there is nothing to plan. With five hundred instances that halves the
  // work of their start.
  markSpawned(core, instance, event);
}

/**
 * @param {Core} core
 * @param {Extract<ControlEvent, { type: 'refused' }>} event
 */
function onRefused(core, { instanceId, message }) {
  const instance = core.world.instances.get(instanceId);
  if (!instance) return;
  onSpawnRefused(core, instance, message);
  reconcile(core, instance.label.name);
}

/**
 * @param {Core} core
 * @param {Extract<ControlEvent, { type: 'answered' | 'silent' | 'admitted' }>} event
 */
function onDoor(core, { type, instanceId }) {
  const instance = core.world.instances.get(instanceId);
  if (!instance) return;
  if (type === 'admitted') Object.assign(instance, { isGated: false, isParked: false });
  const seat = seatOfInstance(core.world, instanceId);
  if (!seat) return;
  step(core, seat, { type });
  reconcile(core, seat.name);
}

/**
 * @param {Core} core
 * @param {Extract<ControlEvent, { type: 'timer' }>} event
 */
function onTimer(core, { seat }) {
  // It may have been made anew from the facts of the next keeper since.
  if (core.world.seats.get(seat.key) !== seat) return;
  seat.untilMs = null;
  step(core, seat, { type: 'timer' });
  reconcile(core, seat.name);
}

/**
 * @param {Core} core
 * @param {Extract<ControlEvent, { type: 'changed' }>} event
 */
function onWished(core, { names }) {
  takeNames(core.world);
  for (const name of names) takeLive(core, name);
  onChanged(core, { names });
}

/**
 * @param {Core} core
 * @param {{ names: string[] }} event
 */
function onChanged(core, { names }) {
  const { world } = core;
  for (const name of names) reconcile(core, name);
  if (world.ending)
    for (const instance of world.instances.values())
      if (instance.isStray && !instance.exit) retireInstance(core, instance, 'finish');
  for (const id of [...world.memories.keys()]) forgetSlot(core, id);
}

/**
 * @param {Core} core
 * @param {Extract<ControlEvent, { type: 'adopted' }>} event
 */
function onAdopted(core, { children, listeners }) {
  const { world } = core;
  for (const { app, scope } of listeners) openScope(world, scope ?? app, app);
  const { news, names } = core.bus.quietly(() => adopt(core, children));
  catchUp(core);
  for (const { event, instanceId, data } of news) {
    const instance = world.instances.get(instanceId);
    if (instance) FACTS[event](core, instance, data);
  }
  onChanged(core, { names: [...new Set([...names, ...allAppNames(world)])] });
}

/**
 * An instance nobody here has asked for: the last act of a control that died. It is adopted, and
 * the plan says what becomes of it.
 * @param {Core} core
 * @param {string} event
 * @param {string} instanceId
 */
function lookAgain(core, event, instanceId) {
  core.parts.journal('unknown-instance', { said: event, instanceId });
  if (event === 'gone') return;
  // In its place: what is gone since would be taken for something that is there, and nobody would
  // ever say again that it is not.
  core.link?.ask('snapshot', {}, (/** @type {Snapshot} */ { children, listeners }) =>
    core.dispatch({ type: 'adopted', children, listeners }),
  );
}

/**
 * The apps there is anything to do about, in the list or not.
 * @param {World} world
 */
export function allAppNames(world) {
  const listed = world.desired.apps.map((app) => app.spec.name);
  const seated = [...world.seats.values()].map((seat) => seat.name);
  return [...new Set([...listed, ...seated, ...[...world.openScopes.values()].flatMap((names) => [...names])])];
}

/**
 * What runs of an app goes by what is wanted now, as far as that needs no new process.
 * @param {Core} core
 * @param {string} name
 */
function takeLive(core, name) {
  const { world } = core;
  const app = findApp(world.desired, name);
  if (!app) return;
  for (const seat of seatsOf(world, name)) {
    if (!seat.spec) continue;
    seat.spec = withLiveFields(seat.spec, specOf(app, seat.generation));
    world.touched.add(seat.id);
  }
  for (const instance of world.instances.values()) {
    const { label, pid, isStray } = instance;
    if (label.name === name && pid > 0 && !isStray && findSlot(world, label.id)?.app === app)
      attachLogs(core, instance);
  }
}
