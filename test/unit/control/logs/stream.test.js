import { expect, test } from 'vitest';
import { createRateLimit } from '../../../../daemon/control/logs/stream.js';
import { createRandom } from '../../../helpers/random.js';

function admitAll(limit, chunks) {
  const passed = [];
  const refused = [];
  for (const chunk of chunks) {
    const parts = limit.admit(Buffer.from(chunk));
    passed.push(parts.passed);
    refused.push(parts.refused);
  }
  return { passed: Buffer.concat(passed).toString(), refused: Buffer.concat(refused).toString() };
}

test('lines within the limit pass unchanged', () => {
  expect(
    admitAll(
      createRateLimit(10, () => 0),
      ['one\n', 'two', '\n'],
    ),
  ).toEqual({ passed: 'one\ntwo\n', refused: '' });
});

test('lines above the limit are refused whole, even if they arrive in parts', () => {
  expect(
    admitAll(
      createRateLimit(10, () => 0),
      ['one\ntwo\nthree\nfo', 'ur\n', 'x\n'],
    ),
  ).toEqual({ passed: 'one\ntwo\nx\n', refused: 'three\nfour\n' });
});

test('a line without an end is cut, and the next one starts a line', () => {
  const { passed, refused } = admitAll(
    createRateLimit(10, () => 0),
    [...Array.from({ length: 100 }, () => 'xxxxx'), 'end\nno\n'],
  );
  expect([passed, refused]).toEqual([`${'x'.repeat(25)}\n`, `${'x'.repeat(475)}endno\n`]);
  let nowMono = 0;
  const limit = createRateLimit(10, () => nowMono);
  expect(admitAll(limit, [...Array.from({ length: 100 }, () => 'xxxxx')]).passed).toBe('x'.repeat(25));
  nowMono = 60_000;
  expect(admitAll(limit, ['x', '\nyes\n']).passed).toBe('\nyes\n');
});

test('the limit refills with time, up to one second of it', () => {
  let nowMono = 0;
  const limit = createRateLimit(8, () => nowMono);
  expect(admitAll(limit, ['one\ntwo\nno\n']).passed).toBe('one\ntwo\n');
  nowMono = 500;
  expect(admitAll(limit, ['yes\nno\n']).passed).toBe('yes\n');
  nowMono = 60_000;
  expect(admitAll(limit, ['one\ntwo\nno\n']).passed).toBe('one\ntwo\n');
});

test('each line passes or is refused as a whole, in order, for any chunks', () => {
  const random = createRandom(7);
  for (let round = 0; round < 200; round++) {
    const lines = Array.from({ length: 40 }, (_, at) => `${at}:${'x'.repeat(Math.floor(random() * 30))}\n`);
    const bytes = lines.join('');
    const chunks = [];
    for (let from = 0; from < bytes.length;) {
      const size = 1 + Math.floor(random() * 60);
      chunks.push(bytes.slice(from, from + size));
      from += size;
    }
    let nowMono = 0;
    const { passed, refused } = admitAll(
      createRateLimit(100, () => (nowMono += 20)),
      chunks,
    );
    const linesOf = (text) => text.split('\n').slice(0, -1);
    const numbers = [...linesOf(passed), ...linesOf(refused)]
      .map((line) => `${line}\n`)
      .sort((a, b) => parseInt(a) - parseInt(b));
    expect(numbers).toEqual(lines);
    expect(linesOf(passed).map((line) => parseInt(line))).toEqual(
      linesOf(passed)
        .map((line) => parseInt(line))
        .sort((a, b) => a - b),
    );
  }
});
