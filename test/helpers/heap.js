import { createRequire } from 'node:module';
import { pause, waitFor } from './wait-for.js';

const FRAMEWORKS = new URL('../frameworks/', import.meta.url);
const INSPECTOR = 'http://127.0.0.1:9229/json/list';

/** One collection leaves what has a finalizer, or is on its way to somebody. */
const LOOKS = 4;
const LOOK_EVERY_MS = 60;

/** What V8 makes and throws away as it sees fit: the more a program has done, the more of it is compiled. */
const COMPILED = ['code', 'hidden'];

/**
 * What a Node process still needs: its heap after a full garbage collection, without compiled code, asked for through its inspector, which is closed again.
 * @param {number} pid  Only one process of the machine may have its inspector open.
 * @returns {Promise<number>}  In bytes.
 */
export async function heapInUse(pid) {
  /** @type {any} */ (process)._debugProcess(pid);
  const url = await waitFor('the inspector', async () => /** @type {any} */ (await (await fetch(INSPECTOR)).json())[0]?.webSocketDebuggerUrl);
  const { WebSocket } = createRequire(FRAMEWORKS)('ws');
  const socket = new WebSocket(url, { maxPayload: 2 ** 30 });
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
  for (let look = 0; look < LOOKS; look += 1) {
    await pause(LOOK_EVERY_MS);
    await call('HeapProfiler.collectGarbage');
  }
  const heapBytes = await snapshotBytes(socket, call);
  // Closing it from inside ends this connection.
  const closed = new Promise((resolve) => socket.once('close', resolve));
  void call('Runtime.evaluate', { expression: 'setImmediate(() => process._debugEnd())' });
  await closed;
  return heapBytes;
}

/**
 * @param {any} socket  Of an inspector.
 * @param {(method: string, params?: object) => Promise<any>} call
 * @returns {Promise<number>}
 */
async function snapshotBytes(socket, call) {
  let text = '';
  socket.on('message', (/** @type {Buffer} */ data) => {
    const { method, params } = JSON.parse(data.toString());
    if (method === 'HeapProfiler.addHeapSnapshotChunk') text += params.chunk;
  });
  await call('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
  const { snapshot: { meta }, nodes } = JSON.parse(text);
  const [type, size] = ['type', 'self_size'].map((name) => meta.node_fields.indexOf(name));
  let bytes = 0;
  for (let at = 0; at < nodes.length; at += meta.node_fields.length) {
    if (!COMPILED.includes(meta.node_types[type][nodes[at + type]])) bytes += nodes[at + size];
  }
  return bytes;
}
