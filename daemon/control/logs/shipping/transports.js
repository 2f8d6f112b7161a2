import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns';
import { connect } from 'node:net';
import { withDefaultOomScore } from '../../../../lib/shared/daemon/oom-score.js';
import { connectAsUser } from '../../../../lib/shared/host/as-user.js';

/** @import { Socket } from 'node:dgram' */
/** @import { User } from '../../../../lib/shared/host/user-path.js' */
/** @import { Clock } from '../../host/clock.js' */
/** @import { ShippedLine } from './backlog.js' */

/**
 * One connection to a target, or one process. When it is over it is over: the shipper makes the
 * next.
 * @typedef {object} Link
 * @property {(lines: ShippedLine[]) => void} write  Only when it is open and all that was written
 *   before is taken.
 * @property {(graceMs: number) => Promise<void>} close  Lets what was written arrive, for so long
 *   at most; nothing is told any more. The last call sets the time.
 */

/**
 * What a link tells.
 * @typedef {object} LinkEvents
 * @property {() => void} onOpen  Once.
 * @property {(count: number) => void} onTaken  So many more of the written lines are in the hands
 *   of the system.
 * @property {(reason: string) => void} onDown  Once, at the end. What was not taken has not
 *   arrived, or not as a whole.
 */

/** @typedef {{ clock: Clock, events: LinkEvents }} LinkParts */

/** How long the other end may take to finish, in ms. */
export const PARTING_MS = 1_000;

/**
 * Each of them once, and nothing after the end.
 * @param {LinkEvents} events
 * @returns {LinkEvents & { mute: () => void, isOver: () => boolean }}
 */
function onceOnly(events) {
  let isOver = false;
  return {
    onOpen() {
      if (!isOver) events.onOpen();
    },
    onTaken(count) {
      if (!isOver) events.onTaken(count);
    },
    onDown(reason) {
      if (isOver) return;
      isOver = true;
      events.onDown(reason);
    },
    mute() {
      isOver = true;
    },
    isOver: () => isOver,
  };
}

/** @param {unknown} error */
export function reasonOf(error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
  return code ?? message ?? String(error);
}

/**
 * Into the standard input of a process, a line for each line.
 * @param {{
 *   file: string, args: string[], env: Record<string, string | undefined>, user: User | null
 * }} program  Null: as the user of this process.
 * @param {(line: ShippedLine) => string} textOf  Without the line end.
 * @param {LinkParts} parts
 * @returns {Link}
 */
export function createProcessLink({ file, args, env, user }, textOf, { clock, events }) {
  const told = onceOnly(events);
  // A group of its own: Ctrl-C in the terminal of the manager is not for it.
  const child = withDefaultOomScore(() =>
    spawn(file, args, { ...user, stdio: ['pipe', 'ignore', 'ignore'], env, detached: true }),
  );
  const hasEnded = () => child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
  child.on('spawn', told.onOpen);
  child.on('error', (error) => told.onDown(reasonOf(error)));
  child.on('exit', (code, signal) =>
    told.onDown(signal ? `the command was ended by ${signal}` : `the command ended with code ${code}`),
  );
  // Without descriptors there is no pipe either. EPIPE is no end yet: there must not be a second
  // one beside it.
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

/** A host that has vanished says nothing; the system asks after it. */
const KEEP_ALIVE_MS = 30_000;

/**
 * Over TCP or a Unix socket.
 * @param {{ host: string, port: number } | { path: string, user: User | null }} address  `user`:
 *   whose rights are enough for the path; null: those of this process.
 * @param {(line: ShippedLine) => string} frame
 * @param {LinkParts} parts
 * @returns {Link}  Throws what the system says of the path.
 */
export function createStreamLink(address, frame, { clock, events }) {
  const told = onceOnly(events);
  const socket =
    'path' in address
      ? connectAsUser(address.user, address.path, (path) => connect({ path }))
      : connect({ ...address, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS });
  // Only when its last words are read is the end of the other side noticed.
  socket.resume();
  let cancelEnd = () => {};
  socket.on('connect', told.onOpen);
  socket.on('end', () => {
    socket.destroy();
    told.onDown('the other side has closed the connection');
  });
  socket.on('error', (error) => told.onDown(reasonOf(error)));
  socket.on('close', () => told.onDown('the connection was closed'));

  return {
    write(lines) {
      socket.write(lines.map(frame).join(''), (error) => {
        if (!error) told.onTaken(lines.length);
      });
    },
    close(graceMs) {
      told.mute();
      cancelEnd();
      if (socket.closed) return Promise.resolve();
      return new Promise((resolve) => {
        cancelEnd = clock.after(graceMs, () => socket.destroy());
        socket.on('close', () => {
          cancelEnd();
          resolve();
        });
        if (socket.connecting) socket.destroy();
        else socket.end();
      });
    },
  };
}

/**
 * Characters of one message, which may be four times as many bytes: common receivers cut at 8 KiB.
 * A longer line is sent in parts.
 */
const TEXT_MAX = 2_000;

/**
 * Over UDP, a datagram for each line. Nobody says whether one has arrived; where nobody listens on
 * a host that can be reached, the second one fails.
 * @param {{ host: string, port: number }} address
 * @param {(line: ShippedLine) => string} message
 * @param {LinkParts} parts
 * @returns {Link}
 */
export function createUdpLink({ host, port }, message, { events }) {
  const told = onceOnly(events);
  /** @type {Socket | null} */
  let socket = null;

  lookup(host, (error, address, family) => {
    if (told.isOver()) return;
    if (error) return told.onDown(reasonOf(error));
    const opened = createSocket(family === 6 ? 'udp6' : 'udp4');
    socket = opened;
    opened.on('error', fail);
    opened.on('connect', told.onOpen);
    opened.connect(port, address);
  });

  /** @param {Error} error */
  function fail(error) {
    closeSocket();
    told.onDown(reasonOf(error));
  }

  function closeSocket() {
    socket?.close();
    socket = null;
  }

  return {
    write(lines) {
      for (const entry of lines) {
        const parts = partsOf(entry.line);
        for (const [at, line] of parts.entries()) {
          socket?.send(message({ ...entry, line }), (error) => {
            if (error) fail(error);
            else if (at === parts.length - 1) told.onTaken(1);
          });
        }
      }
    },
    async close() {
      told.mute();
      closeSocket();
    },
  };
}

/** @param {string} line */
function partsOf(line) {
  if (line.length <= TEXT_MAX) return [line];
  /** @type {string[]} */
  const parts = [];
  for (let from = 0; from < line.length; from += parts[parts.length - 1].length)
    parts.push(line.slice(from, endOfPart(line, from + TEXT_MAX)));
  return parts;
}

/**
 * Not between the two halves of a character.
 * @param {string} line
 * @param {number} end
 */
function endOfPart(line, end) {
  const code = line.charCodeAt(end - 1);
  return code >= 0xd800 && code <= 0xdbff && end < line.length ? end - 1 : end;
}
