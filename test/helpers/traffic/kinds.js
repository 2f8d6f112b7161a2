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
 * @property {number} timeoutMs  Time limit for an answer, added to the requested delay.
 * @property {[number, number]} slowMs
 * @property {number} transferMs
 * @property {number} sessionMs
 * @property {AbortSignal} stopping
 */

/** @typedef {(address: Address, o: ClientOptions) => Client} OpenClient */

/** The target decides about TLS and Unix sockets. Every kind except Socket.IO supports both. */
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
