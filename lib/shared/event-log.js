import { closeSync, fstatSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { nullIfMissing, tryTo } from './daemon/files.js';

/**
 * @typedef {{
 *   at: number,
 *   type: string,
 *   app?: string,
 *   namespace?: string,
 *   id?: number,
 *   slot?: number,
 *   generation?: number,
 *   instanceId?: string,
 *   pid?: number,
 *   by?: string | null,
 * } & Record<string, any>} LoggedEvent  Further fields depend on the type: docs/events.md.
 */

const NEWLINE = 0x0a;

/**
 * Skips incomplete and damaged lines.
 * @param {string} text
 * @returns {LoggedEvent[]}
 */
export function parseEvents(text) {
  return text.split('\n').flatMap((line) => parseEvent(line) ?? []);
}

/**
 * @param {string} line
 * @returns {LoggedEvent | null}
 */
function parseEvent(line) {
  const entry = line.startsWith('{') ? tryTo(() => JSON.parse(line), null) : null;
  return Number.isFinite(entry?.at) && typeof entry.type === 'string' ? entry : null;
}

/**
 * @param {string} path  Path of the newest segment.
 * @returns {string[]}  Existing segments, newest first.
 */
export function eventSegments(path) {
  const name = basename(path);
  const names = nullIfMissing(() => readdirSync(dirname(path))) ?? [];
  return names
    .map((entry) => ({ entry, number: entry === name ? 0 : segmentNumber(entry, name) }))
    .filter(({ number }) => number !== null)
    .sort((a, b) => Number(a.number) - Number(b.number))
    .map(({ entry }) => join(dirname(path), entry));
}

/**
 * @param {string} path
 * @param {number} number
 */
export function segmentPath(path, number) {
  return number === 0 ? path : `${path}.${number}`;
}

/**
 * @param {string} entry
 * @param {string} name
 */
function segmentNumber(entry, name) {
  const match = entry.startsWith(`${name}.`) ? /^\d+$/.exec(entry.slice(name.length + 1)) : null;
  return match ? Number(match[0]) : null;
}

/** @typedef {{ fd: number, ino: number }} Segment  The caller closes it. */

/**
 * Opens the newest segment first. If the log is rotated at the same time, this order can find a
 * segment twice, but cannot miss a segment.
 * @param {string} path
 * @returns {Segment[]}  Oldest first.
 */
export function openSegments(path) {
  /** @type {Segment[]} */
  const open = [];
  for (let number = 0, missing = 0; missing < 2; number++) {
    const fd = openIfThere(segmentPath(path, number));
    missing = fd === null ? missing + 1 : 0;
    if (fd === null) continue;
    const { ino } = fstatSync(fd);
    if (open.some((one) => one.ino === ino)) closeSync(fd);
    else open.unshift({ fd, ino });
  }
  return open;
}

/** @param {string} path */
function openIfThere(path) {
  return nullIfMissing(() => openSync(path, 'r'));
}

/**
 * @param {string} path
 * @returns {LoggedEvent[]}  Oldest first. Empty without a log.
 */
export function readEvents(path) {
  return openSegments(path).flatMap(({ fd }) => {
    try {
      return parseEvents(readFileSync(fd, 'utf8'));
    } finally {
      closeSync(fd);
    }
  });
}

/**
 * @param {string} path
 * @param {number} maxBytes  How much to read at the end of the log. Leaves out a cut first entry.
 * @returns {LoggedEvent[]}  Oldest first.
 */
export function readLastEvents(path, maxBytes) {
  /** @type {LoggedEvent[]} */
  let entries = [];
  let left = maxBytes;
  for (const segment of eventSegments(path)) {
    if (left <= 0) break;
    const bytes = readEnding(segment, left);
    entries = [...parseEvents(bytes.toString()), ...entries];
    left -= bytes.length;
  }
  return entries;
}

/**
 * @param {string} file
 * @param {number} maxBytes
 */
function readEnding(file, maxBytes) {
  const fd = openIfThere(file);
  if (fd === null) return Buffer.alloc(0);
  try {
    const { size } = fstatSync(fd);
    const bytes = Buffer.alloc(Math.min(size, maxBytes));
    const read = readSync(fd, bytes, 0, bytes.length, size - bytes.length);
    return bytes.subarray(bytes.length < size ? bytes.indexOf(NEWLINE) + 1 : 0, read);
  } finally {
    closeSync(fd);
  }
}
