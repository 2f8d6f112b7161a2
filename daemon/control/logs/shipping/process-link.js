import { spawn } from 'node:child_process';
import { onceOnly, reasonOf } from './transports.js';

/** @import { ShippedLine } from './backlog.js' */
/** @import { Link, LinkParts } from './transports.js' */

/**
 * Into the standard input of a process, a line for each line.
 * @param {{file: string, args: string[], env: Record<string, string|undefined>}} program
 * @param {(line: ShippedLine) => string} textOf  Without the line end.
 * @param {LinkParts} parts
 * @returns {Link}
 */
export function createProcessLink({ file, args, env }, textOf, { clock, events }) {
  const told = onceOnly(events);
  // A group of its own: Ctrl-C in the terminal of the manager is not for it.
  const child = spawn(file, args, { stdio: ['pipe', 'ignore', 'ignore'], env, detached: true });
  const hasEnded = () => child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
  child.on('spawn', told.onOpen);
  child.on('error', (error) => told.onDown(reasonOf(error)));
  child.on('exit', (code, signal) => told.onDown(signal ? `the command was ended by ${signal}` : `the command ended with code ${code}`));
  // Without descriptors there is no pipe either. EPIPE is no end yet: there must not be a second one beside it.
  child.stdin?.on('error', () => {});
  let cancelEnd = () => {};

  return {
    write(lines) {
      child.stdin.write(lines.map((line) => `${textOf(line)}\n`).join(''), (error) => {
        if (!error) told.onTaken(lines.length);
      });
    },
    close(graceMs) {
      told.mute();
      cancelEnd();
      child.stdin?.end();
      if (hasEnded()) return Promise.resolve();
      return new Promise((resolve) => {
        cancelEnd = clock.after(graceMs, () => {
          // It goes on without its input: nobody else knows of it.
          if (child.pid !== undefined) endGroup(child.pid);
          resolve();
        });
        child.on('exit', () => {
          cancelEnd();
          resolve();
        });
      });
    },
  };
}

/**
 * The shell, and what it runs.
 * @param {number} pid  Of who leads the group.
 */
function endGroup(pid) {
  try {
    process.kill(-pid, 'SIGTERM');
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error; // It has just ended.
  }
}
