import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';

/** @typedef {{pid: number, ppid: number, rssBytes: number, start: string}} Row  `start` and the pid are an identity; empty where the system does not tell. */

/** @typedef {{bytes: number, pids: number[]}} Tree */

/** How much the processes below each of these pids take together, themselves included. One that is gone is missing. @typedef {(pids: number[]) => Promise<Map<number, Tree>>} ReadTrees */

/**
 * Reads the whole process table at once, however many trees are asked for. What left its family by a double fork is still counted when it was seen in it before.
 * @returns {ReadTrees}
 */
export function createTreeReader() {
  /** By root: who was seen below it, with their identities. @type {Map<number, Map<number, string>>} */
  let seen = new Map();
  return async (pids) => {
    const rows = process.platform === 'linux' ? fromProc() : await fromPs();
    const trees = treesOf(rows, pids, seen);
    seen = new Map([...trees].map(([pid, members]) => [pid, new Map(members.map((row) => [row.pid, row.start]))]));
    return new Map([...trees].map(([pid, members]) => [pid, { bytes: members.reduce((sum, row) => sum + row.rssBytes, 0), pids: members.map((row) => row.pid) }]));
  };
}

/**
 * @param {Row[]} rows
 * @param {number[]} pids
 * @param {Map<number, Map<number, string>>} seen
 * @returns {Map<number, Row[]>}
 */
export function treesOf(rows, pids, seen) {
  const byPid = new Map(rows.map((row) => [row.pid, row]));
  /** @type {Map<number, Row[]>} */
  const children = new Map();
  for (const row of rows) {
    const siblings = children.get(row.ppid);
    if (siblings) siblings.push(row);
    else children.set(row.ppid, [row]);
  }
  return new Map(pids.flatMap((pid) => {
    const root = byPid.get(pid);
    if (!root) return [];
    const strays = [...(seen.get(pid) ?? [])].flatMap(([known, start]) => (byPid.get(known)?.start === start ? byPid.get(known) ?? [] : []));
    const members = new Set([root, ...strays]);
    // A set that grows while it is walked is walked to its new end.
    for (const member of members) for (const child of children.get(member.pid) ?? []) members.add(child);
    return [[pid, [...members]]];
  }));
}

/**
 * What processes take that share their pages: forks of one another are counted for less than the sum of them. Costs a walk through all their mappings.
 * @param {number[]} pids
 * @returns {number|null}  In bytes. Null where the system does not tell.
 */
export function sharedBytes(pids) {
  let sum = 0;
  for (const pid of pids) {
    const pss = /^Pss:\s+(\d+) kB/m.exec(readProc(`${pid}/smaps_rollup`) ?? '')?.[1];
    if (pss === undefined) return null;
    sum += Number(pss) * 1024;
  }
  return sum;
}

/** @returns {Row[]} */
function fromProc() {
  const bytes = pageBytes();
  return readdirSync('/proc').filter((entry) => /^\d+$/.test(entry)).flatMap((entry) => {
    const fields = statOf(entry);
    return fields ? [{ pid: Number(entry), ppid: Number(fields[1]), rssBytes: Number(fields[21]) * bytes, start: fields[19] }] : [];
  });
}

/**
 * @param {string} pid
 * @returns {string[]|null}  From the state on.
 */
function statOf(pid) {
  const text = readProc(`${pid}/stat`);
  // The name in parentheses may itself hold spaces and parentheses: proc(5).
  return text === null ? null : text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** Of this machine: Node does not tell, but it tells in bytes what the system tells in pages. */
function pageBytes() {
  return 2 ** Math.round(Math.log2(process.memoryUsage.rss() / Number(statOf('self')?.[21])));
}

/** @param {string} path */
function readProc(path) {
  try {
    return readFileSync(`/proc/${path}`, 'latin1');
  } catch {
    return null; // It ended meanwhile, or it is another user's.
  }
}

/** @returns {Promise<Row[]>} */
async function fromPs() {
  const { stdout } = await promisify(execFile)('ps', ['-axo', 'pid=,ppid=,rss='], { maxBuffer: 1 << 24 });
  return stdout.split('\n').flatMap((line) => {
    const [pid, ppid, rss] = line.trim().split(/\s+/).map(Number);
    return Number.isInteger(rss) ? [{ pid, ppid, rssBytes: rss * 1024, start: '' }] : [];
  });
}
