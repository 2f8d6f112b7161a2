import { createPaint } from '../render/paint.js';

/** No colours, and yet to be told apart. */
const WITHOUT_COLOURS = ['bold', 'inverse', 'reset'];

/**
 * @param {import('../render/paint.js').ColourLevel} level
 * @returns {(style: string, text: string) => string}  Paints a text in a style of the screen: names with spaces between them, "bold red".
 */
export function createPalette(level) {
  const paint = createPaint(level === 0 ? 1 : level);
  /** @type {Map<string, import('../render/paint.js').Style[]>} */
  const known = new Map();
  const namesOf = (/** @type {string} */ style) => {
    const names = /** @type {import('../render/paint.js').Style[]} */ (style.split(' ').filter((name) => name !== '' && (level > 0 || WITHOUT_COLOURS.includes(name))));
    known.set(style, names);
    return names;
  };
  return (style, text) => (known.get(style) ?? namesOf(style)).reduce((painted, name) => paint(name, painted), text);
}
