import { beforeEach, describe, expect, test } from 'vitest';
import { createErrorCounts } from '../../../../daemon/control/metrics/error-lines.js';

let nowMono;
let counts;

beforeEach(() => {
  nowMono = 5_000;
  counts = createErrorCounts(() => nowMono);
  counts.keep(['api']);
});

const take = (text, app = 'api') => counts.take(app, Buffer.from(text));
const read = (app = 'api') => counts.of(app);
const seconds = (number) => (nowMono += number * 1_000);
const minutes = (number) => seconds(60 * number);

describe('the rate', () => {
  test('an app that writes nothing has no error lines', () => {
    expect(read()).toEqual({ perS: 0, usualPerS: null, line: null, share: null, total: 0 });
    expect(read('other')).toBe(null);
    minutes(10);
    expect(read()).toEqual({ perS: 0, usualPerS: 0, line: null, share: null, total: 0 });
    take('x\n'.repeat(20));
    expect(read()).toMatchObject({ perS: 2, usualPerS: 0, line: 'x', total: 20 });
  });

  test('the rate is the average of the last ten seconds', () => {
    for (let second = 0; second < 10; second += 1) {
      take('one\ntwo\n');
      if (second < 9) seconds(1);
    }
    expect(read()).toMatchObject({ perS: 2, total: 20 });
    seconds(5);
    expect(read().perS).toBe(1);
    seconds(5);
    expect(read()).toMatchObject({ perS: 0, total: 20 });
  });

  test('a line counts when it ends', () => {
    take('one\ntw');
    expect(read().total).toBe(1);
    take('o\n');
    expect(read().total).toBe(2);
  });

  test('the number of lines in a large chunk is estimated from its beginning', () => {
    counts.take('api', Buffer.from(`${'x'.repeat(63)}\n`.repeat(1_024)));
    expect(read().total).toBe(1_024);
    const uneven = `${'x'.repeat(24)}\n${'y'.repeat(99)}\n`.repeat(500);
    counts.take('api', Buffer.from(uneven));
    expect(Math.abs(read().total - 1_024 - 1_000)).toBeLessThan(50);
  });

  test('the usual rate is the median of the minutes, and is not known in the first ten', () => {
    for (let minute = 0; minute < 9; minute += 1) {
      take('x\n'.repeat(30));
      minutes(1);
    }
    expect(read().usualPerS).toBe(null);
    take('x\n'.repeat(3_000));
    minutes(1);
    expect(read().usualPerS).toBe(0.5);
    minutes(8);
    expect(read().usualPerS).toBe(0.5);
    minutes(3);
    expect(read().usualPerS).toBe(0);
  });

  test('only the last hour makes the usual rate', () => {
    for (let minute = 0; minute < 60; minute += 1) {
      take('x\n'.repeat(60));
      minutes(1);
    }
    expect(read().usualPerS).toBe(1);
    for (let minute = 0; minute < 31; minute += 1) {
      take('x\n'.repeat(120));
      minutes(1);
    }
    expect(read().usualPerS).toBe(2);
    minutes(1_000_000);
    expect(read()).toMatchObject({ perS: 0, usualPerS: 0 });
  });
});

describe('the most frequent line', () => {
  test.each([
    ['timeout after 1500 ms', 'timeout after # ms'],
    ['order 550e8400-e29b-41d4-a716-446655440000 failed', 'order # failed'],
    ['commit 9fceb02d0ae598e95dc970b74767f19372d61af8', 'commit #'],
    ['at 0x7ffe in a facade of a decade', 'at # in a facade of a decade'],
    ['2026-01-02T03:04:05.678Z 10.0.0.1:80 refused', '#-#-#T#:#:#.#Z #.#.#.#:# refused'],
    ['\u001b[31mError: red\u001b[39m', 'Error: red'],
    ['windows\r', 'windows'],
    ['é'.repeat(300), 'é'.repeat(200)],
  ])('numbers and ids are blanked: %s', (line, blanked) => {
    take(`${line}\n`);
    expect(read()).toMatchObject({ line: blanked, share: 1 });
  });

  test('lines that differ only in their numbers are the same line', () => {
    for (let at = 0; at < 9; at += 1)
      take(`Error: timeout of ${at} ms\n    at f (a.js:${at}:1)\n    at g (b.js:1:1)\n`);
    take('warning\n\n');
    expect(read()).toMatchObject({ line: 'Error: timeout of # ms', share: 0.9 });
  });

  test('a line is forgotten after a minute without it', () => {
    take('old\n'.repeat(20));
    seconds(30);
    take('new\n');
    expect(read().line).toBe('old');
    seconds(30);
    expect(read()).toMatchObject({ line: 'new', share: 1 });
    seconds(60);
    expect(read()).toMatchObject({ line: null, share: null });
    take('late\n');
    seconds(60);
    expect(read().line).toBe(null);
  });

  test('lines that all differ take no more room, and none of them has more than a 16th', () => {
    for (let at = 0; at < 1_000; at += 1) {
      take(`line ${[...String(at)].map((digit) => 'abcdefghij'[Number(digit)]).join('')}\n`);
      if (at % 50 === 49) seconds(1);
    }
    // Each new text takes the place and the count of another one. Otherwise the share would be 0.
    expect(read().share).toBe(0.06);
  });

  test('a frequent line is found among any number of others', () => {
    for (let second = 0; second < 20; second += 1) {
      for (let at = 0; at < 20; at += 1) take(`${'abcdefghijklmnopqrst'[at]}-${'x'.repeat(second + 1)}\nfrequent\n`);
      seconds(1);
    }
    const { line, share } = read();
    expect(line).toBe('frequent');
    expect(share).toBeGreaterThan(0.45);
    expect(share).toBeLessThan(0.6);
  });

  test('only the first 50 lines of a second are looked at, and all are counted', () => {
    take('first\n'.repeat(50));
    take('second\n'.repeat(200));
    expect(read()).toMatchObject({ line: 'first', share: 1, total: 250 });
    seconds(1);
    take('second\n'.repeat(200));
    expect(read()).toMatchObject({ share: 0.5, total: 450 });
  });
});

test('apps are counted apart, and only apps that exist are kept', () => {
  take('a\n');
  take('b\n', 'other');
  expect([read().line, read('other').line]).toEqual(['a', 'b']);
  counts.keep(['other']);
  expect([read(), read('other').total]).toEqual([null, 1]);
});
