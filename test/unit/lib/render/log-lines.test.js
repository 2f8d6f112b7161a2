import { describe, expect, test } from 'vitest';
import { pickColour, createLogRenderer } from '../../../../lib/render/log-lines.js';
import { createPaint } from '../../../../lib/render/paint.js';
import { pattern } from '../../../helpers/pattern.js';

const entries = [
  { id: 0, name: 'api', stream: 'out', line: 'listens', atMs: 0 },
  { id: 12, name: 'a-long-name', stream: 'err', line: '\u001b[31mred\u001b[39m', atMs: null },
];

const render = (options, hasColour = false, isTerminal = false, given = entries) =>
  createLogRenderer()(
    { entries: given },
    { columns: null, isTerminal, paint: createPaint(hasColour ? 1 : 0), nowMs: 0, options },
  );

test('lines have the id and the name, and are otherwise unchanged', () => {
  expect(render({})).toBe('0|api      | listens\n12|a-long-name | \u001b[31mred\u001b[39m\n');
});

test('--raw prints only the lines', () => {
  expect(render({ raw: true })).toBe('listens\n\u001b[31mred\u001b[39m\n');
});

test("--json prints a record with PM2's keys for each line", () => {
  expect(
    render({ json: true })
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual([
    { message: 'listens', timestamp: '1970-01-01T00:00:00.000Z', type: 'out', process_id: 0, app_name: 'api' },
    { message: '\u001b[31mred\u001b[39m', timestamp: null, type: 'err', process_id: 12, app_name: 'a-long-name' },
  ]);
});

test("--format prints PM2's keys and values, with the message last and unchanged", () => {
  const given = [...entries, { id: 2, name: 'my "api"', stream: 'out', line: 'a=1 b', atMs: Date.UTC(2026, 0, 1) }];
  expect(render({ format: true, timestamp: '[y]YYYY' }, false, false, given)).toBe(
    [
      `timestamp=y${new Date(0).getFullYear()} app=api id=0 type=out message=listens\n`,
      'timestamp=- app=a-long-name id=12 type=error message=\u001b[31mred\u001b[39m\n',
      `timestamp=y${new Date(Date.UTC(2026, 0, 1)).getFullYear()} app="my \\"api\\"" id=2 type=out message=a=1 b\n`,
    ].join(''),
  );
  expect(render({ format: true })).toMatch(/^timestamp=(1970-01-01|1969-12-31)-\d\d:\d\d:\d\d[+-]\d{4} app=api /);
});

test('--timestamp prints the time before each line, in the default format or another', () => {
  expect(render({ timestamp: true })).toMatch(
    /^(1970-01-01|1969-12-31)-\d\d:\d\d:\d\d 0\|api {6}\| listens\n- 12\|a-long-name \| /,
  );
  expect(render({ timestamp: 'ss.SSS' })).toMatch(/^00\.000 0\|api/);
});

test('the label column grows with the names, up to a limit, and never shrinks', () => {
  const render = createLogRenderer();
  const view = { columns: null, paint: createPaint(0), nowMs: 0, options: {} };
  render({ entries: [entries[1]] }, view);
  expect(render({ entries: [entries[0]] }, view)).toBe('0|api          | listens\n');
  render({ entries: [{ ...entries[1], name: 'x'.repeat(90) }] }, view);
  expect(render({ entries: [entries[0]] }, view)).toBe(`${'0|api'.padEnd(30)} | listens\n`);
});

test('stdout and stderr have different colours', () => {
  expect(render({}, true)).toMatch(
    pattern(
      /^\u001b\[\d\dm0\|api {5}\u001b\[39m\u001b\[90m \| \u001b\[39mlistens\n/,
      /\u001b\[\d\dm12\|a-long-name\u001b\[39m\u001b\[31m \| \u001b\[39m/,
    ),
  );
});

test('the instances of an app share a colour, apps differ, and no app has the colour of errors', () => {
  const colours = Array.from({ length: 40 }, (_, at) => pickColour(`app-${at}`));
  expect(new Set(colours).size).toBe(5);
  expect(colours).not.toContain('red');
  expect(pickColour('app-7')).toBe(colours[7]);
});

describe('logs on a terminal', () => {
  test('a line keeps its colours, resets them at its end, and has no other effect on the terminal', () => {
    const line = 'a\u001b[31mred\u001b[2J\u001b]0;title\u0007 \rb\tc\u0000\u202Ed\r';
    expect(render({}, false, true, [{ ...entries[0], line }])).toBe(
      '0|api      | \u001b[0ma\u001b[31mred ?b\tc??d\u001b[0m\n',
    );
    expect(render({ raw: true }, false, true, [{ ...entries[0], line }])).toBe(`${line}\n`);
    expect(render({}, false, false, [{ ...entries[0], line }])).toBe(`0|api      | ${line}\n`);
  });

  test('log records are made readable, but not with --raw or --json, and not in a pipe', () => {
    const given = [{ ...entries[0], line: '{"level":30,"time":0,"msg":"hi"}' }];
    expect(render({}, false, true, given)).toMatch(/^0\|api {6}\| \d\d:\d\d:00\.000 INFO {2}hi\n$/);
    expect(render({ timestamp: 's' }, false, true, given)).toBe('0 0|api      | INFO  hi\n');
    for (const shown of [
      render({ raw: true }, false, true, given),
      render({ json: true }, false, true, given),
      render({}, false, false, given),
    ])
      expect(shown).toMatch(/\{\\?"level/);
  });
});

test('--highlight marks all matches of its text, and without a value the matches of --grep', () => {
  const given = [{ ...entries[0], line: 'a.b axb \u001b[31mA.B\u001b[39m' }];
  const marked = (text) => `\u001b[7m${text}\u001b[27m`;
  const shown = (options) =>
    render(options, true, false, given).slice(render({}, true, false, given).length - given[0].line.length - 1);
  expect(shown({ highlight: 'a.b' })).toBe(`${marked('a.b')} axb \u001b[31mA.B\u001b[39m\n`);
  expect(shown({ highlight: true, grep: '/a.b/i' })).toBe(
    `${marked('a.b')} ${marked('axb')} \u001b[31m${marked('A.B')}\u001b[39m\n`,
  );
  expect(shown({ highlight: true })).toBe(`${given[0].line}\n`);
  expect(render({ highlight: 'a.b' }, false, false, given)).toBe(`0|api      | ${given[0].line}\n`);
});
