import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { readRollup } from '../metrics/private-memory.js';
import { treesOf } from './proc-trees.js';
import { readProcTable } from './processes.js';

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
    const rows = process.platform === 'linux' ? readProcTable() : await fromPs();
    const trees = treesOf(rows, pids, seen);
    seen = new Map([...trees].map(([pid, members]) => [pid, new Map(members.map((row) => [row.pid, row.start]))]));
    return new Map([...trees].map(([pid, members]) => [pid, { bytes: members.reduce((sum, row) => sum + row.rssBytes, 0), pids: members.map((row) => row.pid) }]));
  };
}

/**
 * What processes take that share their pages: forks of one another are counted for less than the sum of them. Costs a walk through all their mappings.
 * @param {number[]} pids
 * @returns {number|null}  In bytes. Null where the system does not tell.
 */
export function sharedBytes(pids) {
  let sum = 0;
  for (const pid of pids) {
    const { pssBytes } = readRollup(pid);
    if (pssBytes === null) return null;
    sum += pssBytes;
  }
  return sum;
}

/** @returns {Promise<Row[]>} */
async function fromPs() {
  const { stdout } = await promisify(execFile)('ps', ['-axo', 'pid=,ppid=,rss='], { maxBuffer: 1 << 24 });
  return stdout.split('\n').flatMap((line) => {
    const [pid, ppid, rss] = line.trim().split(/\s+/).map(Number);
    return Number.isInteger(rss) ? [{ pid, ppid, rssBytes: rss * 1024, start: '' }] : [];
  });
}
