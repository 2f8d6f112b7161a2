import { expect, test } from 'vitest';
import { chooseShape, createWholeLines } from '../../../../lib/run/output.js';

const text = (bytes) => bytes.toString('utf8');

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

test('a line that is too long is written in parts of whole characters', () => {
  const lines = createWholeLines();
  const bytes = Buffer.from(`${'ü'.repeat(10_000_000)}\n`);
  const parts = [];
  for (let from = 0; from < bytes.length; from += 65_535) parts.push(lines.push(bytes.subarray(from, from + 65_535)));
  expect(Buffer.concat(parts).equals(bytes)).toBe(true);
  expect(parts.filter((part) => part.length > 0).length).toBeGreaterThan(1);
  for (const part of parts) expect(part.toString('utf8')).not.toContain('\ufffd');
});

test('a line of a megabyte stays whole, and a record of an unfinished line is marked', () => {
  const lines = createWholeLines();
  const long = Buffer.from(`${'x'.repeat(1_000_000)}\n`);
  expect(
    [lines.push(long.subarray(0, 500_000)), lines.push(long.subarray(500_000))].map(({ length }) => length),
  ).toEqual([0, long.length]);
  const head = { instanceId: 'i', id: 1, name: 'api', stream: 'out', atMs: 0 };
  const records = text(chooseShape({ json: true })(head, Buffer.from('one\r\ntwo\nthr')));
  expect(
    records
      .trimEnd()
      .split('\n')
      .map((record) => JSON.parse(record))
      .map(({ message, part }) => [message, part]),
  ).toEqual([
    ['one', undefined],
    ['two', undefined],
    ['thr', true],
  ]);
});

test('bytes that are not text are unchanged', () => {
  const lines = createWholeLines();
  const bytes = Buffer.concat([Buffer.alloc(70_000, 0x80), Buffer.from('\n')]);
  expect(Buffer.concat([lines.push(bytes.subarray(0, 66_000)), lines.push(bytes.subarray(66_000))]).equals(bytes)).toBe(
    true,
  );
});
