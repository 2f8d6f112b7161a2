import { readlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ACCOUNT_FILES, splitLines } from '../../../lib/shared/daemon/accounts.js';
import { namesIn, tryTo } from '../../../lib/shared/daemon/files.js';
import {
  isSameHome,
  listPids,
  readEnviron,
  readProcFile,
  readRealUid,
  readStart,
  readStat,
} from '../../../lib/shared/daemon/home-processes.js';
import { readProgram } from './processes.js';

/** @import { Holder, ListenFailure } from '../../../lib/shared/wire/protocol.js' */

/**
 * CPU time that a search may take. It reads a link for each descriptor of each process: 5,000
 * descriptors took 17 ms. Waiting for a CPU does not count, so a busy machine also gets an answer.
 */
const LOOK_MAX_US = 50_000;
/** Minimum interval between two searches, because any app can cause a search. */
const LOOK_EVERY_MS = 1_000;
/** The interval is at least this many times the CPU time of the last search. */
const REST_FACTOR = 20;

/** Tables of the kernel, and the state of a socket that holds its port. */
const TCP = { tables: ['tcp', 'tcp6'], state: '0A' };
/** The state of a connection that is open. */
const ESTABLISHED = '01';
const UDP = { tables: ['udp', 'udp6'], state: '07' };
/** Flags of a Unix socket that listens: SO_ACCEPTCON. */
const LISTENS = '00010000';

/** @typedef {(failure: ListenFailure) => Holder | null} FindHolder */

/**
 * Linux only. Unless control is root, it cannot see the descriptors of other users.
 * @param {{ nowMs: () => number }} clock
 * @param {string} home
 * @returns {FindHolder}
 */
export function createHolderFinder({ nowMs }, home) {
  /** Answers for every port, because apps that start together fail within one interval. */
  let last = { atMs: -Infinity, restMs: 0, holderOf: /** @type {FindByPort} */ (() => null) };
  return ({ code, family, port, isUdp }) => {
    if (code !== 'EADDRINUSE' || family === 0 || port === 0 || process.platform !== 'linux') return null;
    const atMs = nowMs();
    if (Math.abs(atMs - last.atMs) >= Math.max(LOOK_EVERY_MS, last.restMs)) {
      const before = process.cpuUsage();
      const holderOf = searchHolders(home);
      const { user, system } = process.cpuUsage(before);
      last = { atMs, restMs: (REST_FACTOR * (user + system)) / 1_000, holderOf };
    }
    return last.holderOf(port, isUdp === true);
  };
}

/** @typedef {(port: number, isUdp: boolean) => Holder | null} FindByPort */

/**
 * @param {string} home
 * @returns {FindByPort}
 */
function searchHolders(home) {
  const [tcp, udp] = [TCP, UDP].map(({ tables, state }) => groupByPort(tables, state));
  const pidOf = findSockets();
  /** @type {Map<string, Holder | null>} */
  const found = new Map();
  return (port, isUdp) => {
    const sockets = (isUdp ? udp : tcp).get(port);
    if (!sockets) return null;
    const pid = sockets.map(({ socket }) => pidOf.get(socket)).find((one) => one !== undefined);
    const key = String(pid ?? `user ${sockets[0].uid}`);
    if (!found.has(key))
      found.set(
        key,
        pid === undefined
          ? { pid: 0, command: `a program of user ${describeUser(sockets[0].uid)}` }
          : describeHolder(pid, home),
      );
    return found.get(key) ?? null;
  };
}

/**
 * Whether one of the processes has a listening TCP or Unix socket for clients. Linux only.
 * @param {number[]} pids
 */
export function isListening(pids) {
  const own = new Set(pids.flatMap((pid) => listSockets(pid)));
  if (own.size === 0) return false;
  const ports = TCP.tables
    .flatMap(parseRows)
    .filter(([, , , state, , , , , , inode]) => state === TCP.state && own.has(`socket:[${inode}]`))
    .map(([, local]) => parsePort(local));
  const inspectors = ports.length === 0 ? [] : pids.flatMap((pid) => listInspectorPorts(pid));
  if (ports.some((port) => !inspectors.includes(port))) return true;
  return parseRows('unix').some(
    ([, , , flags, , , inode, path]) => flags === LISTENS && own.has(`socket:[${inode}]`) && isForClients(path),
  );
}

/**
 * Linux only: on other systems nothing is known.
 * @param {number[]} pids
 * @returns {Map<number, Connections>}
 *
 * @typedef {object} Connections
 * @property {boolean} isInspected  A debugger is attached to its inspector.
 * @property {boolean} hasInput  It has not read what a client has sent.
 */
export function readConnections(pids) {
  if (pids.length === 0) return new Map();
  const rows = TCP.tables.flatMap(parseRows);
  return new Map(
    pids.map((pid) => {
      const own = new Set(listSockets(pid));
      const mine = rows.filter(([, , , , , , , , , inode]) => own.has(`socket:[${inode}]`));
      const portsOf = (/** @type {string} */ state, /** @type {string[][]} */ some) =>
        some.filter((row) => row[3] === state).map(([, local]) => parsePort(local));
      const inspectors = [...listInspectorPorts(pid), INSPECTOR_PORT];
      const served = portsOf(TCP.state, mine).filter((port) => !inspectors.includes(port));
      const isUnread = (/** @type {string[]} */ row) => !row[4].endsWith(':00000000');
      return [
        pid,
        {
          isInspected: portsOf(ESTABLISHED, mine).some((port) => inspectors.includes(port)),
          hasInput: portsOf(ESTABLISHED, mine.filter(isUnread)).some((port) => served.includes(port)),
        },
      ];
    }),
  );
}

/**
 * Tools talk to their own processes through abstract sockets and temporary files: tsx listens on
 * /tmp/tsx-0/PID.pipe before the app begins.
 * @param {string} [path]
 */
function isForClients(path = '@') {
  return !path.startsWith('@') && !path.startsWith(join(tmpdir(), '/'));
}

const INSPECT = /(?:^|[\0\s=])--inspect(?:-brk|-wait|-port)?(?:=(?:[^\0\s]*:)?(\d+))?(?![\w-])/g;
const INSPECTOR_PORT = 9229;

/**
 * From the command and its environment, because the inspector opens before the app begins.
 * @param {number} pid
 */
function listInspectorPorts(pid) {
  const text = `${readProcFile(pid, 'cmdline')}\0${readProcFile(pid, 'environ')}`;
  return [...text.matchAll(INSPECT)].map(([, port = INSPECTOR_PORT]) => Number(port));
}

/** @param {number} pid */
export function countSockets(pid) {
  return listSockets(pid).length;
}

/** @param {number} pid */
function listSockets(pid) {
  return namesIn(`/proc/${pid}/fd`)
    .map((fd) => tryTo(() => readlinkSync(`/proc/${pid}/fd/${fd}`), ''))
    .filter((target) => target.startsWith('socket:'));
}

/** @returns {Map<string, number>}  The process of each socket. */
function findSockets() {
  /** @type {Map<string, number>} */
  const pidOf = new Map();
  const before = process.cpuUsage();
  for (const pid of listPids()) {
    const { user, system } = process.cpuUsage(before);
    if (user + system > LOOK_MAX_US) return pidOf;
    for (const target of listSockets(pid)) if (!pidOf.has(target)) pidOf.set(target, pid);
  }
  return pidOf;
}

/** Name of the daemon of PM2, which is the parent of its apps. */
const PM2 = /^PM2 v/;

/**
 * @param {number} pid
 * @param {string} home
 * @returns {Holder | null}
 */
function describeHolder(pid, home) {
  const command = readProgram(pid);
  const isPm2 = PM2.test(command) || PM2.test(readProgram(readStat(pid)?.ppid ?? 0));
  const other = readHome(pid);
  const nclust =
    other === null || isSameHome(pid, other, home)
      ? null
      : { home: other, user: describeUser(String(readRealUid(pid) ?? '?')) };
  return command === '' ? null : { pid, command, isPm2, nclust };
}

/**
 * @param {number} pid
 * @returns {string | null}  Null: neither a keeper nor a process of an app.
 */
function readHome(pid) {
  const [, title] = /^nclust keeper \(([^\0]*?)\)?(\0|$)/.exec(readProcFile(pid, 'cmdline')) ?? [];
  const env = readEnviron(pid);
  if (title === undefined && !env.has('NCLUST_INSTANCE')) return null;
  // The title may be cut, but only the same user and root may read the environment.
  return env.get('NCLUST_HOME') ?? title ?? null;
}

/** @param {string} uid */
function describeUser(uid) {
  return splitLines(ACCOUNT_FILES.passwd()).find(([, , id]) => id === uid)?.[0] ?? uid;
}

/**
 * @param {string[]} tables
 * @param {string} wanted
 * @returns {Map<number, { socket: string, uid: string }[]>}
 */
function groupByPort(tables, wanted) {
  /** @type {Map<number, { socket: string, uid: string }[]>} */
  const found = new Map();
  for (const [, local = '', , state, , , , uid, , inode] of tables.flatMap(parseRows)) {
    if (state !== wanted) continue;
    const port = parsePort(local);
    const sockets = found.get(port) ?? [];
    found.set(port, sockets);
    sockets.push({ socket: `socket:[${inode}]`, uid });
  }
  return found;
}

/** @param {string} local  Address and port, in hexadecimal digits. */
function parsePort(local) {
  return parseInt(local.slice(local.lastIndexOf(':') + 1), 16);
}

/**
 * Every user decides how many sockets there are. The kernel shows TCP sockets that listen first.
 */
const TABLE_MAX_BYTES = 4 * 1024 * 1024;

/** @param {string} table */
function parseRows(table) {
  return tryTo(() => readStart(`/proc/net/${table}`, TABLE_MAX_BYTES), '')
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
}
