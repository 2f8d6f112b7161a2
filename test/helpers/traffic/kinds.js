import { openHttp2 } from './http2.js';
import { openLines } from './lines.js';
import { openPipelined } from './pipelined.js';
import { openDownload, openKeepAlive, openOneShot, openSlow, openUpload } from './requests.js';
import { openSocketIo } from './socket-io.js';
import { openWebSocket } from './websocket.js';

/** @import { Outcome } from '../ledger.js' */
/** @import { Address } from './target.js' */

/**
 * `one` sends the next request, or several at once. It never rejects.
 * @typedef {{ one: () => Promise<Outcome | Outcome[]>, close: () => void }} Client
 */

/**
 * @typedef {object} ClientOptions
 * @property {number} timeoutMs  Time for an answer beyond the requested delay.
 * @property {[number, number]} slowMs
 * @property {number} transferMs
 * @property {number} sessionMs
 * @property {AbortSignal} stopping
 */

/** @typedef {(address: Address, o: ClientOptions) => Client} OpenClient */

/** TLS and Unix sockets depend on the target: each kind except Socket.IO can use them. */
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
