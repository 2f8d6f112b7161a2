import { readStat, signalProcess } from './processes.js';

const LOOK_EVERY_MS = 250;

/**
 * Watches a process that is not one's child, whose death nobody reports: by pid and start time, because pids are used again.
 * @param {number} pid
 * @param {string | null} startTicks
 * @param {() => void} onGone
 * @returns {() => void}  Looks at once; call it when there is a hint.
 */
export function watchForeign(pid, startTicks, onGone) {
  const look = () => {
    if (isAlive(pid, startTicks)) return;
    clearInterval(timer);
    onGone();
  };
  const timer = setInterval(look, LOOK_EVERY_MS);
  return look;
}

/**
 * @param {number} pid
 * @param {string | null} startTicks
 */
function isAlive(pid, startTicks) {
  if (startTicks === null || process.platform !== 'linux') return signalProcess(pid, 0) !== 'gone';
  const stat = readStat(pid);
  return stat !== null && stat.startTicks === startTicks && stat.state !== 'Z';
}
