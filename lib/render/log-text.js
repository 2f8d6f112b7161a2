import { escapeRegExp } from '../shared/escape-reg-exp.js';

/** @import { Grep } from '../shared/logs/safe-pattern.js' */
/** @import { Paint } from './paint.js' */

const COLOURS = /(\u001b\[[\d;:]*m)/;
const SEQUENCES = /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\|$)|\u001b\[[0-?]*[ -/]*[@-~]|\u001b[ -/]*[0-~]?/;
const CHARACTERS = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

/**
 * The only group of this pattern matches colours. The rest of the pattern matches other escape
 * sequences and control characters.
 */
const CONTROLS = new RegExp(`${COLOURS.source}|${SEQUENCES.source}|${CHARACTERS.source}`, 'g');

const EVERY_COLOUR = new RegExp(COLOURS, 'g');

/** Longer lines are not marked, because the pattern of a user could take seconds. */
const MARKED_MAX_CHARS = 1_000;

/**
 * Keeps colours and tabs. Removes other escape sequences and a carriage return at the end. Replaces
 * other control characters by "?".
 * @param {string} line
 */
export function stripControls(line) {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line;
  return text.replace(CONTROLS, (control, colour) => colour ?? (control[0] === '\u001b' ? '' : '?'));
}

/** @param {string} line */
export function plainText(line) {
  return stripControls(line).replace(EVERY_COLOUR, '');
}

/** @param {string} text  Of stripControls(). */
export function hasColours(text) {
  return COLOURS.test(text);
}

/**
 * @param {{ highlight?: string | true, grep?: string }} options
 * @param {(text: string) => Grep} readGrep
 * @returns {RegExp | null}  Matches the text of --highlight. If --highlight has no text, matches
 *   the pattern of --grep. Null: there is nothing to mark.
 */
export function buildMarker({ highlight, grep }, readGrep) {
  if (typeof highlight === 'string' && highlight !== '') return new RegExp(escapeRegExp(highlight), 'g');
  if (highlight === undefined || grep === undefined) return null;
  const { source, flags } = readGrep(grep);
  return new RegExp(source, `${flags}g`);
}

/**
 * @param {string} line
 * @param {RegExp} marker  Global.
 * @param {Paint} paint
 * @returns {string}  The line with marks. Colour sequences and long lines are not marked.
 */
export function mark(line, marker, paint) {
  if (line.length > MARKED_MAX_CHARS) return line;
  return line
    .split(COLOURS)
    .map((part, at) => (at % 2 === 1 ? part : part.replace(marker, (found) => paint('inverse', found))))
    .join('');
}
