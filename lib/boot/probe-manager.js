import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { findKeeper, KEEPER_LINE_MAX_BYTES, readKeeperLine } from '../client/keeper-socket.js';
import { readUntil, tryConnect } from '../client/try-connect.js';
import { namesIn } from '../shared/daemon/files.js';
import { locksAmong } from '../shared/daemon/keeper-locks.js';
import { createLineReader } from '../shared/daemon/lines.js';
import { TO_CLIENT_MAX_BYTES } from '../shared/wire/protocol.js';
import { parseLine, requestLine } from '../shared/wire/rpc.js';

/** @import { Socket } from 'node:net' */
/** @import { SlotStatus } from '../shared/wire/protocol.js' */

/** Pause before the next attempt if the queue of the keeper socket is full, in ms. */
const PAUSE_MS = 20;

/**
 * A connection to the keeper socket that stays until one side ends it.
 * @typedef {object} Visit
 * @property {number} keeperPid
 * @property {() => number | null} controlPid  Null: control is not ready.
 * @property {Promise<void>} gone  The keeper has exited, or this side has left.
 * @property {() => void} leave
 */

/**
 * @param {string} run
 * @param {AbortSignal} signal
 * @returns {Promise<Visit | null>}  Resolves when the keeper has answered. Null: no keeper, or the
 *   keeper has closed the connection. Rejects if the signal aborts.
 */
export async function connectKeeper(run, signal) {
  for (;;) {
    const socket = await findKeeper(run, signal);
    if (socket === null) return null;
    if (socket !== 'busy') return welcomed(socket, signal);
    await pause(PAUSE_MS);
  }
}

/**
 * @param {Socket} socket
 * @param {AbortSignal} signal
 * @returns {Promise<Visit | null>}
 */
function welcomed(socket, signal) {
  let controlPid = /** @type {number | null} */ (null);
  const gone = /** @type {Promise<void>} */ (
    new Promise((resolve) => {
      socket.once('close', () => resolve());
    })
  );
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      socket.destroy();
      reject(signal.reason);
    };
    const finish = (/** @type {Visit | null} */ visit) => {
      signal.removeEventListener('abort', onAbort);
      resolve(visit);
    };
    const onLine = (/** @type {string} */ line) => {
      const said = readKeeperLine(line);
      if (said.event !== undefined) controlPid = said.event === 'control-ready' ? (said.pid ?? null) : null;
      if (said.keeper)
        finish({ keeperPid: said.keeper.pid, controlPid: () => controlPid, gone, leave: () => socket.destroy() });
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const read = createLineReader({ maxBytes: KEEPER_LINE_MAX_BYTES, onLine, onTooLong: () => socket.destroy() });
    socket.on('data', read).on('error', () => socket.destroy());
    void gone.then(() => finish(null));
    if (signal.aborted) onAbort();
  });
}

/**
 * Whether the last keeper exited and was not killed. Then it has left a mark, or the home was
 * removed.
 * @param {string} run
 */
export function hasLeft(run) {
  return !existsSync(run) || locksAmong(namesIn(run)).at(-1)?.isSocket === false;
}

/**
 * Asks control for the list over a new connection, to see whether control answers.
 * @param {string} sock
 * @param {AbortSignal} signal
 * @returns {Promise<SlotStatus[] | null>}  Null: no answer. Never rejects.
 */
export async function askControl(sock, signal) {
  const socket = await tryConnect(sock, signal).catch(() => null);
  if (socket === null || socket === 'busy') return null;
  const answer = readUntil(socket, signal, TO_CLIENT_MAX_BYTES, listSlots);
  socket.write(requestLine(1, 'list', {}));
  return answer.catch(() => null); // Aborted.
}

/** @param {string} line */
function listSlots(line) {
  const parsed = parseLine(line);
  if ('fault' in parsed) return null;
  const { slots } = /** @type {{ slots?: SlotStatus[] }} */ (parsed.message.result ?? {});
  return slots ?? null;
}
