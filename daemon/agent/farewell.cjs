// WebSocket clients of an app that does not care for its own end get a clean close in place of a connection that breaks.
'use strict';

// Not those of the app, which may be a DOM's by now, or never fire.
const { clearTimeout, setTimeout } = require('node:timers');

/** FIN, opcode close, two bytes: 1001, "going away" (RFC 6455, section 7.4.1). Frames of a server are not masked. */
const CLOSE_FRAME = Buffer.from([0x88, 0x02, 0x03, 0xe9]);
const PEER_WAIT_MS = 1_000;

/**
 * @param {Set<import('node:net').Socket>} webSockets
 * @param {string[]} words  What the app will be told to end: signals, or "message".
 * @param {() => void} then  Called when the peers have closed, or have had the time to.
 */
function sayFarewell(webSockets, words, then) {
  // An app with a handler for its signal or for the message "shutdown" says goodbye itself.
  if (words.some((word) => process.listenerCount(word) > 0) || webSockets.size === 0) return then();
  let left = webSockets.size;
  const enough = setTimeout(then, PEER_WAIT_MS);
  const one = () => {
    left -= 1;
    if (left > 0) return;
    clearTimeout(enough);
    then();
  };
  for (const socket of webSockets) {
    socket.once('close', one);
    if (socket.writable) socket.end(CLOSE_FRAME);
  }
}

module.exports = { sayFarewell };
