import { formatDuration } from '../shared/units.js';
import { oneLine } from './text.js';

/** @typedef {import('../commands/stack.js').Stack} Stack */

/** A worker that does less is idle, whatever was seen. */
const BUSY_MIN = 0.02;

/**
 * What a worker runs: a sentence, and its frames as V8 writes them.
 * @param {Stack} data
 * @returns {string}
 */
export function renderStack({ slot: { id, name, pid }, isHeldUp, wasHeldUp, busy, durationMs, frames, resources }) {
  const who = `"${oneLine(name)}" (id ${id}, pid ${pid})`;
  const lines = frames.map(frameLine);
  if (isHeldUp) return text([`${who} does not come back to its event loop:`, ...lines]);
  if (wasHeldUp) return text([`${who} was held up until now, and goes on: it was inside of a system call, of native code, or of JavaScript that has just ended.`]);
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

/** What else a name stands for: a socket that was handed over by the manager listens under that of a connection. @type {Map<string, string>} */
const NOTES = new Map([['TCPSocketWrap', ' (connections, or sockets that listen)']]);

/** @param {string[]} resources */
function waitsFor(resources) {
  const counts = new Map();
  for (const one of resources) counts.set(one, (counts.get(one) ?? 0) + 1);
  if (counts.size === 0) return [];
  const named = [...counts].map(([one, count]) => `${count > 1 ? `${count} ` : ''}${oneLine(one)}${NOTES.get(one) ?? ''}`);
  return [`What keeps it alive, by Node's names: ${named.join(', ')}`];
}

/** @param {string[]} lines */
function text(lines) {
  return lines.map((line) => `${line}\n`).join('');
}
