import { expect, test } from 'vitest';
import { NEWS_MAX, reconcile } from '../../../../daemon/control/notify/reconcile.js';
import { RESTORED_LULL_MS } from '../../../../daemon/control/troubles/judge.js';

const T0 = 1_700_000_000_000;
const SECOND = 1_000;
const MINUTE = 60_000;

function trouble(more = {}) {
  const { app = 'api', kind = 'slow' } = more;
  return { id: `${app}:${kind}`, app, kind, level: 'warn', slots: [], sinceMs: T0, times: 1, evidence: {}, ...more };
}

function rule(more = {}) {
  return { level: 'warn', afterMs: 0, repeatMs: 0, appliesTo: () => true, ...more };
}

/** Runs one pass for each [seconds, open troubles], and returns the news: "seconds event app level". */
function run(steps, rules = [rule()], notified = {}) {
  const heard = [];
  for (const [seconds, ...open] of steps) {
    const next = reconcile(notified, { open, rules, nowMs: T0 + seconds * SECOND, sinceMs: T0 });
    notified = next.notified;
    for (const { event, trouble: about, repeated } of next.news)
      heard.push(`${seconds} ${event} ${about.app} ${about.level}${repeated > 0 ? ` ${repeated}` : ''}`);
  }
  return heard;
}

const warn = trouble();
const bad = trouble({ level: 'bad' });

test.each([
  [
    'a trouble makes one message when it begins and one when it ends',
    [[0, warn], [1, warn], [2], [3]],
    {},
    ['0 began api warn', '2 ended api warn'],
  ],
  ['no trouble makes no message', [[0], [1]], {}, []],
  [
    'a trouble that becomes bad makes one more message',
    [[0, warn], [1, bad], [2, bad], [3]],
    {},
    ['0 began api warn', '1 began api bad', '3 ended api bad'],
  ],
  [
    'a trouble that becomes milder makes no other message',
    [[0, bad], [1, warn], [2, bad], [3]],
    {},
    ['0 began api bad', '3 ended api bad'],
  ],
  ['a receiver of bad troubles hears nothing of others', [[0, warn], [1]], { level: 'bad' }, []],
  [
    'a receiver of bad troubles hears of one that becomes bad',
    [[0, warn], [5, bad], [6, warn], [7]],
    { level: 'bad' },
    ['5 began api bad', '7 ended api warn'],
  ],
  [
    'a receiver of one app hears nothing of others',
    [[0, warn, trouble({ app: 'web' })], [1]],
    { appliesTo: (app) => app === 'web' },
    ['0 began web warn', '1 ended web warn'],
  ],
  ['a trouble that ends too early makes no message', [[0, warn], [9, warn], [10]], { afterMs: 10 * SECOND }, []],
  [
    'a trouble that lasts makes a message after the time',
    [[0, warn], [9, warn], [10, warn], [11, warn], [12]],
    { afterMs: 10 * SECOND },
    ['10 began api warn', '12 ended api warn'],
  ],
  [
    'a trouble is repeated until it ends',
    [[0, warn], [59, warn], [60, warn], [61, warn], [121, warn], [200]],
    { repeatMs: MINUTE },
    ['0 began api warn', '60 began api warn 1', '121 began api warn 2', '200 ended api warn'],
  ],
  [
    'a clock that is set back does not repeat a trouble',
    [
      [0, warn],
      [-500, warn],
      [1, warn],
    ],
    { repeatMs: MINUTE },
    ['0 began api warn'],
  ],
])('%s', (_, steps, options, heard) => {
  expect(run(steps, [rule(options)])).toEqual(heard);
});

test('the first of several rules that fits is enough', () => {
  const rules = [rule({ level: 'bad' }), rule({ afterMs: 5 * SECOND })];
  expect(run([[0, warn], [4, warn], [5, warn], [6]], rules)).toEqual(['5 began api warn', '6 ended api warn']);
  expect(run([[0, bad], [6]], rules)).toEqual(['0 began api bad', '6 ended api bad']);
});

test('10,000 crashes of one app make one message, and one at their end', () => {
  const crashes = Array.from({ length: 10_000 }, (_, at) => [
    at,
    trouble({ kind: 'crash-loop', level: 'bad', times: at + 2 }),
  ]);
  expect(run([...crashes, [10_001], [10_002]])).toEqual(['0 began api bad', '10001 ended api bad']);
});

test('a trouble that an earlier control reported makes no message until its end', () => {
  const { notified } = reconcile({}, { open: [warn], rules: [rule()], nowMs: T0, sinceMs: T0 });
  const restored = { 'api:slow': { ...notified['api:slow'], isRestored: true } };
  expect(run([[1], [5, warn], [6]], [rule()], restored)).toEqual(['6 ended api warn']);
  const seconds = RESTORED_LULL_MS / SECOND;
  expect(run([[1], [seconds - 1], [seconds]], [rule()], restored)).toEqual([`${seconds} ended api warn`]);
});

test('a storm makes its messages in parts, and loses none', () => {
  const storm = Array.from({ length: 2 * NEWS_MAX + 1 }, (_, at) => trouble({ app: `app${at}` }));
  const heard = run([[0, ...storm], [1, ...storm], [2, ...storm], [3, ...storm], [4], [5], [6], [7]]);
  expect(heard.filter((one) => one.includes('began'))).toHaveLength(storm.length);
  expect(heard.filter((one) => one.includes('ended'))).toHaveLength(storm.length);
  expect(heard.filter((one) => one.startsWith('0 '))).toHaveLength(NEWS_MAX);
});
