import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';

// These ports are below the ports that the kernel uses for outgoing connections, because a load
// test opens thousands of such connections.
const LOWEST = 12_000;
const HIGHEST = 32_000;

/** @type {Set<number>} */
const taken = new Set();

/** @returns {Promise<number>}  Never the same port twice. */
export async function takePort() {
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    if (taken.has(port) || !(await isFree(port))) continue;
    taken.add(port);
    return port;
  }
}

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
export function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, () => server.close(() => resolve(true)));
  });
}

const LISTENS = '0A';
/** 127.0.0.1 and 0.0.0.0. */
const LOOPBACK = new Set(['0100007F', '00000000']);

/**
 * The IPv4 ports at which a process accepts connections to 127.0.0.1. An open inspector has one.
 * @param {number} pid
 */
export function loopbackPorts(pid) {
  const own = new Set(readdirSync(`/proc/${pid}/fd`).map((fd) => linkTarget(`/proc/${pid}/fd/${fd}`)));
  return readFileSync(`/proc/${pid}/net/tcp`, 'utf8')
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = '', , state, , , , , , inode]) => {
      return state === LISTENS && LOOPBACK.has(local.split(':')[0]) && own.has(`socket:[${inode}]`);
    })
    .map(([, local]) => Number.parseInt(local.split(':')[1], 16));
}

/** @param {string} path */
function linkTarget(path) {
  try {
    return readlinkSync(path);
  } catch {
    return ''; // The descriptor is already closed.
  }
}
