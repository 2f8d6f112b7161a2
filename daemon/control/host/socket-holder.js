import { readdirSync, readlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { ACCOUNT_FILES, splitLines } from '../../../lib/shared/daemon/accounts.js';
import { isSameHome, readEnviron, readProcFile, readStart } from '../../../lib/shared/daemon/home-processes.js';

/** @import { Holder, ListenFailure } from '../../../lib/shared/wire/protocol.js' */

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

/** @typedef {(failure: ListenFailure) => Holder | null} FindHolder */

/**
 * Linux only. Unless control is root, it cannot see the descriptors of other users.
 * @param {{ nowMs: () => number }} clock
 * @param {string} home
 * @returns {FindHolder}
 */
export function createHolderFinder({ nowMs }, home) {
  /** Answers for every port, because apps that start together fail within one interval. */
  let last = {
    atMs: -Infinity,
    rows: /** @type {Map<string, string[][]>} */ (new Map()),
    /** @type {Map<string, string> | null} */
    pidOf: null,
  };
  return ({ code, family, port, isUdp }) => {
    if (code !== 'EADDRINUSE' || family === 0 || port === 0 || process.platform !== 'linux') return null;
    const { tables, state } = isUdp ? UDP : TCP;
    const atMs = nowMs();
    if (Math.abs(atMs - last.atMs) >= LOOK_EVERY_MS) last = { atMs, rows: new Map(), pidOf: null };
    const sockets = tables.flatMap((table) => {
      const rows = last.rows.get(table) ?? rowsOf(table);
      last.rows.set(table, rows);
      return holdersOf(port, rows, state);
    });
    if (sockets.length === 0) return null;
    const pidOf = (last.pidOf ??= findSockets());
    const pid = sockets.map(({ socket }) => pidOf.get(socket)).find((one) => one !== undefined);
    if (pid !== undefined) return describeHolder(pid, home);
    return { pid: 0, command: `a program of user ${userOf(sockets[0].uid)}` };
  };
}

/**
 * Whether one of the processes has a listening TCP or Unix socket for clients. Linux only.
 * @param {number[]} pids
 */
export function isListening(pids) {
  const own = new Set(pids.flatMap((pid) => listSockets(String(pid))));
  if (own.size === 0) return false;
  const ports = TCP.tables
    .flatMap(rowsOf)
    .filter(([, , , state, , , , , , inode]) => state === TCP.state && own.has(`socket:[${inode}]`))
    .map(([, local]) => parseInt(local.slice(local.lastIndexOf(':') + 1), 16));
  const inspectors = ports.length === 0 ? [] : pids.flatMap((pid) => listInspectorPorts(String(pid)));
  if (ports.some((port) => !inspectors.includes(port))) return true;
  return rowsOf('unix').some(
    ([, , , flags, , , inode, path]) => flags === LISTENS && own.has(`socket:[${inode}]`) && isForClients(path),
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
 * @param {string} pid
 */
function listInspectorPorts(pid) {
  const text = `${readProcFile(pid, 'cmdline')}\0${readProcFile(pid, 'environ')}`;
  return [...text.matchAll(INSPECT)].map(([, port = INSPECTOR_PORT]) => Number(port));
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
 * @param {string} home
 * @returns {Holder | null}
 */
function describeHolder(pid, home) {
  const command = commandOf(pid);
  const status = readProcFile(pid, 'status');
  const [, parent] = /^PPid:\s*(\d+)$/m.exec(status) ?? [];
  const isPm2 = PM2.test(command) || (parent !== undefined && PM2.test(commandOf(parent)));
  const other = homeOf(pid);
  const [, uid = '?'] = /^Uid:\s+(\d+)/m.exec(status) ?? [];
  const nclust = other === null || isSameHome(pid, other, home) ? null : { home: other, user: userOf(uid) };
  return command === '' ? null : { pid: Number(pid), command, isPm2, nclust };
}

/**
 * The kernel cuts the name of a command after 15 characters.
 * @param {string} pid
 */
function commandOf(pid) {
  const name = readProcFile(pid, 'comm').trim();
  const program = basename(readProcFile(pid, 'cmdline').split('\0')[0]);
  return program.startsWith(name) && !program.includes(' ') ? program : name.replace(/ \($/, '');
}

/**
 * @param {string} pid
 * @returns {string | null}  Null: neither a keeper nor a process of an app.
 */
function homeOf(pid) {
  const [, title] = /^nclust keeper \(([^\0]*?)\)?(\0|$)/.exec(readProcFile(pid, 'cmdline')) ?? [];
  const env = readEnviron(pid);
  if (title === undefined && !env.has('NCLUST_INSTANCE')) return null;
  // The title may be cut, but only the same user and root may read the environment.
  return env.get('NCLUST_HOME') ?? title ?? null;
}

/** @param {string} uid */
function userOf(uid) {
  return splitLines(ACCOUNT_FILES.passwd()).find(([, , id]) => id === uid)?.[0] ?? uid;
}

/**
 * @param {number} port
 * @param {string[][]} rows
 * @param {string} wanted
 * @returns {{ socket: string, uid: string }[]}
 */
function holdersOf(port, rows, wanted) {
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return rows.flatMap(([, local = '', , state, , , , uid, , inode]) =>
    state === wanted && local.endsWith(end) ? [{ socket: `socket:[${inode}]`, uid }] : [],
  );
}

/**
 * Every user decides how many sockets there are. The kernel shows TCP sockets that listen first.
 */
const TABLE_MAX_BYTES = 4 * 1024 * 1024;

/** @param {string} table */
function rowsOf(table) {
  return read(() => readStart(`/proc/net/${table}`, TABLE_MAX_BYTES), '')
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
