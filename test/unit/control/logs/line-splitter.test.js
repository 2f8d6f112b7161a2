import { expect, test } from 'vitest';
import { createLineSplitter } from '../../../../daemon/control/logs/line-splitter.js';

test.each(['ö', '€', '😀', 'x'])('a line that is shown in parts is not cut inside %s', (character) => {
  const splitter = createLineSplitter();
  const text = `a${character.repeat(100_000)}`;
  const bytes = Buffer.from(`${text}\n`);
  const parts = [];
  for (let from = 0; from < bytes.length; from += 4096) parts.push(...splitter.push(bytes.subarray(from, from + 4096)));
  expect(parts.length).toBeGreaterThan(1);
  expect(parts.join('') === text).toBe(true);
});

test('what is no UTF-8 is shown all the same', () => {
  const splitter = createLineSplitter();
  expect(splitter.push(Buffer.alloc(70_000, 0x80))[0]).toHaveLength(70_000);
  expect(splitter.push(Buffer.from('end\n'))).toEqual(['end']);
});
