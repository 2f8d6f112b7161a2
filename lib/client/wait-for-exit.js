import { readFileSync } from 'node:fs';

const LOOK_EVERY_MS = 10;

/**
 * Waits until processes that are not our children have ended. Nothing announces that to a stranger,
 * so it looks again and again.
 * @param {number[]} pids
 * @param {number} deadlineMs
 * @returns {Promise<boolean>}  False when one was still there at the deadline.
 */
export async function waitForEnd(pids, deadlineMs) {
  const endMono = performance.now() + deadlineMs;
  while (pids.some(isRunning)) {
    if (performance.now() > endMono) return false;
    await new Promise((resolve) => {
      setTimeout(resolve, LOOK_EVERY_MS);
    });
  }
  return true;
}

/** @param {number} pid */
function isRunning(pid) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
  return !isZombie(pid);
}

/**
 * In a container whose first process does not collect its orphans, a dead daemon stays in the
 * process table for ever.
 * @param {number} pid
 */
function isZombie(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z');
  } catch {
    return false; // Not Linux, or gone between the two looks: the next one tells.
  }
}
