import { readFileSync, statfsSync } from 'node:fs';
import { cpus, freemem, loadavg, totalmem, uptime } from 'node:os';

/** @import { HostSample } from '../../../lib/shared/metrics.js' */

/** The disk is read on every tenth call. */
const DISK_EVERY = 10;

/**
 * @param {string} home  The disk values are for its file system.
 * @returns {() => HostSample}  CPU is counted since the last call.
 */
export function createHostReader(home) {
  const cores = cpus().length;
  let before = cpuTimes();
  let looks = 0;
  /** @type {Pick<HostSample, 'diskTotalBytes' | 'diskUsedBytes'>} */
  let disk = { diskTotalBytes: null, diskUsedBytes: null };

  return () => {
    const now = cpuTimes();
    const total = now.total - before.total;
    const cpu = total > 0 ? Math.round((1 - (now.idle - before.idle) / total) * 1000) / 10 : 0;
    before = now;
    if (looks++ % DISK_EVERY === 0) disk = readDisk(home);
    const [load1, load5, load15] = loadavg();
    const memoryTotalBytes = totalmem();
    return {
      cpu: Math.max(0, cpu),
      cores,
      memoryTotalBytes,
      memoryUsedBytes: memoryTotalBytes - freemem(),
      load1,
      load5,
      load15,
      ...disk,
      uptimeS: Math.round(uptime()),
    };
  };
}

/** On Linux, avoids os.cpus(), because it also reads the frequency of each core. This is slow. */
function cpuTimes() {
  if (process.platform !== 'linux')
    return cpus().reduce(
      (sum, { times }) => ({
        total: sum.total + times.user + times.nice + times.sys + times.idle + times.irq,
        idle: sum.idle + times.idle,
      }),
      { total: 0, idle: 0 },
    );
  const text = readFileSync('/proc/stat', 'latin1');
  // user nice system idle iowait irq softirq steal; guests are part of user: proc(5).
  const times = text.slice(0, text.indexOf('\n')).split(/\s+/).slice(1, 9).map(Number);
  return { total: times.reduce((sum, time) => sum + time, 0), idle: times[3] + times[4] };
}

/** @param {string} home */
function readDisk(home) {
  try {
    const { blocks, bavail, bfree, bsize } = statfsSync(home);
    // Space that is reserved for root counts neither as used nor as free.
    return { diskTotalBytes: (blocks - bfree + bavail) * bsize, diskUsedBytes: (blocks - bfree) * bsize };
  } catch {
    return { diskTotalBytes: null, diskUsedBytes: null };
  }
}
