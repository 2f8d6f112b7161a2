import { COMING } from '../policy/replace.js';
import { seatsOf } from './registry.js';

/** @import { AppWish } from './desired.js' */
/** @import { World } from './registry.js' */

/**
 * Whether something of an app serves, or is about to: then its replacement has to be guarded.
 * @param {World} world
 * @param {AppWish} app
 */
export function isServing(world, { spec }) {
  return seatsOf(world, spec.name).some(({ life }) => life.state === 'up' || (COMING.has(life.state) && !life.hasFailed));
}

/**
 * Whether two instances of a slot can run at the same time: they share their sockets. A program in fork mode that does not listen may be one that must not run twice.
 * @param {World} world
 * @param {AppWish} app
 */
export function isBeside(world, { spec }) {
  if (spec.kind !== 'node') return false;
  return spec.mode === 'cluster' || [...world.instances.values()].some((instance) => instance.label.name === spec.name && !instance.exit && instance.addresses.length > 0);
}
