import { withLiveFields } from '../../lib/shared/spec/change-effects.js';
import { attachLogs } from './loop/keeper-events.js';
import { findApp, specOf } from './state/desired.js';
import { findSlot, seatsOf } from './state/registry.js';

/** @import { Core } from './keeper-link/tell.js' */

/**
 * What runs of an app goes by what is wanted now, as far as that needs no new process.
 * @param {Core} core
 * @param {string} name
 */
export function takeLive(core, name) {
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
    if (label.name === name && pid > 0 && !isStray && findSlot(world, label.id)?.app === app) attachLogs(core, instance);
  }
}
