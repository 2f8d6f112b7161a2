import { expect, test } from 'vitest';
import { createLineSplitter } from '../../../../daemon/control/logs/lines.js';

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
