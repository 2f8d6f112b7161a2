import { Agent } from 'node:http';
import { createRequire } from 'node:module';

const FRAMEWORKS = new URL('../../frameworks/', import.meta.url);
const RETRIES = 5;

let opened = 0;

/**
 * Messages that have to be acknowledged, with Socket.IO's own client as it is: polling first, then the upgrade; it connects again by itself, and
 * with `retries` it sends again what was not acknowledged. Each client comes from an address of its own, for sticky balancing. Why connections
 * ended is noted.
 * @type {import('./kinds.js').OpenClient}
 */
export function openSocketIo({ host, port }, { timeoutMs }) {
  const { io } = createRequire(FRAMEWORKS)('socket.io-client');
  opened += 1;
  const agent = new Agent({ keepAlive: true, localAddress: `127.0.0.${1 + (opened % 250)}` });
  const socket = io(`http://${host}:${port}`, { agent, forceNew: true, retries: RETRIES, ackTimeout: Math.floor(timeoutMs / RETRIES), reconnectionDelay: 20, reconnectionDelayMax: 100 });
  /** @type {string|undefined} */
  let note;
  socket.on('disconnect', (/** @type {string} */ reason) => (note = `connection ended: ${reason}`));
  socket.on('connect_error', (/** @type {Error} */ error) => (note = `could not connect: ${error.message}`));
  let said = 0;
  return {
    async one() {
      const message = (said += 1);
      const outcome = await say(socket, message);
      const noted = note;
      note = undefined;
      return noted === undefined ? outcome : { ...outcome, note: noted };
    },
    close() {
      socket.disconnect();
      agent.destroy();
    },
  };
}

/**
 * @param {any} socket
 * @param {number} message
 * @returns {Promise<import('../ledger.js').Outcome>}
 */
function say(socket, message) {
  return new Promise((resolve) => {
    socket.emit('say', message, (/** @type {Error|null} */ error, /** @type {{pid: number, message: number}} */ answer) => {
      if (error) resolve({ bucket: 'hung', detail: `not acknowledged in ${RETRIES} attempts: ${error.message}` });
      else if (answer.message !== message) resolve({ bucket: 'wrong', detail: `"${answer.message}" in place of "${message}"` });
      else resolve({ bucket: 'ok', detail: '', pid: answer.pid });
    });
  });
}
