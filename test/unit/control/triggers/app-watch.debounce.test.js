import { beforeEach, expect, test } from 'vitest';
import { createDebounce } from '../../../../daemon/control/triggers/app-watch.js';
import { createFakeClock } from '../../../helpers/fake-clock.js';

let clock;
let calls;

beforeEach(() => {
  clock = createFakeClock();
  calls = [];
});

const make = (delayMs = 0) => createDebounce({ clock, delayMs, onQuiet: (changes) => calls.push(changes) });

test('a thousand changes cause one call, after a pause', () => {
  const debounce = make();
  for (let n = 0; n < 1_000; n++) {
    debounce.note(`f${n}`);
    clock.advance(1);
  }
  clock.advance(498);
  expect(calls).toEqual([]);
  clock.advance(1);
  expect(calls).toEqual([{ file: 'f999', count: 1_000 }]);
  clock.advance(60_000);
  expect(calls).toHaveLength(1);
});

test('a few changes are a save, and wait less than many', () => {
  const debounce = make();
  for (let n = 0; n < 10; n++) debounce.note('a');
  clock.advance(100);
  expect(calls).toHaveLength(1);
});

test('a possible change delays the call, but causes none', () => {
  const debounce = make();
  debounce.stir();
  clock.advance(1_000);
  debounce.note('a');
  clock.advance(99);
  debounce.stir();
  clock.advance(99);
  expect(calls).toEqual([]);
  clock.advance(1);
  expect(calls).toEqual([{ file: 'a', count: 1 }]);
});

test('there is at most one call a second', () => {
  const debounce = make();
  debounce.note('a');
  clock.advance(100);
  debounce.note('b');
  clock.advance(999);
  expect(calls).toHaveLength(1);
  clock.advance(1);
  expect(calls).toEqual([
    { file: 'a', count: 1 },
    { file: 'b', count: 1 },
  ]);
});

test('an app may set its own delay', () => {
  const debounce = make(2_000);
  debounce.note('a');
  clock.advance(1_999);
  expect(calls).toEqual([]);
  clock.advance(1);
  expect(calls).toHaveLength(1);
});

test('files that never rest cause no call, and are reported', () => {
  const debounce = make();
  for (let n = 0; n < 300; n++) {
    debounce.note('data/db');
    clock.advance(50);
  }
  expect(calls).toEqual([]);
  expect(debounce.restless()).toEqual({ file: 'data/db', forMs: 15_000 });
  clock.advance(500);
  expect([calls.length, debounce.restless()]).toEqual([1, null]);
});

test('a wall clock that is set back delays nothing', () => {
  const debounce = make();
  debounce.note('a');
  clock.advance(100);
  clock.setBack(3_600_000);
  debounce.note('b');
  clock.advance(1_000);
  expect(calls).toHaveLength(2);
});

test('a closed debounce makes no call', () => {
  const debounce = make();
  debounce.note('a');
  debounce.close();
  clock.advance(10_000);
  expect([calls, clock.pending()]).toEqual([[], 0]);
});
