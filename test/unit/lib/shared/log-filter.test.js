import { describe, expect, test } from 'vitest';
import { createLogFilter, levelOf } from '../../../../lib/shared/log-filter.js';

describe('the level of a line', () => {
  test.each([
    ['{"level":30,"time":1,"msg":"pino"}', 'info'], ['{"name":"b","level":50,"v":0}', 'error'], ['{"level":10}', 'trace'], ['{"level":60}', 'fatal'], ['{"level":35}', 'info'], ['{"level":100}', 'fatal'],
    ['{"level":"warn","message":"winston"}', 'warn'], ['{"message":"m","level":"silly"}', 'trace'], ['{"level":"\\u001b[31merror\\u001b[39m"}', 'error'], ['{"level":"WARNING"}', 'warn'], ['{"level":"30"}', 'info'],
    ['{"severity":"CRITICAL"}', 'fatal'], ['{"log.level":"debug"}', 'debug'], ['{"req":{"level":60},"level":20}', 'debug'], ['{"level":{"a":1},"severity":"NOTICE"}', 'info'],
  ])('%s is %s', (line, level) => {
    expect(levelOf(line)).toBe(level);
  });

  test.each([
    [''], ['error: it broke'], [' {"level":30}'], ['["level"]'], ['{"msg":"no level"}'], ['{"level":30'], ['{"level":3}'], ['{"level":null}'], ['{"level":"loud"}'], ['{"level":"constructor"}'], ['{"req":{"level":30}}'], ['{"level":-30}'],
  ])('%s has none', (line) => {
    expect(levelOf(line)).toBe(null);
  });
});

describe('the filter', () => {
  test('without wishes lets everything through', () => {
    expect(createLogFilter({})('')).toBe(true);
  });

  test('by level keeps that one and the more important, and leaves out what has none', () => {
    const isWanted = createLogFilter({ level: 'warn' });
    expect(['{"level":30}', '{"level":40}', '{"level":60}', 'plain'].map(isWanted)).toEqual([false, true, true, false]);
  });

  test('by pattern, with its flags; the same line twice is found twice', () => {
    const isWanted = createLogFilter({ grep: { source: 'time.?out', flags: 'i' } });
    expect(['a Timeout', 'a Timeout', 'TIME OUT', 'on time'].map(isWanted)).toEqual([true, true, true, false]);
  });

  test('by both needs both', () => {
    const isWanted = createLogFilter({ grep: { source: 'db', flags: '' }, level: 'error' });
    expect(['{"level":50,"msg":"db"}', '{"level":50}', '{"level":30,"msg":"db"}'].map(isWanted)).toEqual([true, false, false]);
  });

  test('looks at the first 8 KiB of a line', () => {
    const isWanted = createLogFilter({ grep: { source: 'end', flags: '' } });
    expect([`${'x'.repeat(8_189)}end`, `${'x'.repeat(8_190)}end`].map(isWanted)).toEqual([true, false]);
  });
});

describe('a pattern is refused', () => {
  test.each([
    ['(a+)+$', '', /repeats something/], ['(\\w+\\s*)*x', '', /repeats something/], ['(?:[a-z]+,){2,}', '', /repeats something/], ['((a|b*)c){30}', '', /repeats something/],
    ['(', '', /not a regular expression/], ['a', 'g', /flags are "g"/], ['x'.repeat(501), '', /501 characters/],
  ])('%s with flags "%s"', (source, flags, why) => {
    expect(() => createLogFilter({ grep: { source, flags } })).toThrow(expect.objectContaining({ code: 'ERR_NCLUST_USAGE', message: expect.stringMatching(why) }));
  });

  test.each([['(\\d+\\.){3}\\d+', '10.0.0.1'], ['(GET|POST)+ /a', 'GET /a'], ['[(+*]+\\(\\+', '*(+'], ['a{2}b{1,3}', 'aabb'], ['(?<year>\\d{4})-\\k<year>', '2026-2026'], ['(?=x)x', 'x'], ['[^\\]]+]', 'ab]'], ['{"level":', '{"level":30}']])('%s is not', (source, line) => {
    const isWanted = createLogFilter({ grep: { source, flags: '' } });
    expect([isWanted(line), isWanted('-')]).toEqual([true, false]);
  });
});

test.each([
  ['.*.*.*x', 'a'.repeat(8_192)], ['a.*b.*c', 'ab'.repeat(4_096)], ['(a|a)*$', `${'a'.repeat(40)}b`], ['(a?){20}a{20}$', `${'a'.repeat(39)}b`.repeat(10)], ['(x?x?)*y', 'x'.repeat(64)], ['(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)(a|aa)+$', `${'a'.repeat(60)}b`],
])('%s on a line made for it does not hang', (source, line) => {
  const isWanted = createLogFilter({ grep: { source, flags: '' } });
  const startedMs = performance.now();
  for (let round = 0; round < 20; round++) isWanted(line);
  // Alone, one of them takes from 20 s to longer than the universe has existed.
  expect(performance.now() - startedMs).toBeLessThan(3_000);
});
