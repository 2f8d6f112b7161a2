import { expect, test } from 'vitest';
import { createDeathFinder, isDeathDue, noteDeath } from '../../../../daemon/control/notify/manager-deaths.js';

const T0 = 1_700_000_000_000;

/** Takes ["seconds type", fields] and returns the seconds and texts of deaths. */
function find(...events) {
  const findDeath = createDeathFinder([]);
  return events.flatMap(([what, fields = {}]) => {
    const [seconds, type] = what.split(' ');
    const death = findDeath({ at: T0 + Number(seconds) * 1_000, type, ...fields });
    return death ? [`${(death.atMs - T0) / 1_000} ${death.text}`] : [];
  });
}

const ready = (seconds, keeperPid = 7) => [`${seconds} manager:ready`, { keeperPid }];

test.each([
  ['the first start', [ready(0)], []],
  ['a start after kill', [ready(0), ['5 manager:ending', { by: 'kill' }], ready(9, 8)], []],
  ['an update of control', [ready(0), ['5 manager:update'], ready(6)], []],
  [
    'an update of the keeper',
    [ready(0), ['5 manager:update'], ['6 manager:keeper-lost'], ['7 manager:keeper', { pid: 9 }], ready(8, 9)],
    [],
  ],
  [
    'a death of the keeper after an update',
    [ready(0), ['5 manager:update'], ready(6), ['7 manager:keeper-lost'], ['8 manager:keeper', { pid: 9 }]],
    [/^7 the keeper/],
  ],
  [
    'a death of control',
    [ready(0), ['3 died', { app: 'api' }], ready(5)],
    [/^5 the control process of nclust exited; another/],
  ],
  [
    'a death of control long after an update',
    [ready(0), ['5 manager:update'], ['6 manager:keeper', { pid: 7 }], ready(90)],
    [/^90 the control process/],
  ],
  [
    'a crash of control',
    [ready(0), ['4 manager:crashed', { message: 'x is not a function' }], ready(5)],
    [/exited, because of an error: x is not a function;/],
  ],
  [
    'a death of the keeper',
    [ready(0), ['5 manager:keeper-lost'], ['6 manager:keeper', { pid: 8 }]],
    [/^5 the keeper of nclust exited/],
  ],
  [
    'a keeper that does not start',
    [ready(0), ['5 manager:keeper-lost'], ['6 manager:keeper-failed'], ['7 manager:keeper-lost']],
    [/^5 the keeper/],
  ],
  [
    'a death of both, or of the machine',
    [ready(0), ready(60, 8)],
    [/^60 nclust had to start again after an unclean end/],
  ],
  [
    'a death of control after one of the keeper',
    [ready(0), ['5 manager:keeper-lost'], ['6 manager:keeper', { pid: 8 }], ready(9, 8)],
    [/^5 the keeper/, /^9 the control process/],
  ],
])('%s', (_, events, texts) => {
  expect(find(...events)).toEqual(texts.map((text) => expect.stringMatching(text)));
});

test.each([
  ['no event: the first start of a home', [], null],
  ['only events of apps', ['died'], 'the control process of nclust exited; another one has started'],
  [
    'only a crash',
    ['manager:crashed'],
    'the control process of nclust exited, because of an error: no x; another one has started',
  ],
  ['the kill of an earlier manager', ['manager:ending'], null],
])('a start after %s', (_, types, text) => {
  const past = types.map((type, at) => ({ at: T0 + at, type, message: 'no x' }));
  const findDeath = createDeathFinder(past);
  expect(past.map(findDeath)).toEqual(types.map(() => null));
  expect(findDeath({ at: T0 + 9, type: 'manager:ready', keeperPid: 7 })?.text ?? null).toBe(text);
});

test('deaths within a minute make one message with their number', () => {
  const nowMs = T0 + 3_600_000;
  let notes = { throughMs: T0, notifiedMs: nowMs - 10_000, waiting: null };
  for (const atMs of [nowMs - 9_000, nowMs - 8_000, nowMs - 8_000]) notes = noteDeath(notes, { atMs, text: 'it died' });
  expect(notes.waiting).toEqual({ atMs: nowMs - 9_000, text: 'it died', times: 2 });
  expect(isDeathDue(notes, nowMs)).toBe(false);
  expect(isDeathDue(notes, nowMs + 50_000)).toBe(true);
});

test('a death that was taken already is not taken again', () => {
  const notes = noteDeath({ throughMs: T0, notifiedMs: 0, waiting: null }, { atMs: T0 + 1, text: 'it died' });
  const taken = { ...notes, waiting: null };
  expect(noteDeath(taken, { atMs: T0 + 1, text: 'it died' })).toBe(taken);
});
