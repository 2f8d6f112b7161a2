import { readIfThere } from '../../../lib/shared/daemon/files.js';

/**
 * @typedef {object} OomWatch
 * @property {() => boolean} hasGrown  Whether the number of kills has grown since the last call or
 *   refresh().
 * @property {() => void} refresh
 */

/**
 * @param {{ read?: (file: string) => string }} [o]
 * @returns {OomWatch}
 */
export function watchOomKills({ read = readIfThere } = {}) {
  const sources = [...cgroupFiles(read), { file: '/proc/vmstat', line: /^oom_kill (\d+)$/m }];
  const count = () => sources.reduce((sum, { file, line }) => sum + Number(line.exec(read(file))?.[1] ?? 0), 0);
  let last = count();
  return {
    hasGrown() {
      const before = last;
      last = count();
      return last > before;
    },
    refresh() {
      last = count();
    },
  };
}

/**
 * Finds the files of the memory cgroup of control (v2, v1). /proc/vmstat is not enough, because in
 * a container it may be hidden or zero.
 * @param {(file: string) => string} read
 */
function cgroupFiles(read) {
  const groups = read('/proc/self/cgroup');
  const v2 = /^0::(.*)$/m.exec(groups)?.[1];
  const v1 = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(groups)?.[1];
  return [
    ...(v2 === undefined ? [] : [{ file: `/sys/fs/cgroup${v2}/memory.events`, line: /^oom_kill (\d+)$/m }]),
    ...(v1 === undefined ? [] : [{ file: `/sys/fs/cgroup/memory${v1}/memory.oom_control`, line: /^oom_kill (\d+)$/m }]),
  ];
}
