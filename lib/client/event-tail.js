import { closeSync, fstatSync, readSync, statSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { createWholeLines } from '../shared/daemon/lines.js';
import { openSegments, parseEvents } from '../shared/event-log.js';

/** @import { WholeLines } from '../shared/daemon/lines.js' */
/** @import { LoggedEvent } from '../shared/event-log.js' */

/** Interval of checks if the system cannot report changes of the log, in ms. */
const LOOK_MS = 500;

const READ_BYTES = 64 * 1024;

/**
 * Yields the event log, then new entries. It reads the file, so it works while control is replaced,
 * and each event comes once.
 * @param {string} path
 * @param {object} o
 * @param {AbortSignal} o.signal
 * @param {(folder: string, name: string, onChange: () => void) => () => void} [o.notice]
 * @returns {AsyncGenerator<{ entries: LoggedEvent[], isHistory: boolean, isGap: boolean }, void, void>}
 *   First the existing entries. `isGap`: entries were deleted before this function could read them.
 */
export async function* tailEvents(path, { signal, notice = noticeChanges }) {
  /** Starts the watch before the first read, so that no change is missed. */
  const nudge = createNudge(signal);
  const unnotice = notice(dirname(path), basename(path), nudge.wake);
  const reader = createReader(path);
  try {
    yield { entries: reader.read().entries, isHistory: true, isGap: false };
    while (!signal.aborted) {
      await nudge.wait();
      const { entries, isGap } = reader.read();
      if (entries.length > 0 || isGap) yield { entries, isHistory: false, isGap };
    }
  } finally {
    unnotice();
    reader.close();
  }
}

/** @param {AbortSignal} signal */
function createNudge(signal) {
  let isDue = false;
  let resume = () => {};
  const wake = () => {
    isDue = true;
    resume();
  };
  signal.addEventListener('abort', wake, { once: true });
  return {
    wake,
    async wait() {
      if (!isDue)
        await new Promise((resolve) => {
          resume = () => resolve(undefined);
        });
      isDue = false;
    },
  };
}

/** @type {NonNullable<Parameters<typeof tailEvents>[1]['notice']>} */
function noticeChanges(folder, name, onChange) {
  const fallBack = () => {
    const timer = setInterval(onChange, LOOK_MS);
    return () => clearInterval(timer);
  };
  let end = () => {};
  try {
    const watcher = watch(folder, (_event, file) => {
      if (file === null || file.startsWith(name)) onChange();
    });
    end = () => watcher.close();
    watcher.on('error', () => {
      watcher.close();
      end = fallBack();
    });
  } catch {
    // Polls, because the system has no free watches, or the file system does not support watches.
    end = fallBack();
  }
  return () => end();
}

/**
 * Each read continues at the last position, also after a rotation.
 * @param {string} path
 */
function createReader(path) {
  /** @type {OpenLog | null} */
  let place = null;

  /** @returns {{ entries: LoggedEvent[], isGap: boolean }} */
  function read() {
    const entries = place ? readNewEntries(place) : [];
    if (place && isSameFile(path, place)) return { entries, isGap: false };
    const all = openSegments(path);
    const at = all.findIndex(({ ino }) => ino === place?.ino);
    const newer = all.slice(at + 1);
    for (const { fd } of all.slice(0, at + 1)) closeSync(fd);
    if (newer.length === 0) return { entries, isGap: false };
    // Reads entries that control added to the rotated file after the first read above.
    if (place) entries.push(...readNewEntries(place));
    const isGap = place !== null && at === -1;
    for (const { fd, ino } of newer) {
      if (place) closeSync(place.fd);
      place = { fd, ino, at: 0, lines: createWholeLines(Infinity) };
      entries.push(...readNewEntries(place));
    }
    return { entries, isGap };
  }

  return {
    read,
    close() {
      if (place) closeSync(place.fd);
      place = null;
    },
  };
}

/** @typedef {{ fd: number, ino: number, at: number, lines: WholeLines }} OpenLog */

/**
 * @param {string} path
 * @param {OpenLog} place
 */
function isSameFile(path, { ino }) {
  const named = statSync(path, { throwIfNoEntry: false });
  return named === undefined || named.ino === ino;
}

/**
 * @param {OpenLog} place  Moved forward.
 * @returns {LoggedEvent[]}
 */
function readNewEntries(place) {
  // If another program has truncated the file, reads it from its beginning.
  if (fstatSync(place.fd).size < place.at) Object.assign(place, { at: 0, lines: createWholeLines(Infinity) });
  const chunk = Buffer.alloc(READ_BYTES);
  /** @type {LoggedEvent[]} */
  const entries = [];
  for (;;) {
    const bytes = readSync(place.fd, chunk, 0, READ_BYTES, place.at);
    if (bytes === 0) return entries;
    place.at += bytes;
    for (const piece of place.lines.push(chunk.subarray(0, bytes)))
      entries.push(...parseEvents(piece.bytes.toString()));
  }
}
