import { beforeEach, expect, test } from 'vitest';
import { createSampler } from '../../../../daemon/control/metrics/sampler.js';
import { createFakeClock } from '../../../helpers/fake-clock.js';
import { settle } from '../../../helpers/fake-keeper.js';

let clock;
let reads;
let kept;
let answer;
let sampler;

beforeEach(() => {
  clock = createFakeClock();
  reads = [];
  kept = [];
  answer = async (pids) => Object.fromEntries(pids.map((pid) => [pid, { cpu: 12.345, memory: pid * 1000 }]));
  sampler = createSampler({ clock, pids: () => [1, 2], read: (pids, o) => (reads.push(pids), kept.push(o.maxage), answer(pids)), onTick: () => {} });
});

test('all processes are read in one call per tick, and asking costs nothing', async () => {
  clock.advance(4_000);
  await settle();
  expect(reads).toEqual([[1, 2]]); // The second tick came while the first was still being read.
  expect(sampler.usageOf(2)).toEqual({ cpu: 12.3, memoryBytes: 2_000 });
  await sampler.lookAtNew([1, 2]);
  expect(reads).toHaveLength(1);
});

test('what belongs to a process that has died is kept open for a few ticks only', async () => {
  await sampler.lookAtNew([7]);
  expect(kept).toEqual([5_000]);
});

test('a process no tick has seen is read when somebody looks', async () => {
  await sampler.lookAtNew([2, 3]);
  expect(reads).toEqual([[2, 3]]);
  expect(sampler.usageOf(3).memoryBytes).toBe(3_000);
});

test('a process that ends while it is read does no harm', async () => {
  answer = async () => {
    throw new Error('No matching pid found');
  };
  clock.advance(2_000);
  await settle();
  await sampler.lookAtNew([9]);
  expect(sampler.usageOf(9)).toEqual({ cpu: 0, memoryBytes: 0 });
});

test('after close nothing is read any more', async () => {
  sampler.close();
  clock.advance(10_000);
  expect(reads).toEqual([]);
});
