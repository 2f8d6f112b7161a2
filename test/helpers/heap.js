import { createRequire } from 'node:module';
import { privateBytes } from './processes.js';
import { pause, waitFor } from './wait-for.js';

const FRAMEWORKS = new URL('../frameworks/', import.meta.url);
const INSPECTOR = 'http://127.0.0.1:9229/json/list';

/**
 * Number of garbage collections. There are several, because one collection does not free unsent
 * messages and objects with finalizers.
 */
const LOOKS = 4;
const LOOK_EVERY_MS = 60;

/**
 * Types of nodes that `heapBytes` leaves out, because V8 creates and drops compiled code at any
 * time, and the code grows with the work.
 */
const COMPILED = ['code', 'hidden'];

/**
 * inUse() opens the inspector of a process, measures these values, and closes the inspector.
 * @typedef {object} InUse
 * @property {number} heapBytes  After a full garbage collection, without compiled code.
 * @property {number} privateBytes  After the same collection, including V8's reserve.
 * @property {Record<string, number>} handles  Active resources and timers by kind. Each count is
 *   the smallest of several measurements, so that short-lived resources do not count.
 */

/**
 * @param {number} pid  No other process of the machine may have its inspector open.
 * @returns {Promise<InUse>}
 */
export async function inUse(pid) {
  /** @type {any} */ (process)._debugProcess(pid);
  const url = await waitFor(
    'the inspector',
    async () => /** @type {any} */ (await (await fetch(INSPECTOR)).json())[0]?.webSocketDebuggerUrl,
  );
  const { WebSocket } = createRequire(FRAMEWORKS)('ws');
  const socket = new WebSocket(url, { maxPayload: 2 ** 30 });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  let lastId = 0;
  /** @type {Map<number, (result: any) => void>} */
  const asked = new Map();
  socket.on('message', (/** @type {Buffer} */ data) => {
    const { id, result } = JSON.parse(data.toString());
    asked.get(id)?.(result);
    asked.delete(id);
  });
  const call = (/** @type {string} */ method, /** @type {object} */ params = {}) =>
    new Promise((resolve) => {
      const id = (lastId += 1);
      asked.set(id, resolve);
      socket.send(JSON.stringify({ id, method, params }));
    });
  const looks = [];
  for (let look = 0; look < LOOKS; look += 1) {
    await pause(LOOK_EVERY_MS);
    await call('HeapProfiler.collectGarbage');
    looks.push(await activeResources(call));
  }
  const ownBytes = privateBytes(pid);
  const heapBytes = await snapshotBytes(socket, call);
  // The process closes its inspector. This also ends our connection.
  const closed = new Promise((resolve) => socket.once('close', resolve));
  void call('Runtime.evaluate', { expression: 'setImmediate(() => process._debugEnd())' });
  await closed;
  return { heapBytes, privateBytes: ownBytes, handles: leastHandles(looks) };
}

/** @param {(method: string, params?: object) => Promise<any>} call */
async function activeResources(call) {
  const { result } = await call('Runtime.evaluate', {
    expression: 'JSON.stringify(process.getActiveResourcesInfo().sort())',
  });
  /** @type {Record<string, number>} */
  const counts = {};
  for (const kind of JSON.parse(result.value)) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/**
 * @param {Record<string, number>[]} looks
 * @returns {Record<string, number>}
 */
export function leastHandles([first, ...others]) {
  const counts = Object.entries(first).map(
    ([kind, count]) => /** @type {const} */ ([kind, Math.min(count, ...others.map((one) => one[kind] ?? 0))]),
  );
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

/**
 * @param {any} socket
 * @param {(method: string, params?: object) => Promise<any>} call
 */
async function snapshotBytes(socket, call) {
  let text = '';
  socket.on('message', (/** @type {Buffer} */ data) => {
    const { method, params } = JSON.parse(data.toString());
    if (method === 'HeapProfiler.addHeapSnapshotChunk') text += params.chunk;
  });
  await call('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
  const {
    snapshot: { meta },
    nodes,
  } = JSON.parse(text);
  const [type, size] = ['type', 'self_size'].map((name) => meta.node_fields.indexOf(name));
  let bytes = 0;
  for (let at = 0; at < nodes.length; at += meta.node_fields.length) {
    if (!COMPILED.includes(meta.node_types[type][nodes[at + type]])) bytes += nodes[at + size];
  }
  return bytes;
}
