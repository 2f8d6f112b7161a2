const CODES = /** @type {Record<string, number>} */ ({ bold: 1, dim: 2, inverse: 7, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36, grey: 90 });

/** No colours, and yet to be told apart. */
const WITHOUT_COLOURS = ['bold', 'inverse'];

/**
 * @param {boolean} hasColour
 * @returns {(style: string) => string}  The escape code that sets a style and nothing of the one before.
 */
export function createPalette(hasColour) {
  /** @type {Map<string, string>} */
  const known = new Map();
  return (style) => {
    let code = known.get(style);
    if (code === undefined) {
      const names = style.split(' ').filter((name) => name in CODES && (hasColour || WITHOUT_COLOURS.includes(name)));
      code = `\u001b[${['', ...names.map((name) => CODES[name])].join(';').replace(/^;/, '0;')}m`;
      known.set(style, code);
    }
    return code;
  };
}
