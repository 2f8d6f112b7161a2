import { Duplex } from 'node:stream';

/** @import { WebSocket } from 'ws' */

/** What a browser is told whose connection we end: come again. */
export const COME_AGAIN = 1012;
const NO_TEXT = 1003;

/**
 * A WebSocket as the stream of lines that a client of the socket is: what is known there of slow readers counts here, too. Each message is a line, both ways.
 * @param {WebSocket} ws
 * @returns {Duplex}
 */
export function pageStream(ws) {
  const stream = new Duplex({
    decodeStrings: false,
    read() {
      ws.resume();
    },
    write(line, _encoding, done) {
      // Done when the system has taken it: until then it counts as waiting.
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
    // In JSON a line can only end between two words.
    const line = `${String(data).replace(/[\r\n]+/g, ' ')}\n`;
    if (!stream.push(line)) ws.pause();
    return undefined;
  });
  ws.on('close', () => stream.destroy());
  return stream;
}
