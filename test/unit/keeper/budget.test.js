import { expect, test } from 'vitest';
import { createBudget } from '../../../daemon/keeper/budget.js';

function rig({ clock = { nowMono: 0, cpuMs: 0 }, greedy = new Map() } = {}) {
  const budget = createBudget({ greedy, nowMono: () => clock.nowMono, cpuMs: () => clock.cpuMs });
  const work = (/** @type {number} */ ms) =>
    budget.run(() => {
      clock.cpuMs += ms;
    });
  return { clock, greedy, budget, work };
}

test('an instance may take 150 ms of CPU time at once', () => {
  const { budget, work } = rig();
  work(150);
  expect(budget.waitMs).toBe(0);
  work(15);
  expect(budget.waitMs).toBeCloseTo(100);
});

test('an instance that always works as soon as it may takes 15 % of a core', () => {
  const { clock, budget, work } = rig();
  while (clock.nowMono < 100_000) {
    if (budget.waitMs === 0) work(10);
    clock.nowMono += Math.max(10, budget.waitMs);
  }
  expect(clock.cpuMs / clock.nowMono).toBeGreaterThan(0.14);
  expect(clock.cpuMs / clock.nowMono).toBeLessThan(0.16);
});

test('three instances that always work as soon as they may take 15 % of a core together', () => {
  const { clock, greedy, ...first } = rig();
  const all = [first, rig({ clock, greedy }), rig({ clock, greedy })];
  while (clock.nowMono < 100_000) {
    for (const { budget, work } of all) if (budget.waitMs === 0) work(2);
    clock.nowMono += 5;
  }
  expect(clock.cpuMs / clock.nowMono).toBeGreaterThan(0.13);
  expect(clock.cpuMs / clock.nowMono).toBeLessThan(0.17);
  clock.nowMono += 10_000;
  first.work(165);
  expect(first.budget.waitMs).toBeCloseTo(100);
});

test('work that throws is counted, and so is work of control', () => {
  const { budget, clock } = rig();
  const fails = () =>
    budget.run(() => {
      clock.cpuMs += 150;
      throw new Error('bad');
    });
  expect(fails).toThrow('bad');
  expect(budget.waitMs).toBe(0);
  budget.spend(3);
  expect(budget.waitMs).toBeCloseTo(20);
});

test('an instance of the user of the keeper may take 60 %', () => {
  const clock = { nowMono: 0, cpuMs: 0 };
  const budget = createBudget({
    isOwn: true,
    greedy: new Map(),
    nowMono: () => clock.nowMono,
    cpuMs: () => clock.cpuMs,
  });
  budget.spend(210);
  expect(budget.waitMs).toBeCloseTo(100);
});

test('time that was not used is not saved', () => {
  const { clock, budget, work } = rig();
  clock.nowMono = 1e9;
  work(165);
  expect(budget.waitMs).toBeCloseTo(100);
});
