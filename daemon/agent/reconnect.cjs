// After the keeper of this process has died, the process still serves. It looks for the next
// keeper, which then replaces the process.
'use strict';

const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { setTimeout } = require('node:timers');
const { tryTo } = require('./isolation.cjs');

/** @import { LogFiles } from './log-fallback.cjs' */

const LOOK_EVERY_MS = 200;

/**
 * @param {object} o
 * @param {string} o.home
 * @param {string} o.instanceId
 * @param {LogFiles} [o.logFiles]
 * @param {(message: any) => void} o.receive
 * @returns {{ say: (message: object) => boolean }}
 */
function findKeeper({ home, instanceId, logFiles, receive }) {
  // Starts the log fallback at once. A later timer might never fire, because an app that fills its
  // pipe hangs in write(2).
  const begin = () =>
    logFiles && process.platform === 'linux'
      ? require('./log-fallback.cjs').startLogFallback({ logFiles, home })
      : null;
  /** @type {(() => void) | null} */
  let endStandIn = begin();
  const run = path.join(home, 'run');
  /** @type {net.Socket | null} */
  let socket = null;

  const look = () => {
    try {
      knock();
    } catch {
      // knock() throws, for example, if no descriptor is left.
      lookLater();
    }
  };
  const knock = () => {
    const socketPath = newestKeeperSocket(run);
    if (!socketPath) return lookLater();
    const next = net.connect(socketPath).unref();
    next.setEncoding('utf8');
    next.once('connect', () => {
      socket = next;
      endStandIn?.();
      endStandIn = null;
      next.write(JSON.stringify({ v: 1, orphan: instanceId }) + '\n');
      next.write(JSON.stringify({ act: 'hello' }) + '\n');
    });
    let rest = '';
    next.on('data', (text) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) tryTo(() => receive(JSON.parse(line)));
    });
    // 'close' follows, and its listener continues the search.
    next.on('error', () => {});
    next.once('close', () => {
      if (socket === next) endStandIn = begin();
      socket = null;
      lookLater();
    });
  };
  const lookLater = () => tryTo(() => void setTimeout(look, LOOK_EVERY_MS).unref());
  look();
  return { say: (message) => socket !== null && (socket.write(JSON.stringify(message) + '\n'), true) };
}

/** @param {string} run */
function newestKeeperSocket(run) {
  const numbers = readNames(run).flatMap((name) => /^keeper\.(\d+)\.sock$/.exec(name)?.[1] ?? []);
  return numbers.length === 0 ? null : path.join(run, `keeper.${Math.max(...numbers.map(Number))}.sock`);
}

/** @param {string} folder */
function readNames(folder) {
  try {
    return fs.readdirSync(folder);
  } catch {
    // The home was removed, or the app has changed its user and cannot read it.
    return [];
  }
}

module.exports = { findKeeper };
