import { Chalk, supportsColor, supportsColorStderr } from 'chalk';

/**
 * @typedef {'bold' | 'dim' | 'inverse' | 'reset'
 *   | 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan' | 'grey'} Style  Names of chalk.
 */
/** @typedef {(style: Style, text: string) => string} Paint */

/**
 * As in chalk. 0: no colours, 1: 16 colours, 2: 256 colours, 3: all colours.
 * @typedef {0 | 1 | 2 | 3} ColourLevel
 */

/** @typedef {{ stdout: ColourLevel, stderr: ColourLevel }} ColourLevels */

/**
 * chalk looks at the terminals, TERM, COLORTERM, FORCE_COLOR and --color.
 * @returns {ColourLevels}
 */
export function detectLevels() {
  return {
    stdout: supportsColor ? supportsColor.level : 0,
    stderr: supportsColorStderr ? supportsColorStderr.level : 0,
  };
}

/**
 * An option wins over NO_COLOR (https://no-color.org). NO_COLOR wins over FORCE_COLOR. chalk does
 * not know NO_COLOR, and in chalk FORCE_COLOR wins over --no-color.
 * @param {ColourLevel} detected
 * @param {object} o
 * @param {boolean} [o.color]  True with --color, false with --no-color.
 * @param {Record<string, string | undefined>} o.env
 */
export function chooseLevel(detected, { color, env }) {
  if (color === false || (color === undefined && env.NO_COLOR)) return 0;
  return color === true && detected === 0 ? 1 : detected;
}

/**
 * @param {ColourLevel} level
 * @returns {Paint}
 */
export function createPaint(level) {
  const chalk = new Chalk({ level });
  return (style, text) => chalk[style](text);
}
