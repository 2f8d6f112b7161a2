import { describe, expect, test } from 'vitest';
import { createLineReader, createLineSplitter, createWholeLines } from '../../../../../lib/shared/daemon/lines.js';

test.each(['ö', '€', '😀', 'x'])('a line that is shown in parts is never cut inside %s', (character) => {
  const splitter = createLineSplitter();
  const text = `a${character.repeat(100_000)}`;
  const bytes = Buffer.from(`${text}\n`);
  const parts = [];
  for (let from = 0; from < bytes.length; from += 4096) parts.push(...splitter.push(bytes.subarray(from, from + 4096)));
  expect(parts.length).toBeGreaterThan(1);
  expect(parts.join('') === text).toBe(true);
});

test('bytes that are not UTF-8 are shown', () => {
  const splitter = createLineSplitter();
  const parts = [...splitter.push(Buffer.alloc(70_000, 0x80)), ...splitter.push(Buffer.from('end\n'))];
  expect(parts.join('')).toBe(`${'\ufffd'.repeat(70_000)}end`);
});

test('the cut of a long line does not depend on its chunks', () => {
  const bytes = Buffer.from(`short\n${'€'.repeat(60_000)}\r\nend\n`);
  const cutBy = (size) => {
    const splitter = createLineSplitter();
    const parts = [];
    for (let from = 0; from < bytes.length; from += size)
      parts.push(...splitter.push(bytes.subarray(from, from + size)));
    return parts;
  };
  for (const size of [1_000, 4_096, 65_536, 65_537]) expect(cutBy(size)).toEqual(cutBy(bytes.length));
  expect(cutBy(bytes.length).every((part) => Buffer.byteLength(part) <= 64 * 1024)).toBe(true);
});

test('unwanted lines are skipped, and the next one is whole', () => {
  const splitter = createLineSplitter();
  splitter.skip(Buffer.from('one\ntwo\nth'));
  splitter.skip(Buffer.from('re'));
  expect(splitter.push(Buffer.from('e\nfour\n'))).toEqual(['three', 'four']);
});

function collect(maxBytes = 1_000) {
  const lines = [];
  let refused = 0;
  const read = createLineReader({ maxBytes, onLine: (line) => lines.push(line), onTooLong: () => (refused += 1) });
  return { lines, read, refused: () => refused };
}

describe('the line reader', () => {
  const text = `${JSON.stringify({ a: 'ü€😀' })}\n\n${JSON.stringify({ b: 1 })}\r\n{"c":2}\n`;
  const bytes = Buffer.from(text);
  const expected = ['{"a":"ü€😀"}', '{"b":1}', '{"c":2}'];

  test('the line reader yields the same lines wherever the stream is cut', () => {
    for (let cut = 0; cut <= bytes.length; cut++) {
      const { lines, read } = collect();
      read(bytes.subarray(0, cut));
      read(bytes.subarray(cut));
      expect(lines, `cut at byte ${cut}`).toEqual(expected);
    }
  });

  test('the line reader yields the same lines if they arrive byte by byte', () => {
    const { lines, read } = collect();
    for (const byte of bytes) read(Buffer.of(byte));
    expect(lines).toEqual(expected);
  });

  test('the line reader copies bytes, so the caller can reuse its buffer', () => {
    const { lines, read } = collect();
    const shared = Buffer.from('{"a":');
    read(shared);
    shared.write('xxxxx');
    read(Buffer.from('1}\n'));
    expect(lines).toEqual(['{"a":1}']);
  });

  test('the line reader accepts a line as long as the limit', () => {
    const { lines, read, refused } = collect(10);
    read(Buffer.from('0123456789\n'));
    expect([lines, refused()]).toEqual([['0123456789'], 0]);
  });

  test.each([
    ['in one piece', ['0123456789a\n{}\n']],
    ['in several', ['01234', '56789', 'a', '\n{}\n']],
    ['without an end', ['0123456789', 'abc']],
  ])('the line reader fails once at a longer line that arrives %s, and ignores everything after it', (_, pieces) => {
    const { lines, read, refused } = collect(10);
    for (const piece of pieces) read(Buffer.from(piece));
    expect([lines, refused()]).toEqual([[], 1]);
  });
});

const text = (pieces) => pieces.map(({ bytes }) => bytes.toString()).join('');

test('a part of a line waits for the rest', () => {
  const lines = createWholeLines();
  expect(text(lines.push(Buffer.from('one\ntw')))).toBe('one\n');
  expect(text(lines.push(Buffer.from('o')))).toBe('');
  expect(text(lines.push(Buffer.from('\nthree\n')))).toBe('two\nthree\n');
  expect(text(lines.end())).toBe('');
});

test('the last line gets a missing line end', () => {
  const lines = createWholeLines();
  lines.push(Buffer.from('no end'));
  expect(text(lines.end())).toBe('no end\n');
  expect(text(lines.end())).toBe('');
});

test('a held line does not change with the buffer it came in', () => {
  const lines = createWholeLines();
  const chunk = Buffer.from('abc');
  lines.push(chunk);
  chunk.fill('x');
  expect(text(lines.push(Buffer.from('\n')))).toBe('abc\n');
});
