import { memoryOf } from '../state/registry.js';
import { number } from './lifetime-totals.js';

/** @import { Memory } from '../state/slot-history.js' */
/** @import { Instance, World } from '../state/registry.js' */

/** CPU that the instances of a slot used that are gone. `from`: of which the keeper may still tell. @typedef {{from: string[], ms: number}} Spent */

/** How many of the last instances are remembered: the keeper has forgotten all but the last few by then. */
const FROM_KEPT = 8;

/**
 * An instance is gone: what it used stays. Once for each instance, however often it is told.
 * @param {Memory} memory
 * @param {Pick<Instance, 'instanceId'|'cpuMs'>} instance
 * @param {any} report  The last one of its agent, which knows more than the last look from outside; null where there was none.
 */
export function keepSpent(memory, { instanceId, cpuMs = 0 }, report) {
  const spent = memory.spent ?? { from: [], ms: 0 };
  if (spent.from.includes(instanceId)) return;
  memory.spent = { from: [...spent.from, instanceId].slice(-FROM_KEPT), ms: spent.ms + Math.max(cpuMs, number(report?.cpuMs)) };
}

/**
 * @param {World} world
 * @returns {Map<number, number>}  By slot, in ms: what runs, what is ending, and what is gone. Without those of which something runs that nobody has looked at yet: a sum must not fall.
 */
export function spentBySlot(world) {
  /** @type {Map<number, number>} */
  const sums = new Map(world.desired.apps.flatMap(({ slots }) => slots.map(({ id }) => /** @type {const} */ ([id, memoryOf(world, id).spent?.ms ?? 0]))));
  for (const { label, pid, cpuMs } of world.instances.values()) if (pid > 0 && sums.has(label.id)) sums.set(label.id, (sums.get(label.id) ?? 0) + (cpuMs ?? NaN));
  return new Map([...sums].filter(([, ms]) => !Number.isNaN(ms)));
}
