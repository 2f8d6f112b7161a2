import { hostname } from 'node:os';
import { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { TICK_MS } from '../../../lib/shared/metrics.js';
import { parseLine, resultLine } from '../../../lib/shared/wire/rpc.js';
import { serveConnection } from '../api/connection.js';
import { createPageAnswer } from './permissions.js';

/** @import { IncomingMessage } from 'node:http' */
/** @import { RawData, WebSocket } from 'ws' */
/** @import { ApiContext } from '../context.js' */
/** @import { Clock } from '../host/clock.js' */

const MESSAGE_MAX_BYTES = 64 * 1024;
const PAGES_MAX = 64;

/** Time for a page to close, in ms. */
const FAREWELL_MS = 1_000;

/**
 * A page gets no answer before it has sent the right token.
 * @typedef {object} Pages
 * @property {() => boolean} isFull
 * @property {(request: IncomingMessage, socket: Duplex, head: Buffer) => void} take
 * @property {(isRight: (given: unknown) => boolean) => void} changeToken  For new connections.
 * @property {() => void} sendAway  Closes all connections. The pages connect again, with
 *   their new permissions.
 * @property {() => void} close  Ends all connections at once.
 */

/**
 * @param {object} o
 * @param {ApiContext} o.context
 * @param {Clock} o.clock
 * @param {(given: unknown) => boolean} o.isRight  Checks the token.
 * @param {() => boolean} o.mayAct
 * @param {(socket: Duplex) => void} o.onRight  The client has sent the token.
 * @returns {Pages}
 */
export function createPages({ context, clock, isRight: isRightNow, mayAct, onRight }) {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: MESSAGE_MAX_BYTES,
    perMessageDeflate: false,
  });
  const answer = createPageAnswer(context, mayAct);
  /** @type {Set<WebSocket>} */
  const strangers = new Set();
  /** @type {Set<WebSocket>} */
  const pages = new Set();
  let isRight = isRightNow;

  /**
   * @param {WebSocket} ws
   * @param {Duplex} socket
   */
  function meet(ws, socket) {
    strangers.add(ws);
    ws.on('close', () => {
      strangers.delete(ws);
      pages.delete(ws);
    });
    // Closes the connection, because the client broke the protocol. ws has sent a close code.
    ws.on('error', () => ws.terminate());
    askForToken(ws, {
      isRight: (given) => isRight(given),
      clock,
      onRight(id) {
        if (pages.size >= PAGES_MAX) return dismiss(ws, COME_AGAIN, 'too many pages are open');
        onRight(socket);
        return welcome(ws, id);
      },
      onWrong: () => dismiss(ws, NOT_AUTHENTICATED, 'the token is missing or wrong'),
    });
  }

  /**
   * @param {WebSocket} ws
   * @param {string | number} id
   */
  function welcome(ws, id) {
    strangers.delete(ws);
    pages.add(ws);
    const stream = pageStream(ws);
    serveConnection(stream, { answer, clock });
    stream.write(
      resultLine(id, {
        version: context.version,
        home: context.paths.home,
        host: hostname(),
        mayAct: mayAct(),
        pollMs: TICK_MS,
      }),
    );
  }

  /**
   * @param {WebSocket} ws
   * @param {number} code
   * @param {string} reason
   */
  function dismiss(ws, code, reason) {
    ws.removeAllListeners('message'); // Later requests of this client are ignored.
    ws.close(code, reason);
    const cancel = clock.after(FAREWELL_MS, () => ws.terminate());
    ws.once('close', cancel);
  }

  return {
    isFull: () => pages.size >= PAGES_MAX,
    take: (request, socket, head) => server.handleUpgrade(request, socket, head, (ws) => meet(ws, socket)),
    changeToken(next) {
      isRight = next;
    },
    sendAway() {
      for (const ws of [...strangers, ...pages]) dismiss(ws, COME_AGAIN, 'the settings have changed');
    },
    close() {
      for (const ws of [...strangers, ...pages]) ws.terminate();
    },
  };
}

/** The close code that makes the page connect again. */
const COME_AGAIN = 1012;
const NO_TEXT = 1003;

/**
 * Makes a stream of lines, as for socket clients, so that the same rules for slow readers apply.
 * @param {WebSocket} ws
 */
function pageStream(ws) {
  const stream = new Duplex({
    decodeStrings: false,
    read() {
      ws.resume();
    },
    write(line, _encoding, done) {
      // Call done() when the system has accepted the line. Until then the line counts as waiting.
      if (ws.readyState === ws.OPEN) ws.send(String(line), done);
      else done();
    },
    final(done) {
      ws.close(COME_AGAIN);
      done();
    },
    destroy(error, done) {
      ws.terminate();
      done(error);
    },
  });
  ws.on('message', (data, isBinary) => {
    if (isBinary) return ws.close(NO_TEXT);
    // In JSON, line ends occur only between tokens, so a space can replace them.
    const line = `${String(data).replace(/[\r\n]+/g, ' ')}\n`;
    if (!stream.push(line)) ws.pause();
    return undefined;
  });
  ws.on('close', () => stream.destroy());
  return stream;
}

/** Time for a page to send the token, in ms. */
const TOKEN_MS = 5_000;

/** The close code for a wrong token. */
const NOT_AUTHENTICATED = 4401;

/**
 * The first message must contain the token.
 * @param {WebSocket} ws
 * @param {object} o
 * @param {(given: unknown) => boolean} o.isRight
 * @param {Clock} o.clock
 * @param {(id: string | number) => void} o.onRight  Has to answer the request.
 * @param {() => void} o.onWrong  The token was wrong or late. Not called if the client has left.
 */
function askForToken(ws, { isRight, clock, onRight, onWrong }) {
  const cancel = clock.after(TOKEN_MS, () => {
    ws.off('message', onFirst);
    onWrong();
  });

  /** @param {RawData} data */
  function onFirst(data) {
    cancel();
    const parsed = parseLine(String(data));
    const { id, method, params } = 'message' in parsed ? parsed.message : {};
    if (method === 'authenticate' && id !== undefined && id !== null && isRight(params?.token)) onRight(id);
    else onWrong();
  }

  ws.once('message', onFirst);
  ws.once('close', cancel);
}
