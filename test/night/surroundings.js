// The surroundings of the apps: clients, another service, and a disk.
import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { Agent, createServer, get } from 'node:http';
import { join } from 'node:path';
import { pause } from '../helpers/wait-for.js';

/** @import { ClientRequest, ServerResponse } from 'node:http' */

/** A client whose request was refused waits for this long. */
const RETRY_MS = 200;

/** Clients that ask an app again and again, until end(). */
export function createTraffic() {
  const agent = new Agent({ keepAlive: true });
  /** @type {Set<ClientRequest>} */
  const open = new Set();
  /** @type {Promise<void>[]} */
  const clients = [];
  let hasEnded = false;

  /** @param {ClientRequest} request */
  function track(request) {
    open.add(request);
    return request.once('close', () => open.delete(request));
  }

  /** @param {string} url */
  const ask = (url) =>
    new Promise((resolve) => {
      track(get(url, { agent }, (response) => response.resume()))
        .on('error', () => {
          // The app is down, or the night has ended.
        })
        .on('close', resolve);
    });

  /**
   * @param {string} url
   * @param {number} everyMs
   */
  async function runClient(url, everyMs) {
    while (!hasEnded) {
      await ask(url);
      await pause(Math.max(RETRY_MS, everyMs));
    }
  }

  return {
    track,
    /**
     * @param {string} url
     * @param {{ atOnce: number, everyMs: number }} load
     */
    begin(url, { atOnce, everyMs }) {
      for (let at = 0; at < atOnce; at += 1) clients.push(runClient(url, everyMs));
    },
    end() {
      hasEnded = true;
      for (const request of open) request.destroy();
      agent.destroy();
    },
  };
}

/** A service that the apps ask. By default it answers at once. */
export function createUpstream() {
  /** By app. @type {Map<string, number>} */
  const delays = new Map();
  /** @type {Map<string, Set<ServerResponse>>} */
  const waiting = new Map();
  const server = createServer((request, response) => {
    const name = String(request.url).slice(1);
    const delayMs = delays.get(name) ?? 0;
    if (delayMs === Infinity) waiting.set(name, (waiting.get(name) ?? new Set()).add(response));
    else void pause(delayMs).then(() => response.end('answered'));
  });
  return {
    /** @returns {Promise<number>}  The port. */
    listen: () =>
      new Promise((resolve) => {
        server.listen(0, '127.0.0.1', () => resolve(/** @type {{ port: number }} */ (server.address()).port));
      }),
    /**
     * @param {string} name
     * @param {number} ms
     */
    delay: (name, ms) => void delays.set(name, ms),
    /** @param {string} name */
    hang: (name) => void delays.set(name, Infinity),
    /** @param {string} name */
    answer(name) {
      delays.delete(name);
      for (const response of waiting.get(name) ?? []) response.end('answered');
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

export const mayMount = process.platform === 'linux' && process.getuid?.() === 0;

/**
 * A disk of its own, because a full one must not harm others.
 * @param {string} folder
 */
export function createDisk(folder) {
  const filler = join(folder, 'filler');
  mkdirSync(folder);
  if (mayMount) execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder]);
  return {
    fill() {
      const file = openSync(filler, 'w');
      try {
        for (;;) writeSync(file, Buffer.alloc(4096));
      } catch (error) {
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOSPC') throw error;
      } finally {
        closeSync(file);
      }
    },
    free: () => rmSync(filler),
    remove() {
      if (mayMount) execFileSync('umount', [folder]);
    },
  };
}
