import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const LISTENS = '0A';

/** The addresses of /proc/net/tcp at which a connection to 127.0.0.1 arrives. */
const LOOPBACK = new Set(['0100007F', '00000000']);

/**
 * Where a process listens on this machine, of IPv4. Linux only.
 * @param {number} pid
 * @returns {Map<string, number>}  Ports by the inode of the socket. Empty when it has ended.
 */
export function listeningPorts(pid) {
  try {
    const own = new Set(readdirSync(`/proc/${pid}/fd`).map((fd) => inodeOf(`/proc/${pid}/fd/${fd}`)));
    const rows = readFileSync(`/proc/${pid}/net/tcp`, 'utf8').split('\n').slice(1).map((line) => line.trim().split(/\s+/));
    return new Map(rows.flatMap(([, local = '', , state, , , , , , inode]) => {
      const [address, port] = local.split(':');
      return state === LISTENS && LOOPBACK.has(address) && own.has(inode) ? [[inode, Number.parseInt(port, 16)]] : [];
    }));
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes(/** @type {NodeJS.ErrnoException} */ (error).code ?? '')) return new Map();
    throw error;
  }
}

/** @param {string} path */
function inodeOf(path) {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(path))?.[1] ?? '';
  } catch {
    return ''; // Closed meanwhile.
  }
}
