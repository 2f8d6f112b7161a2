import { withLiveFields } from '../../lib/shared/spec-needs.js';
import { findApp, specOf } from './desired.js';
import { attachLogs } from './facts.js';
import { findSlot, seatsOf } from './world.js';

/** @import { Core } from './core.js' */

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
