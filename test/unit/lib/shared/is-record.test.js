import { expect, test } from 'vitest';
import { isRecord } from '../../../../lib/shared/is-record.js';

test.each([
  [{}, true],
  [{ a: 1 }, true],
  [Object.create(null), true],
  [[], false],
  [null, false],
  [undefined, false],
  ['text', false],
  [() => {}, false],
])('isRecord(%o) is %s', (value, expected) => {
  expect(isRecord(value)).toBe(expected);
});
