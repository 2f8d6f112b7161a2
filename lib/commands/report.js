import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { homePaths } from '../shared/paths.js';
import { doctor } from './doctor.js';

const LOG_BYTES = 8 * 1024;

/**
 * What somebody who is asked for help wants to know: the machine, the home, the list, the end of the manager's log. No variables of apps.
 * @param {import('../cli/context.js').Context} context
 * @returns {Promise<Awaited<ReturnType<typeof doctor>> & {log: string[]}>}  `log`: the last lines of nclust.log.
 */
export async function report(context) {
  const { facts, findings } = await doctor(context);
  return { facts, findings, log: lastLines(homePaths(context.home).daemonLog), exitStatus: 0 };
}

/** @param {string} file */
function lastLines(file) {
  let fd;
  try {
    fd = openSync(file, 'r');
  } catch {
    return []; // The manager has never run here.
  }
  try {
    const { size } = fstatSync(fd);
    const bytes = Buffer.alloc(Math.min(size, LOG_BYTES));
    readSync(fd, bytes, 0, bytes.length, size - bytes.length);
    const lines = bytes.toString('utf8').split('\n').filter(Boolean);
    return size > LOG_BYTES ? lines.slice(1) : lines;
  } finally {
    closeSync(fd);
  }
}
