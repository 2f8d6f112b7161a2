import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { gatherFacts } from '../doctor/facts.js';
import { findings } from '../doctor/findings.js';
import { homePaths } from '../shared/paths.js';

/** @import { Context } from '../cli/session/context.js' */
/** @import { Facts } from '../doctor/facts.js' */
/** @import { Finding } from '../doctor/findings.js' */

/**
 * @param {Context} context
 * @returns {Promise<{ facts: Facts, findings: Finding[], exitStatus: number }>}
 */
export async function doctor(context) {
  const facts = await gatherFacts(context);
  const found = findings(facts);
  return { facts, findings: found, exitStatus: found.some(({ level }) => level === 'bad') ? 1 : 0 };
}

const LOG_BYTES = 8 * 1024;

/**
 * The report does not contain variables, arguments or output of apps, because users publish it.
 * @param {Context} context
 * @returns {Promise<Awaited<ReturnType<typeof doctor>> & { log: string[] }>}  `log`: the last lines
 *   of nclust.log.
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
    return []; // The manager has never run here, or the log is not readable.
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
