import { readdirSync, readFileSync } from 'node:fs';
import { readStat } from '../helpers/processes.js';

/** USER_HZ is 100 on every Linux that Node.js runs on. */
export const TICKS_PER_SECOND = 100;

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** @returns {{ pid: number, command: string }[]} */
export function processesWith(variable, value) {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((entry) => {
      try {
        const environ = `\0${readFileSync(`/proc/${entry}/environ`, 'utf8')}`;
        const command = readFileSync(`/proc/${entry}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        return environ.includes(`\0${variable}=${value}\0`) ? [{ pid: Number(entry), command }] : [];
      } catch {
        // Skips the process, because it has exited or belongs to another user.
        return [];
      }
    });
}

/** @returns {number} */
export const cpuTicks = (pids) => pids.reduce((sum, pid) => sum + (readStat(pid)?.cpuTicks ?? 0), 0);
