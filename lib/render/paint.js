import { Chalk, supportsColor, supportsColorStderr } from 'chalk';

/**
 * @typedef {'bold' | 'dim' | 'inverse' | 'reset'
 *   | 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan' | 'grey'} Style  Names of chalk.
 */
/** @typedef {(style: Style, text: string) => string} Paint */

/**
 * Of chalk: 0 no colours, 1 sixteen, 2 two hundred and fifty-six, 3 all.
 * @typedef {0 | 1 | 2 | 3} ColourLevel
 */

/** @typedef {{ stdout: ColourLevel, stderr: ColourLevel }} ColourLevels */

/**
 * The levels that chalk has detected for this process, from its terminals, TERM, COLORTERM,
 * FORCE_COLOR and --color.
 * @returns {ColourLevels}
 */
export function detectLevels() {
  return {
    stdout: supportsColor ? supportsColor.level : 0,
    stderr: supportsColorStderr ? supportsColorStderr.level : 0,
  };
}

/**
 * chalk does not know NO_COLOR (https://no-color.org), and lets FORCE_COLOR win over --no-color.
 * Here what is typed wins over both variables, and NO_COLOR over FORCE_COLOR.
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
