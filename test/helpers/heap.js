import { createRequire } from 'node:module';
import { pause, waitFor } from './wait-for.js';

const FRAMEWORKS = new URL('../frameworks/', import.meta.url);
const INSPECTOR = 'http://127.0.0.1:9229/json/list';

/** One collection leaves what has a finalizer, or is on its way to somebody. */
const LOOKS = 4;
const LOOK_EVERY_MS = 60;

/**
 * What a Node process still needs: its heap after a full garbage collection, asked for through its inspector, which is closed again.
 * @param {number} pid  Only one process of the machine may have its inspector open.
 * @returns {Promise<number>}  In bytes.
 */
export async function heapInUse(pid) {
  /** @type {any} */ (process)._debugProcess(pid);
  const url = await waitFor('the inspector', async () => /** @type {any} */ (await (await fetch(INSPECTOR)).json())[0]?.webSocketDebuggerUrl);
  const { WebSocket } = createRequire(FRAMEWORKS)('ws');
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  let lastId = 0;
  const call = (/** @type {string} */ method, /** @type {object} */ params = {}) =>
    new Promise((resolve) => {
      const id = (lastId += 1);
      socket.on('message', (/** @type {Buffer} */ data) => {
        const message = JSON.parse(data.toString());
        if (message.id === id) resolve(message.result);
      });
      socket.send(JSON.stringify({ id, method, params }));
    });
  const looks = [];
  for (let look = 0; look < LOOKS; look += 1) {
    await pause(LOOK_EVERY_MS);
    await call('HeapProfiler.collectGarbage');
    looks.push((await call('Runtime.evaluate', { expression: 'process.memoryUsage().heapUsed' })).result.value);
  }
  // Closing it from inside ends this connection.
  const closed = new Promise((resolve) => socket.once('close', resolve));
  void call('Runtime.evaluate', { expression: 'setImmediate(() => process._debugEnd())' });
  await closed;
  return Math.min(...looks);
}
