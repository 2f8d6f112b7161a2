// An app can end its keeper right after its start, for example with a kill(2) of the same user. The
// next keeper starts the app again. These rules end such a loop, and find the app.
import { findSlot, getSlotHistory } from './registry.js';

/** @import { Registry } from './registry.js' */

/** Deaths of keepers within this time belong together, in ms. */
const WITHIN_MS = 30_000;
/** From this death on, an app may be the cause, so the next instances start one after the other. */
const DEATHS_BEFORE_TURNS = 2;
const DEATHS_BEFORE_BLAME = 3;
/** Time for one instance to start alone, in ms. An app that ends the keeper does so at once. */
const TURN_MS = 1_000;

/**
 * @param {Registry} registry
 * @param {number} nowMs
 * @returns {number | null}  The slot that gets no channel from now on, because its instance was the
 *   last one that started before each of several deaths.
 */
export function recordKeeperDeath(registry, nowMs) {
  const { keeperDeaths } = registry;
  const id = keeperDeaths.lastStarted;
  const atMs = [...keeperDeaths.atMs.filter((at) => isRecent(at, nowMs)), nowMs].slice(-DEATHS_BEFORE_BLAME);
  Object.assign(keeperDeaths, { atMs, lastStarted: null, nextTurnMs: 0 });
  if (atMs.length < DEATHS_BEFORE_BLAME || id === null || !findSlot(registry, id)) return null;
  getSlotHistory(registry, id).hasNoChannel = true;
  return id;
}

/**
 * @param {Registry} registry
 * @param {number} nowMs
 */
export function isCautious({ keeperDeaths }, nowMs) {
  return keeperDeaths.atMs.filter((at) => isRecent(at, nowMs)).length >= DEATHS_BEFORE_TURNS;
}

/**
 * @param {Registry} registry
 * @param {number} nowMs
 * @returns {number}  How long an instance has to wait for its start, in ms.
 */
export function takeTurn(registry, nowMs) {
  if (!isCautious(registry, nowMs)) return 0;
  const turnMs = Math.max(nowMs, registry.keeperDeaths.nextTurnMs);
  registry.keeperDeaths.nextTurnMs = turnMs + TURN_MS;
  return turnMs - nowMs;
}

/**
 * @param {Registry} registry
 * @param {number} id
 */
export function hasSurplus({ keeperDeaths: { surplus }, instances }, id) {
  for (const instanceId of surplus) {
    const instance = instances.get(instanceId);
    if (!instance || instance.exit) surplus.delete(instanceId);
    else if (instance.label.id === id) return true;
  }
  return false;
}

/**
 * @param {Registry} registry
 * @param {{ id: number }[]} slots  Slots that a command or a trigger starts again.
 * @returns {number[]}  Slots that get their channel back, because a user asked for a new start.
 */
export function giveChannelsBack(registry, slots) {
  const given = slots.filter(({ id }) => {
    const isByUser = !findSlot(registry, id)?.app.by.includes(':');
    return isByUser && registry.histories.get(id)?.hasNoChannel === true;
  });
  for (const { id } of given) getSlotHistory(registry, id).hasNoChannel = false;
  return given.map(({ id }) => id);
}

/**
 * @param {number} at
 * @param {number} nowMs
 */
function isRecent(at, nowMs) {
  return Math.abs(nowMs - at) < WITHIN_MS;
}
