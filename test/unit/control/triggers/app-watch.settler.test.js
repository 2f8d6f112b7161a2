import { beforeEach, expect, test } from 'vitest';
import { createDebounce } from '../../../../daemon/control/triggers/app-watch.js';
import { createFakeClock } from '../../../helpers/fake-clock.js';

let clock;
let calls;

beforeEach(() => {
  clock = createFakeClock();
  calls = [];
});

const make = (delayMs = 0) => createDebounce({ clock, delayMs, onSettled: (changes) => calls.push(changes) });

test('a thousand changes are one call, when there have been none for a while', () => {
  const settler = make();
  for (let n = 0; n < 1_000; n++) {
    settler.note(`f${n}`);
    clock.advance(1);
  }
  clock.advance(498);
  expect(calls).toEqual([]);
  clock.advance(1);
  expect(calls).toEqual([{ file: 'f999', count: 1_000 }]);
  clock.advance(60_000);
  expect(calls).toHaveLength(1);
});

test('a few changes are a save: they do not wait as long as many', () => {
  const settler = make();
  for (let n = 0; n < 10; n++) settler.note('a');
  clock.advance(100);
  expect(calls).toHaveLength(1);
});

test('what may be a change puts off the call, and makes none', () => {
  const settler = make();
  settler.stir();
  clock.advance(1_000);
  settler.note('a');
  clock.advance(99);
  settler.stir();
  clock.advance(99);
  expect(calls).toEqual([]);
  clock.advance(1);
  expect(calls).toEqual([{ file: 'a', count: 1 }]);
});

test('at most one call a second', () => {
  const settler = make();
  settler.note('a');
  clock.advance(100);
  settler.note('b');
  clock.advance(999);
  expect(calls).toHaveLength(1);
  clock.advance(1);
  expect(calls).toEqual([
    { file: 'a', count: 1 },
    { file: 'b', count: 1 },
  ]);
});

test('a delay of its own', () => {
  const settler = make(2_000);
  settler.note('a');
  clock.advance(1_999);
  expect(calls).toEqual([]);
  clock.advance(1);
  expect(calls).toHaveLength(1);
});

test('what never rests calls nobody, and is told', () => {
  const settler = make();
  for (let n = 0; n < 300; n++) {
    settler.note('data/db');
    clock.advance(50);
  }
  expect(calls).toEqual([]);
  expect(settler.restless()).toEqual({ file: 'data/db', forMs: 15_000 });
  clock.advance(500);
  expect([calls.length, settler.restless()]).toEqual([1, null]);
});

test('a wall clock that is set back delays nothing', () => {
  const settler = make();
  settler.note('a');
  clock.advance(100);
  clock.setBack(3_600_000);
  settler.note('b');
  clock.advance(1_000);
  expect(calls).toHaveLength(2);
});

test('closed, it calls nobody', () => {
  const settler = make();
  settler.note('a');
  settler.close();
  clock.advance(10_000);
  expect([calls, clock.pending()]).toEqual([[], 0]);
});
