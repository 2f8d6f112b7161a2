import { formatDuration } from '../shared/units.js';
import { oneLine } from './text.cjs';

/** @typedef {import('../commands/stack.js').Stack} Stack */

/** A worker that does less is idle, whatever was seen. */
const BUSY_MIN = 0.02;

/**
 * What a worker runs: a sentence, and its frames as V8 writes them.
 * @param {Stack} data
 * @returns {string}
 */
export function renderStack({ slot: { id, name, pid }, isHeldUp, busy, durationMs, frames, resources }) {
  const who = `"${oneLine(name)}" (id ${id}, pid ${pid})`;
  const lines = frames.map(frameLine);
  if (isHeldUp) return text([`${who} does not come back to its event loop:`, ...lines]);
  const share = `${Math.round((busy ?? 0) * 100)}% of the last ${formatDuration(durationMs)}`;
  if ((busy ?? 0) < BUSY_MIN) return text([`${who} runs no JavaScript now: it is idle, and waits for events.`, ...waitsFor(resources)]);
  if (lines.length === 0) return text([`${who} was busy for ${share}, in native code.`, ...waitsFor(resources)]);
  return text([`${who} was busy for ${share}, most often here (its event loop turns):`, ...lines]);
}

/** @param {Stack['frames'][number]} frame */
function frameLine({ name, file, line, column }) {
  const place = `${oneLine(file) || '<anonymous>'}:${line}${column === null ? '' : `:${column}`}`;
  return name ? `    at ${oneLine(name)} (${place})` : `    at ${place}`;
}

/** @param {string[]} resources */
function waitsFor(resources) {
  const counts = new Map();
  for (const one of resources) counts.set(one, (counts.get(one) ?? 0) + 1);
  if (counts.size === 0) return [];
  return [`What keeps it alive: ${[...counts].map(([one, count]) => (count > 1 ? `${count} ${oneLine(one)}` : oneLine(one))).join(', ')}`];
}

/** @param {string[]} lines */
function text(lines) {
  return lines.map((line) => `${line}\n`).join('');
}
