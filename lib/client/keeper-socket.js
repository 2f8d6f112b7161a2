import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createLineReader } from '../shared/wire/rpc.js';
import { tryConnect } from './try-connect.js';

/** @import { Socket } from 'node:net' */

/** A line of the keeper has a few hundred bytes. A much longer line is not from a keeper. */
const KEEPER_LINE_MAX_BYTES = 64 * 1024;

/**
 * The keeper of a home listens at the socket with the highest number. No process listens at a
 * socket with a lower number: see daemon/keeper/lock.js.
 * @param {string} run
 * @param {AbortSignal} signal
 */
export async function findKeeper(run, signal) {
  const highest = highestSocket(run);
  return highest === 0 ? null : tryConnect(join(run, `keeper.${highest}.sock`), signal);
}

/**
 * Waits at a keeper socket until control can be reached. Closes the socket.
 * @param {Socket} socket
 * @param {AbortSignal} signal
 * @param {(reason: string) => void} onFailure  Called if control fails. The keeper retries.
 * @returns {Promise<'ready' | 'gone'>}  gone: the connection ended first, or a line was too long.
 *   Rejects if the signal aborts.
 */
export function waitForControl(socket, signal, onFailure) {
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
    const reader = createLineReader({
      maxBytes: KEEPER_LINE_MAX_BYTES,
      onTooLong: () => finish('gone'),
      onLine: (line) => {
        const said = readKeeperLine(line);
        if (said.event === 'control-ready') finish('ready');
        if (said.event === 'control-failed') onFailure(String(said.message));
      },
    });
    signal.addEventListener('abort', onAbort, { once: true });
    socket.on('data', reader.push);
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

/** @param {string} run */
function highestSocket(run) {
  /** @type {string[]} */
  let entries;
  try {
    entries = readdirSync(run);
  } catch {
    return 0;
  }
  const numbers = entries.map((entry) => Number(/^keeper\.(\d+)\.sock$/.exec(entry)?.[1] ?? 0));
  return Math.max(0, ...numbers);
}

/**
 * @param {string} line
 * @returns {{ event?: string, message?: string }}
 */
function readKeeperLine(line) {
  try {
    return JSON.parse(line) ?? {};
  } catch {
    return {};
  }
}
