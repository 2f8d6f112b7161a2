import { expect, test } from 'vitest';
import { costOf } from '../../../../../lib/shared/logs/safe-pattern.js';

test.each(
  /** @type {[string, number, boolean][]} */ ([
    ['error', 0, false],
    ['a.*b', 1, false],
    ['a.*b.+?c{2,}', 3, false],
    ['[+*]\\+', 0, false],
    ['a{3}b?', 0, false],
    ['a{1,5}', 1, false],
    ['(?:ab|cd)', 0, false],
    ['(?<n>a)(?=b)(?!c)(?<=d)', 0, false],
    ['(\\d+\\.){3}\\d+', 4, false],
    ['(ab)*', 1, false],
    ['(a|b)*', Infinity, false],
    ['a?a?a?a?a?a?a?', Infinity, false],
    ['(a)\\1', Infinity, false],
    ['(?<x>a)\\k<x>', Infinity, false],
    ['(a+)+', 2, true],
    ['((a*)b)*', 2, true],
    ['(a+){50}', 1, true],
    ['{"a":[1,2]}', 0, false],
    ['a{,5}', 0, false],
  ]),
)('%s', (source, degree, isNested) => {
  const cost = costOf(source);
  expect(cost.isNested).toBe(isNested);
  if (!isNested) expect(cost.degree).toBe(degree);
});
