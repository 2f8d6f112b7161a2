import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { toWire } from '../../../lib/shared/errors.js';
import { PROTOCOL } from '../../../lib/shared/wire/protocol.js';
import { createLineReader } from '../../../lib/shared/daemon/lines.js';
import { errorLine, notificationLine, parseLine, resultLine } from '../../../lib/shared/wire/rpc.js';

// Pids that no system uses, so that the tests do not read a real process.
const HELLO = {
  version: '0.1.0',
  protocol: PROTOCOL,
  controlPid: 2 ** 30 + 1,
  keeperPid: 2 ** 30 + 2,
  keeperVersion: '0.1.0',
  home: '/h',
  nodeVersion: 'v20.0.0',
  startedAtMs: 0,
};

/**
 * Handlers find the id of the request in `socket.lastId`; they return the result, throw a
 * NclustError, or return `undefined` to leave a request unanswered.
 */
export async function openServer(handlers) {
  const home = mkdtempSync(join(tmpdir(), 'nclust-rpc-'));
  const path = join(home, 'nclust.sock');
  const calls = [];
  const sockets = new Set();
  /** @type {{ id: any, socket: Socket }[]} */
  const unanswered = [];

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    const read = createLineReader({
      maxBytes: 1_000_000,
      onTooLong: () => socket.destroy(),
      onLine: (line) => onLine(line, socket),
    });
    socket.on('data', read);
  });

  function onLine(line, socket) {
    const parsed = parseLine(line);
    if ('fault' in parsed) return socket.write(errorLine(parsed.id, parsed.fault));
    const { id = null, method = '', params } = parsed.message;
    calls.push({ method, params, socket });
    socket.lastId = id;
    try {
      const result = (handlers[method] ?? (() => HELLO))(params, socket);
      if (result === undefined) unanswered.push({ id, socket });
      else if (!socket.destroyed) socket.write(resultLine(id, result));
    } catch (error) {
      socket.write(errorLine(id, toWire(error)));
    }
    return undefined;
  }

  const close = () =>
    new Promise((resolve) => {
      for (const socket of sockets) socket.destroy();
      server.close(() => resolve(undefined));
    });

  await new Promise((resolve) => {
    server.listen(path, () => resolve(undefined));
  });
  onTestFinished(async () => {
    // Answers all requests, because a command without an answer would start a manager in this home.
    for (const { id, socket } of unanswered)
      if (!socket.destroyed) socket.write(errorLine(id, toWire(new Error('The test is over.'))));
    await close();
    rmSync(home, { recursive: true, force: true });
  });
  return {
    home,
    path,
    calls,
    sockets,
    callsTo: (method) => calls.filter((call) => call.method === method),
    notify: (method, params) => {
      for (const socket of sockets) socket.write(notificationLine(method, params));
    },
    reach: () =>
      new Promise((resolve) => {
        const socket = connect({ path });
        socket.once('connect', () => resolve(socket));
        socket.once('error', () => resolve(null));
      }),
    close,
  };
}
