import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { namesIn } from '../shared/daemon/files.js';
import { locksAmong } from '../shared/daemon/keeper-locks.js';
import { createLineReader } from '../shared/daemon/lines.js';
import { wakeKeeper } from '../shared/daemon/keeper-process.js';
import { tryConnect } from './try-connect.js';

/** @import { Socket } from 'node:net' */

/** A line of the keeper has a few hundred bytes. A much longer line is not from a keeper. */
const KEEPER_LINE_MAX_BYTES = 64 * 1024;

/**
 * The keeper of a home listens at the socket with the highest number. No process listens at a
 * socket with a lower number: see daemon/keeper/lock.js.
 * @param {string} run
 * @param {AbortSignal} signal
 * @returns {Promise<Socket | 'busy' | null>}  busy: also if the socket of a living keeper was
 *   removed. The keeper puts it back.
 */
export async function findKeeper(run, signal) {
  if (signal.aborted) throw signal.reason;
  const home = dirname(run);
  if (!existsSync(home)) return null; // Its keeper may run for some seconds, but not for clients.
  const newest = locksAmong(namesIn(run)).findLast(({ isSocket }) => isSocket);
  const socket = newest ? await tryConnect(join(run, newest.name), signal) : null;
  return socket ?? (wakeKeeper(home) === null ? null : 'busy');
}

/** The package of this command. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/**
 * Waits at a keeper socket until control can be reached. Closes the socket. If the keeper cannot
 * start control, because its Node.js or its package was removed, offers those of this command.
 * @param {Socket} socket
 * @param {AbortSignal} signal
 * @param {object} on
 * @param {() => void} on.answer  Called for each line of the keeper.
 * @param {(reason: string) => void} on.failure  Called if control fails. The keeper retries.
 * @returns {Promise<'ready' | 'gone'>}  gone: the connection ended first, or a line was too long.
 *   Rejects if the signal aborts.
 */
export function waitForControl(socket, signal, on) {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      socket.destroy();
      reject(signal.reason);
    };
    /** @param {'ready' | 'gone'} outcome */
    const finish = (outcome) => {
      signal.removeEventListener('abort', onAbort);
      socket.destroy();
      resolve(outcome);
    };
    const read = createLineReader({
      maxBytes: KEEPER_LINE_MAX_BYTES,
      onTooLong: () => finish('gone'),
      onLine: (line) => {
        const said = readKeeperLine(line);
        on.answer();
        if (said.event === 'control-ready') finish('ready');
        if (said.event === 'control-missing') {
          on.failure(`"${said.path}" was removed, so the keeper cannot start the manager`);
          socket.write(`${JSON.stringify({ node: process.execPath, root: ROOT })}\n`);
        }
        if (said.event === 'control-failed') on.failure(String(said.message));
      },
    });
    signal.addEventListener('abort', onAbort, { once: true });
    socket.on('data', read);
    socket.on('error', () => {}); // 'close' follows.
    socket.on('close', () => finish('gone'));
    if (signal.aborted) onAbort();
  });
}

/**
 * Waits until the keeper of a home has exited, which closes its socket. The keeper exits after
 * control.
 * @param {string} run
 * @param {AbortSignal} signal
 */
export async function waitUntilLeft(run, signal) {
  const socket = await findKeeper(run, signal);
  if (socket === null || socket === 'busy') return;
  await new Promise((resolve, reject) => {
    const onAbort = () => {
      socket.destroy();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    socket.on('error', () => {}); // 'close' follows.
    socket.on('close', resolve).resume();
  });
}

/**
 * @param {string} line
 * @returns {{ event?: string, message?: string, path?: string }}
 */
function readKeeperLine(line) {
  try {
    return JSON.parse(line) ?? {};
  } catch {
    return {};
  }
}
