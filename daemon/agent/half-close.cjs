// Ends plain TCP and TLS connections between two messages, because a line that the client sends
// just before the FIN arrives gets no answer. The agent does not know the protocol, so it looks at
// the pauses, and at which side sends:
//
//   client   line              line                   sees the end, and connects again
//   server       part   part       part   part   FIN
//                |<---->|<---->|          |<---->|
//                 parts  think             a turn of the event loop; at least 2 x parts
//
// The agent does this only if the client thinks at least four times as long as `parts`. So the FIN
// arrives before the next line. The agent also ends a connection that was silent for QUIET_MS.
'use strict';

const { setImmediate, setTimeout } = require('node:timers');
const { nowMono } = require('./isolation.cjs');

/** @import { Socket } from 'node:net' */

/**
 * A client that thinks for less time keeps its connection, because its next line is always on its
 * way.
 */
const THINK_MIN_MS = 1;
const THINK_PER_PARTS = 4;
const PAUSE_PER_PARTS = 2;
/**
 * If a busy process is late by more than this share of the thinking time, it does not send the FIN.
 */
const LATE_SHARE = 1 / 8;
/**
 * A connection that was silent for this time is ended. Not whole seconds, because many clients send
 * at intervals of whole seconds.
 */
const QUIET_MS = 1_500;

/**
 * @typedef {Socket & { _unrefTimer: () => void }} PlainSocket
 * @typedef {object} Talk  State of one connection since the drain began.
 * @property {number} bytesRead
 * @property {'client' | 'server' | null} last  The last sender. null: nothing was sent.
 * @property {number} atMono
 * @property {boolean} hasTurned  The event loop has turned since `atMono`. Parts that are sent in
 *   the same turn have no pause between them.
 * @property {boolean} isPausing  Since `atMono` the event loop has looked for more bytes.
 * @property {boolean} isWhole  The agent has seen the line that the server answers.
 * @property {number} partsMs  The longest pause within this answer.
 * @property {number} partsBeforeMs  The longest pause within the previous answer.
 * @property {number} thinkMs  Pause between the last whole answer and the next line. 0: not known.
 */

/** @returns {(sockets: PlainSocket[]) => void}  Call it repeatedly with the open connections. */
function createHalfClose() {
  /** @type {WeakMap<PlainSocket, Talk>} */
  const talks = new WeakMap();
  return (sockets) => {
    for (const socket of sockets) {
      const talk = talks.get(socket);
      if (talk === undefined) talks.set(socket, watch(socket));
      // If the client sent last, it may wait for an answer, so its connection stays open.
      else if (talk.last !== 'client' && nowMono() - talk.atMono >= QUIET_MS) halfClose(socket);
    }
  };
}

/** @param {PlainSocket} socket */
function watch(socket) {
  /** @type {Talk} */
  const talk = {
    bytesRead: socket.bytesRead,
    last: null,
    atMono: nowMono(),
    hasTurned: true,
    isPausing: true,
    isWhole: false,
    partsMs: 0,
    partsBeforeMs: 0,
    thinkMs: 0,
  };
  const { _unrefTimer } = socket;
  // Node.js calls _unrefTimer() whenever it reads or writes bytes. A 'data' listener is not used,
  // because it could start to read before the app does.
  socket._unrefTimer = function () {
    note(socket, talk);
    _unrefTimer.call(this);
  };
  return talk;
}

/**
 * @param {PlainSocket} socket
 * @param {Talk} talk
 */
function note(socket, talk) {
  const atMono = nowMono();
  const sinceMs = atMono - talk.atMono;
  if (socket.bytesRead !== talk.bytesRead) {
    if (talk.last === 'server') endExchange(talk, talk.isPausing ? sinceMs : 0);
    talk.bytesRead = socket.bytesRead;
    talk.last = 'client';
    talk.isWhole = true;
  } else if (socket.writableLength > 0) {
    if (talk.last === 'server' && talk.hasTurned) talk.partsMs = Math.max(talk.partsMs, sinceMs);
    talk.last = 'server';
  } else return;
  talk.atMono = atMono;
  talk.hasTurned = false;
  talk.isPausing = false;
  setImmediate(() => {
    if (talk.atMono !== atMono) return;
    talk.hasTurned = true;
    // This second setImmediate() runs after the event loop has looked for more bytes.
    setImmediate(() => talk.atMono === atMono && onPause(socket, talk));
  });
}

/**
 * @param {Talk} talk
 * @param {number} pausedMs
 */
function endExchange(talk, pausedMs) {
  talk.thinkMs = talk.isWhole ? pausedMs : 0;
  talk.partsBeforeMs = talk.partsMs;
  talk.partsMs = 0;
}

/**
 * @param {PlainSocket} socket
 * @param {Talk} talk
 */
function onPause(socket, talk) {
  // Returns if not all bytes are written, because Node.js calls _unrefTimer() again when it has
  // written the rest.
  if (socket.writableLength > 0) return;
  talk.isPausing = true;
  const { atMono, last, thinkMs } = talk;
  const partsMs = Math.max(talk.partsMs, talk.partsBeforeMs);
  if (last !== 'server' || thinkMs < Math.max(THINK_MIN_MS, THINK_PER_PARTS * partsMs)) return;
  const pauseMs = PAUSE_PER_PARTS * partsMs;
  const end = () => {
    if (talk.atMono === atMono && nowMono() - atMono <= pauseMs + thinkMs * LATE_SHARE) halfClose(socket);
  };
  if (pauseMs === 0) end();
  else setTimeout(() => setImmediate(end), pauseMs);
}

/** @param {PlainSocket} socket */
function halfClose(socket) {
  if (socket.writableEnded || socket.writableLength > 0) return;
  // If the client still sends a line, the app cannot write the answer, and the socket emits
  // 'error'. Adds a listener for this error, because the app may not have one.
  socket.on('error', () => {}).end();
}

module.exports = { createHalfClose };
