import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns';
import { connect } from 'node:net';
import { withDeadline } from '../../../../lib/shared/deadline.js';
import { runWithDefaultOomScore } from '../../../../lib/shared/daemon/oom-score.js';
import { connectAsUser } from '../../../../lib/shared/host/as-user.js';
import { optionsAsUser } from '../../../../lib/shared/host/run-as-user.js';

/** @import { Socket } from 'node:dgram' */
/** @import { EventEmitter } from 'node:events' */
/** @import { User } from '../../../../lib/shared/host/user-path.js' */
/** @import { Clock } from '../../host/clock.js' */
/** @import { ShippedLine } from './backlog.js' */

/**
 * One connection to a target, or one process. After the end of a link, the shipper creates another.
 * @typedef {object} Link
 * @property {(lines: ShippedLine[]) => void} write
 *   To be called when the link is open and all earlier lines are taken.
 * @property {(graceMs: number) => Promise<void>} close  Waits up to `graceMs` until lines have
 *   arrived. The link emits no more events. A later call sets another time limit.
 */

/**
 * @typedef {object} LinkEvents
 * @property {() => void} onOpen  Called once.
 * @property {(count: number) => void} onTaken  The system has accepted this many more lines.
 * @property {(reason: string) => void} onDown
 *   Called once, at the end. It is not known which of the lines that were not taken have arrived.
 */

/** @typedef {{ clock: Clock, events: LinkEvents }} LinkParts */

/** Time for the other end to finish, in ms. */
export const PARTING_MS = 1_000;

/**
 * Passes events on until onDown() or mute(). Passes onDown() on only once.
 * @param {LinkEvents} events
 * @returns {LinkEvents & { mute: () => void, isOver: () => boolean }}
 */
function onceOnly(events) {
  let isOver = false;
  const mute = () => void (isOver = true);
  return {
    onOpen: () => isOver || events.onOpen(),
    onTaken: (count) => isOver || events.onTaken(count),
    onDown(reason) {
      if (isOver) return;
      mute();
      events.onDown(reason);
    },
    mute,
    isOver: () => isOver,
  };
}

/**
 * Returns a function that waits for the last event of a link, but at most `graceMs`. A later call
 * sets another time limit.
 * @param {Clock} clock
 * @param {EventEmitter} link
 * @param {'exit' | 'close'} event
 * @returns {(graceMs: number, onLate: () => unknown) => Promise<void>}
 */
function createEnd(clock, link, event) {
  let cancel = () => {};
  const ended = new Promise((resolve) => link.once(event, resolve));
  return (graceMs, onLate) => {
    cancel();
    return withDeadline(graceMs, ended, onLate, (ms, onTime) => (cancel = clock.after(ms, onTime)));
  };
}

/** @param {unknown} error */
export function describeError(error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
  return code ?? message ?? String(error);
}

/**
 * Starts a process, and writes each log line to the standard input of the process.
 * @param {{
 *   file: string, args: string[], env: Record<string, string | undefined>, user: User | null
 * }} program  `user` null: the user of this process.
 * @param {(line: ShippedLine) => string} textOf  Without the line end.
 * @param {LinkParts} parts
 * @returns {Link}
 */
export function createProcessLink({ file, args, env, user }, textOf, { clock, events }) {
  const report = onceOnly(events);
  const child = runWithDefaultOomScore(() =>
    spawn(file, args, {
      ...optionsAsUser(user ?? { uid: null, gid: null }),
      stdio: ['pipe', 'ignore', 'ignore'],
      env,
    }),
  );
  const hasEnded = () => child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
  child.on('spawn', report.onOpen);
  child.on('error', (error) => report.onDown(describeError(error)));
  child.on('exit', (code, signal) =>
    report.onDown(signal ? `the command was killed by ${signal}` : `the command exited with code ${code}`),
  );
  // `stdin` is missing if no descriptor was free. EPIPE is ignored, because the process may still
  // run: onDown() would let the shipper start a second process beside the first process.
  child.stdin?.on('error', () => {});
  const end = createEnd(clock, child, 'exit');

  return {
    write(lines) {
      child.stdin.write(lines.map((line) => `${textOf(line)}\n`).join(''), (error) => {
        if (!error) report.onTaken(lines.length);
      });
    },
    close(graceMs) {
      report.mute();
      child.stdin?.end();
      // Ends the process if it still runs although its input has ended.
      return hasEnded() ? Promise.resolve() : end(graceMs, () => child.pid !== undefined && endGroup(child.pid));
    },
  };
}

/**
 * Ends the shell and its children.
 * @param {number} pid
 */
function endGroup(pid) {
  try {
    process.kill(-pid, 'SIGTERM');
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error;
  }
}

/** The interval at which the system checks whether a silent host still exists, in ms. */
const KEEP_ALIVE_MS = 30_000;

/**
 * @param {{ host: string, port: number } | { path: string, user: User | null }} address
 *   Connects with the rights of `user`. Null: with the rights of this process.
 * @param {(line: ShippedLine) => string} frame
 * @param {LinkParts} parts
 * @returns {Link}  Throws errors of the system about the path.
 */
export function createStreamLink(address, frame, { clock, events }) {
  const report = onceOnly(events);
  const socket =
    'path' in address
      ? connectAsUser(address.user, address.path, (path) => connect({ path }))
      : connect({ ...address, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS });
  // Reads and drops incoming data, because Node.js reports the end of the connection only after all
  // data are read.
  socket.resume();
  const end = createEnd(clock, socket, 'close');
  socket.on('connect', report.onOpen);
  socket.on('end', () => {
    socket.destroy();
    report.onDown('the other side closed the connection');
  });
  socket.on('error', (error) => report.onDown(describeError(error)));
  socket.on('close', () => report.onDown('the connection was closed'));

  return {
    write(lines) {
      socket.write(lines.map(frame).join(''), (error) => {
        if (!error) report.onTaken(lines.length);
      });
    },
    close(graceMs) {
      report.mute();
      if (socket.connecting) socket.destroy();
      else socket.end();
      return socket.closed ? Promise.resolve() : end(graceMs, () => socket.destroy());
    },
  };
}

/** Maximum characters of a line: many receivers cut at 8 KiB; a character has up to four bytes. */
const TEXT_MAX = 2_000;

/**
 * UDP does not report whether a datagram arrives. If no program listens, the second datagram fails.
 * @param {{ host: string, port: number }} address
 * @param {(line: ShippedLine) => string} message
 * @param {LinkParts} parts
 * @returns {Link}
 */
export function createUdpLink({ host, port }, message, { events }) {
  const report = onceOnly(events);
  /** @type {Socket | null} */
  let socket = null;

  lookup(host, (error, address, family) => {
    if (report.isOver()) return;
    if (error) return report.onDown(describeError(error));
    const opened = createSocket(family === 6 ? 'udp6' : 'udp4');
    socket = opened;
    opened.on('error', fail);
    opened.on('connect', report.onOpen);
    opened.connect(port, address);
  });

  /** @param {Error} error */
  function fail(error) {
    closeSocket();
    report.onDown(describeError(error));
  }

  function closeSocket() {
    socket?.close();
    socket = null;
  }

  return {
    write(lines) {
      for (const entry of lines) {
        const parts = splitParts(entry.line);
        for (const [at, line] of parts.entries()) {
          socket?.send(message({ ...entry, line }), (error) => {
            if (error) fail(error);
            else if (at === parts.length - 1) report.onTaken(1);
          });
        }
      }
    },
    async close() {
      report.mute();
      closeSocket();
    },
  };
}

/** @param {string} line */
function splitParts(line) {
  if (line.length <= TEXT_MAX) return [line];
  /** @type {string[]} */
  const parts = [];
  for (let from = 0; from < line.length; from += parts[parts.length - 1].length)
    parts.push(line.slice(from, endOfPart(line, from + TEXT_MAX)));
  return parts;
}

/**
 * Returns an end that does not split a surrogate pair.
 * @param {string} line
 * @param {number} end
 */
function endOfPart(line, end) {
  const code = line.charCodeAt(end - 1);
  return code >= 0xd800 && code <= 0xdbff && end < line.length ? end - 1 : end;
}
