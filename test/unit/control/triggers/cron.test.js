import { beforeEach, expect, test } from 'vitest';
import { cronerNextRun, createCrons } from '../../../../daemon/control/triggers/cron.js';
import { createFakeClock } from '../../../helpers/fake-clock.js';

const MINUTE = 60_000;
let clock;
let calls;
let crons;
let events;

beforeEach(() => {
  clock = createFakeClock(Date.UTC(2026, 0, 1));
  calls = [];
  events = [];
  crons = createCrons({
    clock,
    nextRun: (pattern, afterMs) => {
      if (pattern === 'bad') throw new Error('no pattern');
      return pattern === 'once'
        ? afterMs < Date.UTC(2026, 0, 1, 0, 5)
          ? Date.UTC(2026, 0, 1, 0, 5)
          : null
        : (Math.floor(afterMs / MINUTE) + 1) * MINUTE;
    },
    managerLog: (event, fields) => events.push({ event, ...fields }),
    onDue: (name) => calls.push([name, clock.nowMs()]),
  });
});

test('cron calls at each time of the pattern', () => {
  crons.sync(new Map([['api', 'minutely']]));
  expect(crons.nextRunMs('api')).toBe(Date.UTC(2026, 0, 1, 0, 1));
  clock.advance(3 * MINUTE);
  expect(calls).toEqual([1, 2, 3].map((minute) => ['api', Date.UTC(2026, 0, 1, 0, minute)]));
});

test('a pattern without a next time rests', () => {
  crons.sync(new Map([['api', 'once']]));
  clock.advance(10 * MINUTE);
  expect([calls.length, crons.nextRunMs('api'), clock.pending()]).toEqual([1, null, 0]);
});

test('unchanged schedules continue, changed ones start again, and removed ones end', () => {
  crons.sync(
    new Map([
      ['api', 'minutely'],
      ['web', 'minutely'],
    ]),
  );
  clock.advance(30_000);
  crons.sync(
    new Map([
      ['api', 'minutely'],
      ['web', 'once'],
    ]),
  );
  expect([crons.nextRunMs('api'), crons.nextRunMs('web')]).toEqual([
    Date.UTC(2026, 0, 1, 0, 1),
    Date.UTC(2026, 0, 1, 0, 5),
  ]);
  crons.sync(new Map());
  clock.advance(10 * MINUTE);
  expect([calls, crons.nextRunMs('api'), clock.pending()]).toEqual([[], null, 0]);
});

test('a wall clock that jumps ahead is noticed within half a minute, and missed times are one call', () => {
  crons.sync(new Map([['api', 'once']]));
  clock.setBack(-3_600_000);
  clock.advance(30_000);
  expect(calls).toHaveLength(1);
});

test('a pattern runs again soon after a wall clock that was years ahead is corrected', () => {
  crons.sync(new Map([['api', 'minutely']]));
  clock.setBack(4 * 365 * 86_400_000);
  clock.advance(30_000);
  expect(calls).toEqual([]);
  expect(crons.nextRunMs('api')).toBeLessThanOrEqual(clock.nowMs() + MINUTE);
  clock.advance(2 * MINUTE);
  expect(calls).toHaveLength(2);
});

test('a wall clock that goes back by seconds after a run does not repeat the run', () => {
  crons.sync(new Map([['api', 'minutely']]));
  clock.advance(5 * MINUTE);
  clock.setBack(20_000);
  clock.advance(MINUTE);
  expect(calls).toHaveLength(5);
});

test('an invalid pattern of another version is reported, and makes no call', () => {
  crons.sync(new Map([['api', 'bad']]));
  clock.advance(MINUTE);
  expect([calls, events]).toEqual([
    [],
    [{ event: 'cron-pattern-bad', app: 'api', pattern: 'bad', message: 'no pattern' }],
  ]);
});

test('croner returns times with seconds, and never the same time twice', () => {
  const at = Date.UTC(2026, 0, 1, 10, 0, 0);
  expect(cronerNextRun('*/10 * * * * *', at)).toBe(at + 10_000);
  expect(cronerNextRun('* * * * *', at)).toBe(at + MINUTE);
  expect(cronerNextRun('0 0 30 2 *', at)).toBeNull();
  for (const pattern of ['0/10 * * * * *', '/10 * * * * *']) expect(cronerNextRun(pattern, at)).toBe(at + 10_000);
  expect(() => cronerNextRun('99 * * * *', at)).toThrow(/minute/);
});
