import { openHttp2 } from './http2.js';
import { openLines } from './lines.js';
import { openPipelined } from './pipelined.js';
import { openDownload, openKeepAlive, openOneShot, openSlow, openUpload } from './requests.js';
import { openSocketIo } from './socket-io.js';
import { openWebSocket } from './websocket.js';

/** @import { Outcome } from '../ledger.js' */
/** @import { Address } from './target.js' */

/**
 * One client. `one` sends its next request, or the few it sends together, and says what became of
 * each. It never rejects.
 * @typedef {{ one: () => Promise<Outcome | Outcome[]>, close: () => void }} Client
 */

/**
 * @typedef {object} ClientOptions
 * @property {number} timeoutMs  How long an answer may take beyond what was asked for.
 * @property {[number, number]} slowMs  How long slow answers take: from, to.
 * @property {number} transferMs  How long uploads and downloads take.
 * @property {number} sessionMs  How long a WebSocket stays open.
 * @property {AbortSignal} stopping
 */

/** @typedef {(address: Address, o: ClientOptions) => Client} OpenClient */

/**
 * Every kind of traffic. TLS and Unix sockets are matters of the target: each kind but Socket.IO
 * can use them.
 */
export const KINDS = {
  'one-shot': openOneShot,
  'keep-alive': openKeepAlive,
  pipelined: openPipelined,
  slow: openSlow,
  upload: openUpload,
  download: openDownload,
  http2: openHttp2,
  websocket: openWebSocket,
  'socket.io': openSocketIo,
  line: openLines,
};

/** @typedef {keyof typeof KINDS} Kind */
