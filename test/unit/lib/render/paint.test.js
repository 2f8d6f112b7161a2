import { expect, test } from 'vitest';
import { createPaint, wantsColour } from '../../../../lib/render/paint.cjs';

test.each([
  ['a terminal', { isTTY: true }, {}, true],
  ['a pipe', { isTTY: false }, {}, false],
  ['a dumb terminal', { isTTY: true }, { TERM: 'dumb' }, false],
  ['--no-color', { isTTY: true, isAllowed: false }, { FORCE_COLOR: '1' }, false],
  ['NO_COLOR', { isTTY: true }, { NO_COLOR: '1' }, false],
  ['NO_COLOR with FORCE_COLOR', { isTTY: true }, { NO_COLOR: '1', FORCE_COLOR: '1' }, false],
  ['an empty NO_COLOR', { isTTY: true }, { NO_COLOR: '' }, true],
  ['a pipe with FORCE_COLOR', { isTTY: false }, { FORCE_COLOR: '1' }, true],
  ['a terminal with FORCE_COLOR=0', { isTTY: true }, { FORCE_COLOR: '0' }, false],
])('%s', (_, how, env, expected) => {
  expect(wantsColour({ isAllowed: true, ...how, env })).toBe(expected);
});

test('without colour a text stays as it is', () => {
  expect(createPaint(false)('red', 'x')).toBe('x');
  expect(createPaint(true)('red', 'x')).toBe('\u001b[31mx\u001b[39m');
  expect(createPaint(true)('red', '')).toBe('');
});
