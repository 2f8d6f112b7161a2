import { expect, test, vi } from 'vitest';
import { estimateCost, createMatcher } from '../../../../../lib/shared/logs/safe-pattern.js';

test.each([
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
])('%s', (source, degree, isNested) => {
  const cost = estimateCost(source);
  expect(cost.isNested).toBe(isNested);
  if (!isNested) expect(cost.degree).toBe(degree);
});

test('a matcher stops a pattern for its own CPU time, not because the machine was busy', () => {
  const usage = (ms) => ({ user: ms * 1_000, system: 0 });
  const measured = vi.spyOn(process, 'cpuUsage');
  // V8 stops the first match three times after 50 ms. Only the third time, the match has used
  // enough CPU time, so the matcher gives up.
  for (const ms of [0, 1, 1, 30]) measured.mockReturnValueOnce(usage(ms));
  measured.mockReturnValue(usage(30));
  expect(createMatcher({ source: 'a.*b.*c.*d.*e', flags: '' })('ab'.repeat(4_096))).toBe(false);
  expect(measured.mock.calls.length).toBeGreaterThan(4);
  measured.mockRestore();
});
