import { Agent } from 'node:http';
import { createRequire } from 'node:module';

/** @import { Outcome } from '../ledger.js' */
/** @import { OpenClient } from './kinds.js' */

const FRAMEWORKS = new URL('../../frameworks/', import.meta.url);
const RETRIES = 5;

let opened = 0;

export const UPGRADED = 'upgraded to websocket';

/**
 * socket.io repeats messages because of `retries`. Each client connects from another address,
 * because sticky balancing depends on the address.
 * @type {OpenClient}
 */
export function openSocketIo(address, { timeoutMs }) {
  /** @type {string | undefined} */
  let note;
  const { say, close } = openSession(address, { timeoutMs, onTrouble: (trouble) => (note = trouble) });
  let upgradedId = '';
  let said = 0;
  return {
    async one() {
      const message = (said += 1);
      const { sessionId, transport, ...outcome } = judge(message, await say(message));
      const noted = note ?? (transport === 'websocket' && sessionId !== upgradedId ? UPGRADED : undefined);
      if (noted === UPGRADED) upgradedId = sessionId;
      note = undefined;
      return noted === undefined ? outcome : { ...outcome, note: noted };
    },
    close,
  };
}

/**
 * @typedef {{ pid: number, message: number, transport: string, sessionId: string }} Answer
 * @typedef {{ say: (message: number) => Promise<Answer | Error>, close: () => void }} Session
 */

/**
 * @param {{ host: string, port: number }} address
 * @param {object} o
 * @param {number} o.timeoutMs  For a message with all its retries.
 * @param {('polling' | 'websocket')[]} [o.transports]
 * @param {(trouble: string) => void} o.onTrouble  The client retries after any trouble.
 * @returns {Session}
 */
export function openSession({ host, port }, { timeoutMs, transports = ['polling', 'websocket'], onTrouble }) {
  const { io } = createRequire(FRAMEWORKS)('socket.io-client');
  opened += 1;
  const agent = new Agent({ keepAlive: true, localAddress: `127.0.0.${1 + (opened % 250)}` });
  const socket = io(`http://${host}:${port}`, {
    agent,
    transports,
    forceNew: true,
    retries: RETRIES,
    ackTimeout: Math.floor(timeoutMs / RETRIES),
    reconnectionDelay: 20,
    reconnectionDelayMax: 100,
  });
  socket.on('disconnect', (/** @type {string} */ reason) => onTrouble(`connection ended: ${reason}`));
  socket.on('connect_error', (/** @type {Error} */ error) => onTrouble(`could not connect: ${error.message}`));
  return {
    say: (message) =>
      new Promise((resolve) => {
        socket.emit(
          'say',
          message,
          (/** @type {Error | null} */ error, /** @type {Omit<Answer, 'sessionId'>} */ answer) =>
            resolve(error ?? { ...answer, sessionId: socket.id }),
        );
      }),
    close() {
      socket.off().disconnect();
      agent.destroy();
    },
  };
}

/**
 * @param {number} message
 * @param {Answer | Error} answer
 * @returns {Outcome & { transport?: string, sessionId: string }}
 */
function judge(message, answer) {
  if (answer instanceof Error)
    return { bucket: 'hung', detail: `not acknowledged in ${RETRIES} attempts: ${answer.message}`, sessionId: '' };
  const { transport, sessionId, pid } = answer;
  if (answer.message !== message)
    return { bucket: 'wrong', detail: `"${answer.message}" in place of "${message}"`, sessionId };
  return { bucket: 'ok', detail: '', pid, transport, sessionId };
}
