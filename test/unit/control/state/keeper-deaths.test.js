import { expect, test } from 'vitest';
import {
  giveChannelsBack,
  hasSurplus,
  isCautious,
  recordKeeperDeath,
  takeTurn,
} from '../../../../daemon/control/state/keeper-deaths.js';
import { emptyDesired } from '../../../../daemon/control/state/desired.js';
import { createRegistry } from '../../../../daemon/control/state/registry.js';

/** @param {string} [by] */
function registryOf(by = 'start') {
  const app = { spec: { name: 'api' }, by, slots: [{ id: 7, slot: 0, want: 'up', generation: 0 }] };
  return createRegistry(/** @type {any} */ ({ ...emptyDesired(), apps: [app] }));
}

function die(registry, atMs, id = 7) {
  registry.keeperDeaths.lastStarted = id;
  return recordKeeperDeath(registry, atMs);
}

test('the slot that started last before the third death within 30 s gets no channel', () => {
  const registry = registryOf();
  expect([0, 10_000, 29_999].map((atMs) => die(registry, atMs))).toEqual([null, null, 7]);
  expect(registry.histories.get(7)?.hasNoChannel).toBe(true);
});

test.each([
  ['deaths at longer intervals', [0, 15_000, 30_000, 45_000], 7],
  ['deaths without a start in between', [0, 1_000, 2_000], null],
  ['deaths after the start of an app that was deleted', [0, 1_000, 2_000], 8],
])('%s take the channel of no app', (_, times, id) => {
  const registry = registryOf();
  for (const atMs of times) expect(die(registry, atMs, id)).toBe(null);
  expect(registry.histories.size).toBe(0);
});

test('after two deaths within 30 s, instances start one a second', () => {
  const registry = registryOf();
  die(registry, 0);
  expect([takeTurn(registry, 100), takeTurn(registry, 100)]).toEqual([0, 0]);
  die(registry, 1_000);
  expect(isCautious(registry, 1_000)).toBe(true);
  expect([1_000, 1_000, 1_500, 5_000].map((nowMs) => takeTurn(registry, nowMs))).toEqual([0, 1_000, 1_500, 0]);
  expect(isCautious(registry, 31_000)).toBe(false);
  expect(takeTurn(registry, 31_000)).toBe(0);
});

test.each([
  ['restart', [7]],
  ['watch: src/app.js changed', []],
])('a start by "%s" gives the channel back to %j', (by, ids) => {
  const registry = registryOf(by);
  for (const atMs of [0, 1, 2]) die(registry, atMs);
  expect(giveChannelsBack(registry, [{ id: 7 }, { id: 8 }])).toEqual(ids);
  expect(registry.histories.get(7)?.hasNoChannel).toBe(ids.length === 0);
});

test('a surplus orphan counts until it has exited', () => {
  const registry = registryOf();
  const orphan = { label: { id: 7 }, exit: null };
  registry.instances.set('a', /** @type {any} */ (orphan));
  registry.keeperDeaths.surplus.add('a').add('of an earlier registry');
  expect([hasSurplus(registry, 7), hasSurplus(registry, 8)]).toEqual([true, false]);
  Object.assign(orphan, { exit: { code: 0, signal: null, atMs: 0 } });
  expect(hasSurplus(registry, 7)).toBe(false);
  expect(registry.keeperDeaths.surplus.size).toBe(0);
});
