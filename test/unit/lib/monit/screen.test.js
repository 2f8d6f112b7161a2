import { expect, test } from 'vitest';
import { createPalette, createScreen, difference, put, restyle } from '../../../../lib/monit/screen.js';
import { createRandom } from '../../../helpers/random.js';
import { createTinyTerminal } from '../../../helpers/tiny-terminal.js';

const SIZE = { columns: 20, rows: 4 };
const paint = createPalette(1);

const row = (screen, row = 0) => screen.texts.slice(row * screen.columns, (row + 1) * screen.columns).join('');

test('put() cuts a text at its width and at the edge, and returns its end', () => {
  const screen = createScreen(SIZE);
  expect(put(screen, { x: 2, y: 0, text: 'abcdef', width: 4 })).toBe(6);
  expect(row(screen).trimEnd()).toBe('  abcd');
  expect(put(screen, { x: 18, y: 1, text: 'xyz' })).toBe(20);
  expect(row(screen, 1)).toBe(`${' '.repeat(18)}xy`);
  expect(row(screen, 2).trim()).toBe('');
});

test('put() ignores rows outside of the screen', () => {
  const screen = createScreen(SIZE);
  put(screen, { x: 0, y: 4, text: 'below' });
  put(screen, { x: 30, y: 0, text: 'beside' });
  restyle(screen, { x: 0, y: 9, width: 5, style: 'red' });
  expect(screen).toEqual(createScreen(SIZE));
});

test('a wide character takes two cells, and is left out if only one is free', () => {
  const screen = createScreen({ columns: 3, rows: 1 });
  expect(put(screen, { x: 0, y: 0, text: '日本' })).toBe(2);
  expect(screen.texts).toEqual(['日', '', ' ']);
});

test('control characters, escape codes and text direction of a name have no effect', () => {
  const screen = createScreen({ columns: 12, rows: 1 });
  put(screen, { x: 0, y: 0, text: 'a\u001b[2Jb\n\u202ec' });
  expect(row(screen)).toBe('a?[2Jb??c   ');
});

test('an accent shares the cell of its letter, and joiners and variants are left out', () => {
  const screen = createScreen({ columns: 6, rows: 1 });
  put(screen, { x: 0, y: 0, text: 'e\u0301x\u200d\ufe0fy' });
  expect(screen.texts).toEqual(['e\u0301', 'x', 'y', ' ', ' ', ' ']);
});

test('an unchanged screen writes nothing, and one changed cell a few bytes', () => {
  const before = createScreen({ columns: 200, rows: 50 });
  put(before, { x: 0, y: 3, text: 'x'.repeat(200), style: 'red' });
  const after = { ...before, texts: [...before.texts], styles: [...before.styles] };
  expect(difference(before, after, paint)).toBe('');
  put(after, { x: 120, y: 30, text: '7' });
  expect(difference(before, after, paint)).toBe('\u001b[31;121H7');
});

test('a screen is drawn in full if the one before is unknown or has another size', () => {
  const after = createScreen({ columns: 5, rows: 2 });
  put(after, { x: 1, y: 1, text: 'a' });
  const whole = '\u001b[0m\u001b[2J\u001b[0m\u001b[2;2Ha';
  expect(difference(null, after, paint)).toBe(whole);
  expect(difference(createScreen({ columns: 6, rows: 2 }), after, paint)).toBe(whole);
});

test('a palette without colours has only bold and inverse', () => {
  const bare = createPalette(0);
  expect(['red', 'bold red', 'inverse', 'grey', ''].map((style) => bare(style, 'x'))).toEqual([
    'x',
    '\u001b[1mx\u001b[22m',
    '\u001b[7mx\u001b[27m',
    'x',
    'x',
  ]);
});

const CODES = { '': '0', red: '31', 'bold red': '1;31', inverse: '7' };

test('the difference of any two screens turns one into the other', () => {
  const random = createRandom(7);
  const pieces = ['a', 'bc def', '日本語', '█▁▂', 'e\u0301', '     ', 'x'.repeat(30), '─'];
  const terminal = createTinyTerminal(SIZE);
  let shown = null;
  for (let round = 0; round < 400; round += 1) {
    const next =
      shown && round % 9 !== 0 ? { ...shown, texts: [...shown.texts], styles: [...shown.styles] } : createScreen(SIZE);
    // Clears whole rows, so that no half of a wide character is left.
    for (const y of [0, 1, 2, 3].filter(() => random() < 0.6)) {
      put(next, { x: 0, y, text: ' '.repeat(20) });
      let x = Math.floor(random() * 6);
      while (x < 20 && random() < 0.8)
        x =
          put(next, {
            x,
            y,
            text: pieces[Math.floor(random() * pieces.length)],
            style: ['', 'red', 'bold red', 'inverse'][Math.floor(random() * 4)],
          }) + Math.floor(random() * 3);
    }
    terminal.take(difference(shown, next, paint));
    shown = next;
    expect(terminal.lines()).toEqual([0, 1, 2, 3].map((y) => row(next, y)));
    expect(terminal.styles().flat()).toEqual(next.styles.map((style) => CODES[style]));
  }
});
