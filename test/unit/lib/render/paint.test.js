import { expect, test } from 'vitest';
import { chooseLevel, createPaint } from '../../../../lib/render/paint.js';

test.each([
  ['the detected level', 2, {}, {}, 2],
  ['--no-color', 3, { color: false }, { FORCE_COLOR: '3' }, 0],
  ['NO_COLOR', 1, {}, { NO_COLOR: '1' }, 0],
  ['NO_COLOR with FORCE_COLOR', 3, {}, { NO_COLOR: '1', FORCE_COLOR: '3' }, 0],
  ['an empty NO_COLOR', 1, {}, { NO_COLOR: '' }, 1],
  ['--color on a pipe', 0, { color: true }, {}, 1],
  ['--color with NO_COLOR', 2, { color: true }, { NO_COLOR: '1' }, 2],
])('%s gives its level', (_, detected, options, env, expected) => {
  expect(chooseLevel(detected, { ...options, env })).toBe(expected);
});

test('paint() without colours does not change a text', () => {
  expect(createPaint(0)('red', 'x')).toBe('x');
  expect(createPaint(1)('red', 'x')).toBe('\u001b[31mx\u001b[39m');
  expect(createPaint(1)('red', '')).toBe('');
});
