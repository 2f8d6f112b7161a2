import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** @import { ListenFailure } from '../../../lib/shared/wire/protocol.js' */

/** A look reads a link for every descriptor of every process: about 5 ms for 1,000 of them. */
const LOOK_MAX_MS = 50;
/** Apps choose when control looks, so that it does not look all the time. */
const LOOK_EVERY_MS = 1_000;

const LISTENS = '0A';

/** @typedef {(failure: ListenFailure) => { pid: number, command: string } | null} FindHolder */

/**
 * Finds the process that holds an address that an app could not have. Linux only: elsewhere, and
 * for processes of other users, it is not known.
 * @param {{ nowMs: () => number }} clock
 * @returns {FindHolder}
 */
export function createHolderFinder({ nowMs }) {
  let lookedAtMs = -Infinity;
  /** By port: of the last look. @type {Map<number, ReturnType<FindHolder>>} */
  let known = new Map();
  return ({ code, family, port }) => {
    if (code !== 'EADDRINUSE' || family === 0 || port === 0 || process.platform !== 'linux') return null;
    const isFresh = Math.abs(nowMs() - lookedAtMs) < LOOK_EVERY_MS;
    if (isFresh) return known.get(port) ?? null;
    lookedAtMs = nowMs();
    known = new Map([[port, findHolder(port)]]);
    return known.get(port) ?? null;
  };
}

/**
 * @param {number} port
 * @returns {ReturnType<FindHolder>}
 */
function findHolder(port) {
  const inodes = new Set(['tcp', 'tcp6'].flatMap((table) => listenersOn(port, table)));
  if (inodes.size === 0) return null;
  const endMono = performance.now() + LOOK_MAX_MS;
  for (const pid of read(() => readdirSync('/proc'), []).filter((name) => /^\d+$/.test(name))) {
    if (performance.now() > endMono) return null;
    const fds = read(() => readdirSync(`/proc/${pid}/fd`), []);
    if (!fds.some((fd) => inodes.has(read(() => readlinkSync(`/proc/${pid}/fd/${fd}`), '')))) continue;
    const command = read(() => readFileSync(`/proc/${pid}/comm`, 'utf8').trim(), '');
    if (command !== '') return { pid: Number(pid), command };
  }
  return null;
}

/**
 * @param {number} port
 * @param {string} table
 * @returns {string[]}  "socket:[12345]".
 */
function listenersOn(port, table) {
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return read(() => readFileSync(`/proc/net/${table}`, 'utf8'), '')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([, local = '', , state, , , , , , inode]) =>
      state === LISTENS && local.endsWith(end) ? [`socket:[${inode}]`] : [],
    );
}

/**
 * @template T
 * @param {() => T} look
 * @param {T} otherwise  It has ended since, or is another user's.
 * @returns {T}
 */
function read(look, otherwise) {
  try {
    return look();
  } catch {
    return otherwise;
  }
}
