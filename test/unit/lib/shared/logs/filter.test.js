import { describe, expect, test } from 'vitest';
import { createLogFilter, detectLevel } from '../../../../../lib/shared/logs/filter.js';
import { detectLevelEarly } from '../../../../../lib/shared/logs/level.js';

describe('the level of a line', () => {
  test.each([
    ['{"level":30,"time":1,"msg":"pino"}', 'info'],
    ['{"name":"b","level":50,"v":0}', 'error'],
    ['{"level":10}', 'trace'],
    ['{"level":60}', 'fatal'],
    ['{"level":35}', 'info'],
    ['{"level":100}', 'fatal'],
    ['{"level":"warn","message":"winston"}', 'warn'],
    ['{"message":"m","level":"silly"}', 'trace'],
    ['{"level":"\\u001b[31merror\\u001b[39m"}', 'error'],
    ['{"level":"WARNING"}', 'warn'],
    ['{"level":"30"}', 'info'],
    ['{"severity":"CRITICAL"}', 'fatal'],
    ['{"log.level":"debug"}', 'debug'],
    ['{"req":{"level":60},"level":20}', 'debug'],
    ['{"level":{"a":1},"severity":"NOTICE"}', 'info'],
  ])('%s is %s', (line, level) => {
    expect(detectLevel(line)).toBe(level);
  });

  test.each([
    [''],
    ['error: it broke'],
    [' {"level":30}'],
    ['["level"]'],
    ['{"msg":"no level"}'],
    ['{"level":30'],
    ['{"level":3}'],
    ['{"level":null}'],
    ['{"level":"loud"}'],
    ['{"level":"constructor"}'],
    ['{"req":{"level":30}}'],
    ['{"level":-30}'],
  ])('%s has no level', (line) => {
    expect(detectLevel(line)).toBe(null);
  });
});

describe('the level of a truncated line', () => {
  test.each([
    ['{"level":30,"body":"abc', 'info'],
    [' {"level":30,', null],
    ['{"a":{"level":60,"b":["}",{}]},"level":"warn","body":"abc', 'warn'],
    ['{"a\\"":"\\\\","severity":"ERROR" ,"b', 'error'],
    ['{ "ok" : true , "n":-1.5e+3,"x":null,"level" : 40 , "m":[[1', 'warn'],
    ['{"level":"warn","level', 'warn'],
    ['{"level":30,"severity":"error","b":[', 'info'],
    ['{"body":"abc', undefined],
    ['{"body":[{"level":60}', undefined],
    ['{"level":4', undefined],
    ['{"level":"war', undefined],
    ['{"level"', undefined],
    ['{"level":{"a":1}, ', undefined],
    ['{"level":"loud","b":1', undefined],
    ['{"msg":"level","b":tru', undefined],
    ['{', undefined],
    ['error: it broke', null],
    ['["level"', null],
    ['{level:40,"b', null],
    ['{"a" 1', null],
    ['{"a":1 2', null],
    ['{"a":1} {"level":40', null],
    ['{"a":}', null],
    ['{,', null],
    ['', null],
  ])('%s is %s', (text, level) => {
    expect(detectLevelEarly(text)).toBe(level);
  });

  test('the level of a truncated line is found quickly in any line', () => {
    const startedMs = performance.now();
    for (const text of [
      '{"a":' + '['.repeat(65_000),
      '{"a":"' + '\\"'.repeat(32_000),
      '{"a":1,'.repeat(9_000),
      '{' + '"a":1,'.repeat(10_000),
      '{"a":' + '[""],'.repeat(13_000),
    ])
      detectLevelEarly(text);
    expect(performance.now() - startedMs).toBeLessThan(3_000);
  });
});

describe('a line in parts', () => {
  const verdicts = (options, lines) => {
    const isWanted = createLogFilter(options);
    return lines.map((texts) =>
      texts.map((text, at) => isWanted(text, { isFirst: at === 0, isLast: at > 0 }, { id: 0, stream: 'out' })),
    );
  };

  test('a line in parts has the level of its beginning, and is shown if the beginning has none', () => {
    expect(
      verdicts({ level: 'warn' }, [
        ['{"level":40,"b":"', '"}'],
        ['{"level":30,"b":"', '"}'],
        ['{"b":"', '","level":30}'],
        ['plain', 'text'],
      ]),
    ).toEqual([
      [true, true],
      [false, false],
      [true, true],
      [false, false],
    ]);
  });

  test('a line in parts is found by a match in its beginning', () => {
    expect(
      verdicts({ level: 'warn', grep: { source: 'db', flags: '' } }, [
        ['{"level":40,"b":"db', '"}'],
        ['{"level":40,"b":"', 'db"}'],
        ['{"level":30,"b":"db', '"}'],
      ]),
    ).toEqual([
      [true, true],
      [false, false],
      [false, false],
    ]);
  });

  test.each([
    [true, [true, false]],
    [false, [false, false]],
  ])('a part without a known beginning has any level only if the request is resumed (%s)', (isResumed, expected) => {
    const isWanted = createLogFilter({ level: 'fatal', grep: { source: 'db', flags: '' }, isResumed });
    expect(['the db', 'the end'].map((text) => isWanted(text, { isFirst: false, isLast: true }))).toEqual(expected);
  });
});

describe('the filter', () => {
  const passing = (wanted, lines) => {
    const isWanted = createLogFilter(wanted);
    return lines.filter((line) => isWanted(line));
  };

  test('the filter without options lets every line through', () => {
    expect(passing({}, [''])).toEqual(['']);
  });

  test('the filter by level keeps that level and higher ones, and drops lines without a level', () => {
    const lines = ['{"level":30}', '{"level":40}', '{"level":60}', 'plain'];
    expect(passing({ level: 'warn' }, lines)).toEqual(lines.slice(1, 3));
  });

  test('the filter by pattern respects its flags and finds equal lines twice', () => {
    const lines = ['a Timeout', 'a Timeout', 'TIME OUT', 'on time'];
    expect(passing({ grep: { source: 'time.?out', flags: 'i' } }, lines)).toEqual(lines.slice(0, 3));
  });

  test('the filter by level and pattern keeps lines that match both', () => {
    const lines = ['{"level":50,"msg":"db"}', '{"level":50}', '{"level":30,"msg":"db"}'];
    expect(passing({ grep: { source: 'db', flags: '' }, level: 'error' }, lines)).toEqual(lines.slice(0, 1));
  });

  test('the filter reads the first 8 KiB of a line', () => {
    const lines = [8_189, 8_190].map((length) => `${'x'.repeat(length)}end`);
    expect(passing({ grep: { source: 'end', flags: '' } }, lines)).toEqual(lines.slice(0, 1));
  });
});

describe('a pattern is refused', () => {
  test.each([
    ['(a+)+$', '', /repeats a part/],
    ['(\\w+\\s*)*x', '', /repeats a part/],
    ['(?:[a-z]+,){2,}', '', /repeats a part/],
    ['((a|b*)c){30}', '', /repeats a part/],
    ['(', '', /not a regular expression/],
    ['a', 'g', /flags are "g"/],
    ['x'.repeat(501), '', /501 characters/],
  ])('"%s" with flags "%s"', (source, flags, why) => {
    expect(() => createLogFilter({ grep: { source, flags } })).toThrow(
      expect.objectContaining({ code: 'ERR_NCLUST_USAGE', message: expect.stringMatching(why) }),
    );
  });

  test.each([
    ['(\\d+\\.){3}\\d+', '10.0.0.1'],
    ['(GET|POST)+ /a', 'GET /a'],
    ['[(+*]+\\(\\+', '*(+'],
    ['a{2}b{1,3}', 'aabb'],
    ['(?<year>\\d{4})-\\k<year>', '2026-2026'],
    ['(?=x)x', 'x'],
    ['[^\\]]+]', 'ab]'],
    ['{"level":', '{"level":30}'],
  ])('the level "%s" is accepted', (source, line) => {
    const isWanted = createLogFilter({ grep: { source, flags: '' } });
    expect([isWanted(line), isWanted('-')]).toEqual([true, false]);
  });
});

test.each([
  ['.*.*.*x', 'a'.repeat(8_192)],
  ['a.*b.*c', 'ab'.repeat(4_096)],
  ['(a|a)*$', `${'a'.repeat(40)}b`],
  ['(a?){20}a{20}$', `${'a'.repeat(39)}b`.repeat(10)],
  ['(x?x?)*y', 'x'.repeat(64)],
  ['(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)+$', `${'a'.repeat(60)}b`],
])('but "%s" does not hang on a line made for it', (source, line) => {
  const isWanted = createLogFilter({ grep: { source, flags: '' } });
  const before = process.cpuUsage();
  for (let round = 0; round < 20; round++) isWanted(line);
  const { user, system } = process.cpuUsage(before);
  // Without the time limit of the matcher, a single match would take from 20 s to longer than the
  // age of the universe.
  expect((user + system) / 1000).toBeLessThan(3_000);
});
