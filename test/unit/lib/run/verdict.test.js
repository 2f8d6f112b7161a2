import { describe, expect, test } from 'vitest';
import { killedSlots, judge, describeGivenUp } from '../../../../lib/run/verdict.js';

const death = (given) => ({ atMs: 1, pid: 7, code: null, signal: null, cause: 'crash', by: null, ...given });
const slot = (status, lastDeath = null, name = 'api') => ({ id: 0, name, status, lastDeath });

describe('a run', () => {
  test.each([
    ['launching', false],
    ['online', false],
    ['stopping', false],
    ['waiting restart', false],
    ['stopped', true],
    ['errored', true],
  ])('a run with an app that is %s has isOver %s', (status, isOver) => {
    expect(judge([slot(status)]).isOver).toBe(isOver);
  });

  test('a run goes on while one app runs', () => {
    expect(judge([slot('errored'), slot('online')]).isOver).toBe(false);
  });

  test.each([
    ['an app with exit code 0', [slot('stopped', death({ code: 0 }))], 0],
    ['an app with an exit code', [slot('stopped', death({ code: 3 }))], 3],
    ['an app killed by a signal', [slot('stopped', death({ signal: 'SIGKILL' }))], 137],
    [
      'the first app that failed',
      [
        slot('stopped', death({ code: 5, atMs: 9 })),
        slot('stopped', death({ code: 0, atMs: 1 })),
        slot('stopped', death({ code: 4, atMs: 8 })),
      ],
      4,
    ],
    ['an app that failed too often with code 0', [slot('errored', death({ code: 0 }))], 1],
    ['an app that could not be started', [slot('errored', death({ pid: 0 }))], 1],
    ['an app that failed too often', [slot('errored', death({ code: 78 }))], 78],
    ['an app that a user stopped', [slot('stopped', death({ signal: 'SIGINT', by: 'stop' }))], 0],
    ['an empty list', [], 0],
  ])('a run ends with the status of %s', (_what, slots, exitStatus) => {
    expect(judge(slots)).toMatchObject({ isOver: true, exitStatus });
  });

  test('a run reports that a user has stopped an app', () => {
    expect(
      judge([slot('stopped', death({ signal: 'SIGINT', by: 'stop' })), slot('stopped', death({ code: 0 }))])
        .isByCommand,
    ).toBe(true);
    expect(judge([]).isByCommand).toBe(true);
    expect(judge([slot('stopped', death({ code: 0 })), slot('errored', death({ code: 1 }))]).isByCommand).toBe(false);
  });
});

test('forceExit() returns the instances that were killed, and not those that exited in time', () => {
  const late = slot('stopped', death({ signal: 'SIGKILL', by: 'stop' }), 'late');
  expect(
    killedSlots([
      slot('stopped', death({ signal: 'SIGINT', by: 'stop' })),
      late,
      slot('stopped', death({ signal: 'SIGKILL' })),
      slot('stopped'),
    ]),
  ).toEqual([late]);
});

test('describeGivenUp() names the app and how it exited', () => {
  expect(describeGivenUp(slot('errored', death({ code: 2 })))).toBe(
    '"api" (id 0) failed too often and is not restarted: it exited with code 2.',
  );
  expect(describeGivenUp(slot('errored', death({ signal: 'SIGSEGV' })))).toContain('ended by SIGSEGV');
  expect(describeGivenUp(slot('errored'))).toContain('could not be started');
});
