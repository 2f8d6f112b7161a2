import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { readIfThere } from '../daemon/files.js';
import { NclustError } from '../errors.js';
import { withParents } from './system-limits.js';

export const INSTANCES_FORMS =
  'a whole number from 1, "max" or 0 (one per CPU), "-N" (CPUs less N), or "N%" of the CPUs';

/**
 * The smallest of CPU affinity, cpuset and cgroup quota (v1 and v2), at least 1.
 * `os.availableParallelism()` ignores the quota before Node.js 22.
 * @param {object} [o]
 * @param {string} [o.root]  Base of /proc and /sys.
 * @param {number} [o.affinity]
 */
export function availableCpus({ root = '/', affinity = availableParallelism() } = {}) {
  const quota = Math.min(quotaV1(root), quotaV2(root));
  // Rounds down, as libuv does, because the kernel would throttle one more process.
  return Math.max(1, Math.floor(Math.min(affinity, allowedCpus(root), quota)));
}

/**
 * @param {number | string} instances
 * @param {number} cpus
 * @returns {number}
 */
export function resolveInstances(instances, cpus) {
  const text = String(instances).trim();
  if (text === 'max' || text === '0') return cpus;
  if (/^\d+$/.test(text)) return Number(text);
  if (/^-\d+$/.test(text)) return Math.max(1, cpus + Number(text));
  if (/^\d+(\.\d+)?%$/.test(text) && Number.parseFloat(text) > 0)
    return Math.max(1, Math.round((cpus * Number.parseFloat(text)) / 100));
  throw new NclustError(
    'ERR_NCLUST_BAD_INSTANCES',
    `"${text}" is not a number of instances; accepted: ${INSTANCES_FORMS}.`,
  );
}

/**
 * Here "+N" and "-N" are relative to the current number of instances.
 * @param {string | number} instances
 * @param {number} current
 * @param {number} cpus
 * @returns {number}
 */
export function resolveScale(instances, current, cpus) {
  const text = String(instances).trim();
  const isRelative = /^[+-]\d+$/.test(text);
  const wanted = isRelative ? current + Number(text) : text === '0' ? 0 : resolveInstances(text, cpus);
  if (wanted >= 1) return wanted;
  throw new NclustError(
    'ERR_NCLUST_BAD_INSTANCES',
    `Scaling by "${text}" from ${current} would leave ${wanted} instances; the minimum is 1.`,
    {
      hint: 'To stop all of them: nclust stop',
    },
  );
}

/** @param {string} root */
function allowedCpus(root) {
  const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(readIfThere(join(root, 'proc/self/status')))?.[1];
  if (!list) return Infinity;
  return list.split(',').reduce((sum, range) => {
    const [from, to = from] = range.split('-').map(Number);
    return sum + (to - from + 1);
  }, 0);
}

/** @param {string} root */
function quotaV2(root) {
  const path = /^0::(.*)$/m.exec(readIfThere(join(root, 'proc/self/cgroup')))?.[1];
  if (path === undefined) return Infinity;
  const quotas = withParents(path).map((folder) => {
    const [quota, period] = readIfThere(join(root, 'sys/fs/cgroup', folder, 'cpu.max'))
      .trim()
      .split(/\s+/);
    return ratio(quota, period);
  });
  return Math.min(...quotas);
}

/** @param {string} root */
function quotaV1(root) {
  const match = /^\d+:((?:[^:]*,)?cpu(?:,[^:]*)?):(.*)$/m.exec(readIfThere(join(root, 'proc/self/cgroup')));
  if (!match) return Infinity;
  const [, controllers, path] = match;
  const mounts = [...new Set([controllers, 'cpu'])].map((name) => join(root, 'sys/fs/cgroup', name));
  const folders = withParents(path).flatMap((folder) => mounts.map((mount) => join(mount, folder)));
  const quotas = folders.map((folder) => {
    const [quota, period] = ['quota', 'period'].map((one) => readIfThere(join(folder, `cpu.cfs_${one}_us`)).trim());
    return ratio(quota, period);
  });
  return Math.min(...quotas);
}

/**
 * @param {string} [quota]  "max" and "-1": no limit.
 * @param {string} [period]
 */
function ratio(quota, period) {
  const value = Number(quota) / Number(period);
  return value > 0 && Number.isFinite(value) ? value : Infinity;
}
