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
/** Flags of a Unix socket that listens: SO_ACCEPTCON. */
const LISTENS = '00010000';

/** @typedef {{ pid: number, command: string, isPm2: boolean }} Holder */
/** @typedef {(failure: ListenFailure) => Holder | null} FindHolder */

/**
 * Linux only. Unless control is root, it cannot see the descriptors of other users.
 * @param {{ nowMs: () => number }} clock
 * @returns {FindHolder}
 */
export function createHolderFinder({ nowMs }) {
  /** Answers for every port, because apps that start together fail within one interval. */
  let last = { atMs: -Infinity, pidOf: /** @type {Map<string, string>} */ (new Map()) };
  return ({ code, family, port, isUdp }) => {
    if (code !== 'EADDRINUSE' || family === 0 || port === 0 || process.platform !== 'linux') return null;
    const { tables, state } = isUdp ? UDP : TCP;
    const sockets = tables.flatMap((table) => holdersOf(port, table, state));
    if (sockets.length === 0) return null;
    const atMs = nowMs();
    if (Math.abs(atMs - last.atMs) >= LOOK_EVERY_MS) last = { atMs, pidOf: findSockets() };
    const pid = sockets.map((socket) => last.pidOf.get(socket)).find((one) => one !== undefined);
    return pid === undefined ? null : describeHolder(pid);
  };
}

/**
 * Whether one of the processes has a listening TCP or Unix socket. Linux only.
 * @param {number[]} pids
 */
export function isListening(pids) {
  const own = new Set(pids.flatMap((pid) => listSockets(String(pid))));
  if (own.size === 0) return false;
  const ports = TCP.tables.flatMap((table) =>
    rowsOf(table).map(([, , , state, , , , , , inode]) => ({ state, inode })),
  );
  const paths = rowsOf('unix').map(([, , , flags, , , inode]) => ({ state: flags, inode }));
  return [...ports, ...paths].some(
    ({ state, inode }) => (state === TCP.state || state === LISTENS) && own.has(`socket:[${inode}]`),
  );
}

/** @param {string} pid */
function listSockets(pid) {
  return read(() => readdirSync(`/proc/${pid}/fd`), [])
    .map((fd) => read(() => readlinkSync(`/proc/${pid}/fd/${fd}`), ''))
    .filter((target) => target.startsWith('socket:'));
}

/** @returns {Map<string, string>}  The process of each socket. */
function findSockets() {
  /** @type {Map<string, string>} */
  const pidOf = new Map();
  const before = process.cpuUsage();
  for (const pid of read(() => readdirSync('/proc'), []).filter((name) => /^\d+$/.test(name))) {
    const { user, system } = process.cpuUsage(before);
    if (user + system > LOOK_MAX_US) return pidOf;
    for (const target of listSockets(pid)) if (!pidOf.has(target)) pidOf.set(target, pid);
  }
  return pidOf;
}

/** Name of the daemon of PM2, which is the parent of its apps. */
const PM2 = /^PM2 v/;

/**
 * @param {string} pid
 * @returns {Holder | null}
 */
function describeHolder(pid) {
  const command = commandOf(pid);
  const [, parent] = /^PPid:\s*(\d+)$/m.exec(read(() => readFileSync(`/proc/${pid}/status`, 'utf8'), '')) ?? [];
  const isPm2 = PM2.test(command) || (parent !== undefined && PM2.test(commandOf(parent)));
  return command === '' ? null : { pid: Number(pid), command, isPm2 };
}

/** @param {string} pid */
function commandOf(pid) {
  return read(() => readFileSync(`/proc/${pid}/comm`, 'utf8').trim(), '');
}

/**
 * @param {number} port
 * @param {string} table
 * @param {string} wanted
 * @returns {string[]}
 */
function holdersOf(port, table, wanted) {
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return rowsOf(table).flatMap(([, local = '', , state, , , , , , inode]) =>
    state === wanted && local.endsWith(end) ? [`socket:[${inode}]`] : [],
  );
}

/** @param {string} table */
function rowsOf(table) {
  return read(() => readFileSync(`/proc/net/${table}`, 'utf8'), '')
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
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
