import { expect, test } from 'vitest';
import { backoffMs, judgeExit } from '../../../../daemon/control/policy/restart-policy.js';
import { makeSpec } from '../make-spec.js';

const fresh = { streak: 0, unstableAtMs: [] };
const NOW = 1_000_000;

test.each([
  [1, 100, 100],
  [2, 100, 200],
  [3, 100, 400],
  [8, 100, 12_800],
  [9, 100, 15_000],
  [2_000, 100, 15_000],
  [5, 0, 0],
  [2_000, 0, 0],
  [1, 60_000, 15_000],
])('after %i unstable exits in a row with a base of %i ms the pause is %i ms', (n, baseMs, pauseMs) => {
  expect(backoffMs(n, baseMs)).toBe(pauseMs);
});

test('a stable exit is followed by a restart at once, and ends the streak', () => {
  const verdict = judgeExit(makeSpec(), { streak: 5, unstableAtMs: [NOW - 1] }, { isUnstable: false, code: 1 }, NOW);
  expect(verdict).toEqual({ what: 'again', delayMs: 0, record: { streak: 0, unstableAtMs: [NOW - 1] } });
});

test('a restart delay stays the same, however many exits follow one another', () => {
  const spec = makeSpec({ restartDelayMs: 150 });
  const tenth = { streak: 9, unstableAtMs: Array(9).fill(NOW) };
  expect(judgeExit(spec, tenth, { isUnstable: true, code: 1 }, NOW)).toMatchObject({ what: 'again', delayMs: 150 });
});

test('restartDelay applies after any exit; with a back-off, the longer of both after an unstable one', () => {
  const spec = makeSpec({ restartDelayMs: 150, backoffMs: 100 });
  expect(judgeExit(spec, fresh, { isUnstable: false, code: 0 }, NOW).delayMs).toBe(150);
  expect(judgeExit(spec, fresh, { isUnstable: true, code: 0 }, NOW).delayMs).toBe(150);
  expect(judgeExit(spec, { streak: 1, unstableAtMs: [NOW] }, { isUnstable: true, code: 0 }, NOW).delayMs).toBe(200);
});

test('more than maxRestarts unstable exits inside ten minutes are too many, at any age of the app', () => {
  const spec = makeSpec({ maxRestarts: 2 });
  const two = { streak: 2, unstableAtMs: [NOW - 2, NOW - 1] };
  expect(judgeExit(spec, two, { isUnstable: true, code: 1 }, NOW).what).toBe('failed');
  expect(judgeExit(spec, two, { isUnstable: true, code: 1 }, NOW + 600_000).what).toBe('again');
});

test('autorestart false and exit codes prevent a restart, and a signal has no exit code', () => {
  expect(judgeExit(makeSpec({ autorestart: false }), fresh, { isUnstable: false, code: 1 }, NOW).what).toBe('done');
  expect(judgeExit(makeSpec({ stopExitCodes: [0, 7] }), fresh, { isUnstable: true, code: 7 }, NOW).what).toBe('done');
  expect(judgeExit(makeSpec({ stopExitCodes: [0, 7] }), fresh, { isUnstable: true, code: null }, NOW).what).toBe(
    'again',
  );
});
