import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { namesIn, tryTo } from '../shared/daemon/files.js';
import { locksAmong } from '../shared/daemon/keeper-locks.js';
import { wakeKeeper } from '../shared/daemon/keeper-process.js';
import { readUntil, tryConnect } from './try-connect.js';

/** @import { Socket } from 'node:net' */

/** A line of the keeper has a few hundred bytes. A much longer line is not from a keeper. */
export const KEEPER_LINE_MAX_BYTES = 64 * 1024;

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
 * Waits at a keeper socket until control can be reached, or the connection ends. Closes the socket.
 * If the keeper cannot start control, because its Node.js or its package was removed, offers those
 * of this command.
 * @param {Socket} socket
 * @param {AbortSignal} signal
 * @param {object} on
 * @param {() => void} on.answer  Called for each line of the keeper.
 * @param {(reason: string) => void} on.failure  Called if control fails. The keeper retries.
 * @returns {Promise<unknown>}  Rejects if the signal aborts.
 */
export function waitForControl(socket, signal, on) {
  return readUntil(socket, signal, KEEPER_LINE_MAX_BYTES, (line) => {
    const said = readKeeperLine(line);
    on.answer();
    if (said.event === 'control-missing') {
      on.failure(`"${said.path}" was removed, so the keeper cannot start the manager`);
      socket.write(`${JSON.stringify({ node: process.execPath, root: ROOT })}\n`);
    }
    if (said.event === 'control-failed') on.failure(String(said.message));
    return said.event === 'control-ready' ? true : undefined;
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
  if (socket !== null && socket !== 'busy') await readUntil(socket, signal, KEEPER_LINE_MAX_BYTES, () => undefined);
}

/**
 * @param {string} line
 * @returns {{ event?: string, message?: string, path?: string, pid?: number, keeper?: { pid: number } }}
 */
export function readKeeperLine(line) {
  return tryTo(() => JSON.parse(line) ?? {}, {});
}
