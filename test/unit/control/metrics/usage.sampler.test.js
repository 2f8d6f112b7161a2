import { beforeEach, expect, test } from 'vitest';
import { createSampler } from '../../../../daemon/control/metrics/usage.js';

let reads;
let running;
let answer;
let sampler;

const NOTHING = { cpu: 0, memoryBytes: 0, processes: 0, fds: null, fdsLimit: null, sockets: null, tree: null };
const usageOf = (pid) => ({ cpu: 12.3, memoryBytes: pid * 1000, processes: 1, fds: 5 });

beforeEach(() => {
  reads = [];
  running = [1, 2];
  answer = async (wanted) => new Map(wanted.map(({ pid }) => [pid, usageOf(pid)]));
  sampler = createSampler({
    wanted: () => running.map((pid) => ({ pid, isTree: false })),
    read: (wanted) => {
      reads.push(wanted.map(({ pid }) => pid));
      return answer(wanted);
    },
  });
});

test('all processes are read in one call per tick, and requests cost nothing', async () => {
  await Promise.all([sampler.measure(), sampler.measure()]);
  expect(reads).toEqual([[1, 2]]); // The second tick comes during the first, so it reads nothing.
  expect(sampler.usageOf(2)).toMatchObject({ cpu: 12.3, memoryBytes: 2_000 });
  await sampler.measureNew();
  expect(reads[1]).toEqual([]);
});

test('a dead process is forgotten at the next tick', async () => {
  await sampler.measure();
  running = [1];
  await sampler.measure();
  expect(sampler.usageOf(2)).toEqual(NOTHING);
});

test('a process that no tick has seen is read when a client asks', async () => {
  await sampler.measure();
  running = [2, 3];
  await sampler.measureNew();
  expect(reads).toEqual([[1, 2], [3]]);
  expect(sampler.usageOf(3).memoryBytes).toBe(3_000);
});

test('a process that exits while it is read does no harm', async () => {
  answer = async () => {
    throw new Error('No matching pid found');
  };
  await sampler.measure();
  await sampler.measureNew();
  expect(sampler.usageOf(1)).toEqual(NOTHING);
});
