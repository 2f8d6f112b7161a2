import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** @import { ListenFailure } from '../../../lib/shared/wire/protocol.js' */

/**
 * CPU time that a search may take. It reads a link for each descriptor of each process: 5,000
 * descriptors took 17 ms. Waiting for a CPU does not count, so a busy machine also gets an answer.
 */
const LOOK_MAX_US = 50_000;
/** Minimum interval between two searches, because any app can cause a search. */
const LOOK_EVERY_MS = 1_000;

/** Tables of the kernel, and the state of a socket that holds its port. */
const TCP = { tables: ['tcp', 'tcp6'], state: '0A' };
const UDP = { tables: ['udp', 'udp6'], state: '07' };

/** @typedef {(failure: ListenFailure) => { pid: number, command: string } | null} FindHolder */

/**
 * Linux only. Unless control is root, it cannot see the descriptors of other users.
 * @param {{ nowMs: () => number }} clock
 * @returns {FindHolder}
 */
export function createHolderFinder({ nowMs }) {
  /** @type {{ atMs: number, port: number, protocol: typeof TCP, holder: ReturnType<FindHolder> }} */
  let last = { atMs: -Infinity, port: 0, protocol: TCP, holder: null };
  return ({ code, family, port, isUdp }) => {
    if (code !== 'EADDRINUSE' || family === 0 || port === 0 || process.platform !== 'linux') return null;
    const atMs = nowMs();
    const isFresh = Math.abs(atMs - last.atMs) < LOOK_EVERY_MS;
    const protocol = isUdp ? UDP : TCP;
    if (isFresh) return last.port === port && last.protocol === protocol ? last.holder : null;
    last = { atMs, port, protocol, holder: findHolder(port, protocol) };
    return last.holder;
  };
}

/**
 * @param {number} port
 * @param {typeof TCP} protocol
 */
function findHolder(port, { tables, state }) {
  const inodes = new Set(tables.flatMap((table) => holdersOf(port, table, state)));
  if (inodes.size === 0) return null;
  const before = process.cpuUsage();
  for (const pid of read(() => readdirSync('/proc'), []).filter((name) => /^\d+$/.test(name))) {
    const { user, system } = process.cpuUsage(before);
    if (user + system > LOOK_MAX_US) return null;
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
 * @param {string} wanted
 * @returns {string[]}
 */
function holdersOf(port, table, wanted) {
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return read(() => readFileSync(`/proc/net/${table}`, 'utf8'), '')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([, local = '', , state, , , , , , inode]) =>
      state === wanted && local.endsWith(end) ? [`socket:[${inode}]`] : [],
    );
}

/**
 * @template T
 * @param {() => T} look
 * @param {T} otherwise
 */
function read(look, otherwise) {
  try {
    return look();
  } catch {
    return otherwise;
  }
}
