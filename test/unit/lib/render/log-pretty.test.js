import { expect, test } from 'vitest';
import { prettyRecord } from '../../../../lib/render/log-pretty.js';
import { formatTime } from '../../../../lib/render/log-time.js';
import { createPaint } from '../../../../lib/render/paint.js';

const AT = Date.UTC(2026, 10, 21, 12, 30, 5, 42);
const TIME = formatTime(AT, 'HH:mm:ss.SSS');

const pretty = (record, { hasTime = false, atMs = null, hasColour = false } = {}) =>
  prettyRecord(
    { id: 0, name: 'api', stream: 'out', line: typeof record === 'string' ? record : JSON.stringify(record), atMs },
    { paint: createPaint(hasColour ? 1 : 0), hasTime },
  );

test.each([
  ['pino', { level: 30, time: AT, pid: 1, hostname: 'h', msg: 'listens', port: 80 }, `${TIME} INFO  listens port=80`],
  [
    'bunyan',
    { name: 'db', hostname: 'h', pid: 1, level: 50, msg: 'gone', time: new Date(AT).toISOString(), v: 0 },
    `${TIME} ERROR gone name=db`,
  ],
  [
    'bunyan named as the app',
    { name: 'api', level: 20, msg: 'x', time: new Date(AT).toISOString(), v: 0 },
    `${TIME} DEBUG x`,
  ],
  [
    'winston',
    { level: 'warn', message: 'slow', timestamp: new Date(AT).toISOString(), ms: 12 },
    `${TIME} WARN  slow ms=12`,
  ],
  ['zap', { level: 'info', ts: AT / 1_000, msg: 'x' }, `${TIME} INFO  x`],
  [
    'ECS',
    { '@timestamp': new Date(AT).toISOString(), 'log.level': 'error', message: 'x', 'ecs.version': '8' },
    `${TIME} ERROR x`,
  ],
  ['a logger without a message', { level: 30, time: AT, req: { id: 1 } }, `${TIME} INFO  req={"id":1}`],
  ['a logger whose message is not a text', { level: 30, time: AT, msg: { a: 1 } }, `${TIME} INFO  {"a":1}`],
  [
    'a logger with fields of every kind',
    { level: 30, time: AT, msg: 'x', a: 'two words', b: null, c: true, d: '', e: 'one' },
    `${TIME} INFO  x a="two words" b=null c=true d="" e=one`,
  ],
])('a record of %s is made readable', (_what, record, line) => {
  expect(pretty(record)).toEqual([line]);
});

test('a record without a time shows the time of its line, or none', () => {
  expect(pretty({ level: 30, msg: 'x' }, { atMs: AT })).toEqual([`${TIME} INFO  x`]);
  expect(pretty({ level: 30, msg: 'x', time: 'soon' })).toEqual(['INFO  x']);
  expect(pretty({ level: 30, msg: 'x', time: 1e300 })).toEqual(['INFO  x']);
  expect(pretty({ level: 30, msg: 'x', time: AT }, { hasTime: true })).toEqual(['INFO  x']);
});

test('long fields are cut, and only the first fields are shown', () => {
  const [long] = pretty({ level: 30, msg: 'x', a: 'y'.repeat(200) }) ?? [];
  expect(long).toBe(`INFO  x a=${'y'.repeat(79)}…`);
  const many = Object.fromEntries(Array.from({ length: 15 }, (_, at) => [`k${at}`, at]));
  expect(pretty({ level: 30, msg: 'x', ...many })?.[0]).toMatch(/ k11=11 and 3 more$/);
});

test('the further lines of a message and the stack of an error follow the record', () => {
  expect(
    pretty({
      level: 50,
      time: AT,
      msg: 'a\nb',
      err: { type: 'TypeError', message: 'no', stack: 'TypeError: no\n    at x' },
    }),
  ).toEqual([`${TIME} ERROR a err=TypeError: no`, '    b', '    TypeError: no', '        at x']);
  expect(pretty({ level: 'error', message: 'no', stack: 'Error: no\n    at y' })).toEqual([
    'ERROR no',
    '    Error: no',
    '        at y',
  ]);
});

test('each level has a colour', () => {
  const coloured = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'].map(
    (level) => pretty({ level, msg: '' }, { hasColour: true })?.[0],
  );
  expect(new Set(coloured.map((line) => line.replace(/[A-Z ]+/g, ''))).size).toBe(6);
  expect(coloured[4]).toBe('\u001b[31mERROR\u001b[39m');
});

test.each([['plain'], ['{"a":1}'], ['{"level":30'], ['{"level":"loud","msg":"x"}'], ['[1]'], ['']])(
  'the line %j is not a record',
  (line) => {
    expect(pretty(line)).toBe(null);
  },
);
