import { expect, test } from 'vitest';
import { EFFECTS } from '../../../../daemon/control/loop/effects.js';
import { createFakeClock } from '../../../helpers/fake-clock.js';
import { settle } from '../../../helpers/fake-keeper.js';

function open() {
  const clock = createFakeClock();
  const seat = { instanceId: 'i1', spec: null, untilMs: null, cancelTimer: () => {}, cancelLook: () => {} };
  const seen = [];
  const context = {
    parts: { clock, readActivity: async () => null },
    registry: { instances: new Map([['i1', { instanceId: 'i1', pid: 7 }]]) },
    dispatch: ({ type }) => void seen.push(type),
  };
  const run = (type, ms) => EFFECTS[type](/** @type {any} */ (context), /** @type {any} */ (seat), { type, ms });
  return { clock, seen, run };
}

test('a look replaces the look that waits, and ends with the timer of the seat', () => {
  const { clock, run } = open();
  run('setTimer', 86_400_000);
  for (let count = 0; count < 20_000; count += 1) run('look', 5_000);
  expect(clock.pending()).toBe(2);
  run('clearTimer');
  expect(clock.pending()).toBe(0);
});

test('a look does not change the timer of the seat', async () => {
  const { clock, seen, run } = open();
  run('setTimer', 2_000);
  run('look', 1_000);
  clock.advance(2_000);
  await settle();
  expect(seen.sort()).toEqual(['looked', 'timer']);
});
