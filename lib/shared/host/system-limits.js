import { dirname, join } from 'node:path';
import { readIfThere } from '../daemon/files.js';

/**
 * @typedef {object} SystemLimits
 * @property {number} files  Open descriptors. Infinity: no limit is known.
 * @property {number} tasks  Processes and threads in the control group of the keeper.
 * @property {string} tasksFile
 */

/**
 * @param {number} keeperPid
 * @param {object} [o]
 * @param {string} [o.root]
 * @returns {SystemLimits}
 */
export function systemLimits(keeperPid, { root = '/' } = {}) {
  const groups = readIfThere(join(root, `proc/${keeperPid}/cgroup`));
  const [v2, v1] = [/^0::(.*)$/m.exec(groups)?.[1], /^\d+:(?:[^:]*,)?pids(?:,[^:]*)?:(.*)$/m.exec(groups)?.[1]];
  const files = [
    ...withParents(v2).map((folder) => join('sys/fs/cgroup', folder, 'pids.max')),
    ...withParents(v1).map((folder) => join('sys/fs/cgroup/pids', folder, 'pids.max')),
  ];
  const found = files.map((file) => ({ tasks: parseNumber(readIfThere(join(root, file))), tasksFile: `/${file}` }));
  const least = found.reduce((one, other) => (other.tasks < one.tasks ? other : one), {
    tasks: Infinity,
    tasksFile: '',
  });
  return { ...least, files: readFilesLimit(keeperPid, root) };
}

/**
 * @param {number} pid
 * @param {string} [root]
 * @returns {number}  The soft limit of open descriptors. Infinity: no limit is known.
 */
export function readFilesLimit(pid, root = '/') {
  return parseNumber(/^Max open files\s+(\d+)/m.exec(readIfThere(join(root, `proc/${pid}/limits`)))?.[1] ?? '');
}

/**
 * The limits of all parent groups apply. In a container, the path may be valid only on the host.
 * Only "/" exists then.
 * @param {string} [path]  Of a control group.
 * @returns {string[]}
 */
export function withParents(path) {
  if (path === undefined) return [];
  return ['/', '.', ''].includes(path) ? [path] : [path, ...withParents(dirname(path))];
}

/** @param {string} text */
function parseNumber(text) {
  return /^\d+$/.test(text.trim()) ? Number(text) : Infinity;
}
