/** @import { Position } from '../write/open-file.js' */

/** Where a line of a log file begins or ends. @typedef {{path: string} & Position} Mark */

/** How far a client has got, by path: what comes after it is new to it. @typedef {Record<string, Position>} Cursor */

/** Under this name a cursor tells when it was made, for files that were not there yet. */
export const MADE_AT = '';
