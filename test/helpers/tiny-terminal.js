import { textWidth } from '../../lib/render/text.js';

/**
 * Throws an error at an escape code that monit does not use.
 * @param {{ columns: number, rows: number }} size
 */
export function createTinyTerminal({ columns, rows }) {
  let cells = blank(columns, rows);
  let [x, y] = [0, 0];
  let style = new Set();
  const modes = new Set();
  let bytes = 0;

  /** @param {string} code */
  function obey(code) {
    const [, mark, numbers, verb] = /** @type {RegExpExecArray} */ (/^\u001b\[(\??)([\d;]*)([A-Za-z])$/.exec(code));
    if (mark === '?') return verb === 'h' ? modes.add(numbers) : modes.delete(numbers);
    if (verb === 'H') return ([y, x] = numbers.split(';').map((number) => Number(number) - 1));
    if (verb === 'm') return (style = styled(style, Number(numbers)));
    if (code === '\u001b[2J') return (cells = blank(columns, rows));
    throw new Error(`The terminal does not know ${JSON.stringify(code)}`);
  }

  /** @param {string} character */
  function type(character) {
    if (character < ' ') throw new Error(`A control character was written: ${JSON.stringify(character)}`);
    const width = textWidth(character);
    if (width === 0) return void (cells[y][x - 1].text += character);
    if (x + width > columns || y >= rows) throw new Error(`"${character}" is written outside, at ${x},${y}`);
    cells[y][x] = { text: character, style: nameOf(style) };
    if (width === 2) cells[y][x + 1] = { text: '', style: nameOf(style) };
    x += width;
  }

  return {
    /** @param {string} text */
    take(text) {
      bytes += Buffer.byteLength(text);
      for (const [piece] of text.matchAll(/\u001b\[\??[\d;]*[A-Za-z]|[^]/gu)) {
        if (piece[0] === '\u001b') obey(piece);
        else type(piece);
      }
    },
    lines: () => cells.map((line) => line.map(({ text }) => text).join('')),
    text: () =>
      cells
        .map((line) =>
          line
            .map(({ text }) => text)
            .join('')
            .trimEnd(),
        )
        .join('\n'),
    styles: () => cells.map((line) => line.map((cell) => cell.style)),
    has: (/** @type {string} */ mode) => modes.has(mode),
    bytes: () => bytes,
    /** @param {{ columns: number, rows: number }} size */
    resize(size) {
      ({ columns, rows } = size);
      cells = blank(columns, rows);
    },
  };
}

/**
 * The attributes that a code ends: 0 ends all, 22 bold and dim, 27 inverse, 39 the colour.
 * @type {Record<number, number[]>}
 */
const ENDS = { 0: [1, 2, 7, 31, 32, 33, 34, 35, 36, 90], 22: [1, 2], 27: [7], 39: [31, 32, 33, 34, 35, 36, 90] };

/**
 * @param {Set<number>} style
 * @param {number} number
 */
function styled(style, number) {
  if (ENDS[number]) return new Set([...style].filter((one) => !ENDS[number].includes(one)));
  if (!ENDS[0].includes(number)) throw new Error(`The terminal does not know the style ${number}`);
  return new Set([...style, number]);
}

/** @param {Set<number>} style */
function nameOf(style) {
  return [...style].sort((a, b) => a - b).join(';') || '0';
}

/**
 * @param {number} columns
 * @param {number} rows
 */
function blank(columns, rows) {
  return Array.from({ length: rows }, () => Array.from({ length: columns }, () => ({ text: ' ', style: '0' })));
}
