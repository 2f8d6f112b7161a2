import { createPaint } from '../render/paint.js';

/** No colours, and yet to be told apart. */
const WITHOUT_COLOURS = ['bold', 'inverse', 'reset'];

/**
 * @param {import('../render/paint.js').ColourLevel} level
 * @returns {(style: string, text: string) => string}  Paints a text in a style of the screen: names with spaces between them, "bold red".
 */
export function createPalette(level) {
  const paint = createPaint(level === 0 ? 1 : level);
  const isShown = (/** @type {string} */ name) => name !== '' && (level > 0 || WITHOUT_COLOURS.includes(name));
  return (style, text) => style.split(' ').filter(isShown).reduce((painted, name) => paint(/** @type {import('../render/paint.js').Style} */ (name), painted), text);
}
