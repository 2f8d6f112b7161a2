import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { tryTo } from '../../../lib/shared/daemon/files.js';
import { isRecord } from '../../../lib/shared/is-record.js';
import { createSerial } from '../../../lib/shared/serial.js';

/** Lines that are written at once, so that a long queue does not stop control. */
const LINES_A_WRITE = 32;

/**
 * @typedef {object} QueueFile  The first line is the state of a receiver. Each other line is a message.
 * @property {(lines: () => string[]) => Promise<void>} save
 *   Replaces the file. Calls `lines` when the write begins, and joins calls that wait. Rejects with
 *   errors of the file system; the old file then stays.
 * @property {() => Promise<void>} remove
 */

/**
 * @param {string} path
 * @returns {QueueFile}
 */
export function createQueueFile(path) {
  const inTurn = createSerial();
  /** @type {Promise<void> | null} */
  let waiting = null;

  /** @param {string[]} lines */
  async function write(lines) {
    const temp = `${path}.new`;
    // Other programs may remove old folders, for example in /tmp.
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await rm(temp, { force: true });
    const file = await open(temp, 'wx', 0o600);
    try {
      for (let at = 0; at < lines.length; at += LINES_A_WRITE)
        await file.write(`${lines.slice(at, at + LINES_A_WRITE).join('\n')}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temp, path);
  }

  return {
    save(lines) {
      waiting ??= inTurn(() => {
        waiting = null;
        return write(lines());
      });
      return waiting;
    },
    remove: () => inTurn(() => rm(path, { force: true })),
  };
}

/**
 * @typedef {object} Saved
 * @property {Record<string, any>} state
 * @property {{ id: string, at: number, app: string | null, line: string }[]} messages
 */

/**
 * Skips damaged files.
 * @param {string} folder
 * @returns {Promise<Saved[]>}
 */
export async function readQueueFiles(folder) {
  const names = (await listNames(folder)).filter((name) => name.endsWith('.jsonl'));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return texts.flatMap((text) => {
    const [state, ...messages] = text.split('\n').map((line) => ({ line, value: tryTo(() => JSON.parse(line), null) }));
    if (!isRecord(state.value) || typeof state.value.to !== 'string') return [];
    return {
      state: state.value,
      messages: messages.flatMap(({ line, value }) =>
        isRecord(value)
          ? { id: String(value.id), at: Number(value.at), app: /** @type {any} */ (value.app), line }
          : [],
      ),
    };
  });
}

/** @param {string} folder */
async function listNames(folder) {
  try {
    return await readdir(folder);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return [];
    throw error;
  }
}
