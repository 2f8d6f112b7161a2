// Counts HTTP/1 requests through diagnostics channels, and HTTP/2 requests through events of
// sessions, because Node.js 20 has no diagnostics channels for HTTP/2.
'use strict';

const diagnostics = require('node:diagnostics_channel');

const { nowMono } = require('./isolation.cjs');

/** @import { Isolation } from './isolation.cjs' */
/** @import { Servers } from './servers.cjs' */

const START = 'http.server.request.start';
const FINISH = 'http.server.response.finish';

/** Latency is counted in steps of 19 % (the fourth root of two), from 0.125 ms to two minutes. */
const STEPS = 80;
const FIRST_STEP_MS = 0.125;
const STEPS_PER_DOUBLING = 4;

/**
 * @typedef {object} HttpReport
 * @property {number} requests
 * @property {number} active
 * @property {number | null} oldestMs  Age of the oldest request without response headers. Null: no
 *   request waits for them.
 * @property {number} aborted  The connection ended before the response.
 * @property {number} upgrades  To WebSocket; not in `requests`.
 * @property {number[]} responses  By class of status: 1xx to 5xx.
 * @property {number} durationMs
 * @property {number[]} latency  Pairs of a step and its number of responses.
 */

/**
 * State of a connection. It is a property of the socket, because a map of requests took six times
 * as long and more memory.
 * @typedef {object} Connection
 * @property {number} open  Requests of this era without a response.
 * @property {number} era
 * @property {number} given  Responses of this era. The nth response answers the nth request.
 * @property {{ nth: number, beganMono: number, count: number }[]} timed  Measured requests, oldest
 *   first.
 * @property {boolean} isClosed
 * @property {any} socket
 * @property {number} sinceMono  About when its oldest open request began.
 * @property {boolean} isListed  In `recent`.
 *
 * @typedef {{ stream: any, open: number, sinceMono: number, isListed: boolean }} Stream
 */

const CONNECTION = Symbol('nclust');

/** About this many requests at most are measured between two reports. */
const TIMED_MAX = 500;

/**
 * Does not keep an object for every request, because the garbage collector would have to copy these
 * objects. If counting begins during a request, and the client pipelines a second request, the
 * first response counts as the response to the second request.
 * @param {Servers} servers
 * @param {Isolation} isolate
 */
function createHttpCounts(servers, isolate) {
  let [requests, answers, aborted, durationMs] = [0, 0, 0, 0];
  const responses = [0, 0, 0, 0, 0, 0];
  const latency = new Uint32Array(STEPS);
  let isOn = false;
  /** Raised when counting stops, so that older requests on open connections no longer count. */
  let era = 0;
  /** Requests over HTTP/1 without a response. */
  let open = 0;
  /** On average, one request out of this number is measured. */
  let oneOf = 1;
  let untimed = 1;
  let requestsBefore = 0;
  let happenedBefore = 0;
  /** @type {(() => void) | null} */
  let asked = null;
  /**
   * Connections and streams with a request since the last report, or with an unanswered one. Adding
   * and removing each request would take twice as long as all other counting.
   * @type {Set<Connection | Stream>}
   */
  const recent = new Set();
  /** The last time that was read. Reading the time for each request would cost more. */
  let readMono = nowMono();

  const started = isolate((/** @type {any} */ { socket }) => {
    requests += 1;
    open += 1;
    if (asked !== null) tellAsked();
    /** @type {Connection} */
    const connection = socket[CONNECTION] ?? begin(socket);
    if (connection.era !== era) renew(connection);
    connection.open += 1;
    untimed -= 1;
    if (untimed <= 0) time(connection);
    if (connection.open > 1) return;
    connection.sinceMono = readMono;
    if (connection.isListed) return;
    connection.isListed = true;
    recent.add(connection);
  });

  function tellAsked() {
    const then = asked;
    asked = null;
    then?.();
  }

  /** @param {any} socket */
  function begin(socket) {
    /** @type {Connection} */
    const connection = { open: 0, era, given: 0, timed: [], isClosed: false, socket, sinceMono: 0, isListed: false };
    Object.defineProperty(socket, CONNECTION, { value: connection });
    socket.once(
      'close',
      isolate(() => {
        connection.isClosed = true;
        connection.timed.length = 0;
        recent.delete(connection);
        if (!isOn || connection.era !== era) return;
        aborted += connection.open;
        open -= connection.open;
      }),
    );
    return connection;
  }

  /** @param {Connection} connection */
  function renew(connection) {
    connection.era = era;
    connection.open = 0;
    connection.given = 0;
    connection.timed.length = 0;
    connection.isListed = false;
  }

  /**
   * Starts measuring a request. A listener on the response is not used, because it costs as much as
   * counting fifty requests.
   * @param {Connection} connection
   */
  function time(connection) {
    untimed = gap(oneOf);
    readMono = nowMono();
    connection.timed.push({ nth: connection.given + connection.open, beganMono: readMono, count: oneOf });
  }

  const finished = isolate((/** @type {any} */ { response, socket }) => {
    /** @type {Connection | undefined} */
    const connection = socket[CONNECTION];
    // Skips undelivered responses, because Node.js 20 and 22 report them too. Node.js 20 also
    // reports destroyed responses.
    if (connection?.isClosed || socket.errored) return;
    if (connection === undefined || connection.era !== era || connection.open === 0) {
      // The request began before the counting.
      requests += 1;
    } else {
      connection.open -= 1;
      connection.given += 1;
      open -= 1;
      if (connection.timed.length > 0 && connection.timed[0].nth === connection.given)
        countResponse(/** @type {Connection["timed"][number]} */ (connection.timed.shift()));
      connection.sinceMono = readMono;
    }
    answered(response.statusCode);
  });

  function leaveOpen() {
    requests -= open;
    open = 0;
    era += 1;
    recent.clear();
  }

  /** A response whose headers were sent counts as answered, for example server-sent events. */
  function findOldestMs() {
    readMono = nowMono();
    let sinceMono = Infinity;
    for (const one of recent) {
      one.isListed = isUnanswered(one);
      if (one.isListed) sinceMono = Math.min(sinceMono, one.sinceMono);
      else recent.delete(one);
    }
    return recent.size > 0 ? Math.round(readMono - sinceMono) : null;
  }

  /** @param {number} status */
  function answered(status) {
    answers += 1;
    responses[status < 500 ? Math.trunc(status / 100) : 5] += 1;
  }

  const happened = () => requests + answers + aborted + servers.upgrades;

  /**
   * @param {{ beganMono: number, count: number }} o  count: number of requests that this request
   *   represents.
   */
  function countResponse({ beganMono, count }) {
    readMono = nowMono();
    const ms = readMono - beganMono;
    durationMs += ms * count;
    latency[findStep(ms)] += count;
  }

  const streamBegan = isolate((/** @type {any} */ stream) => {
    if (!isOn) return;
    requests += 1;
    if (asked !== null) tellAsked();
    const beganMono = nowMono();
    const request = { stream, open: 1, sinceMono: beganMono, isListed: true };
    recent.add(request);
    stream.once(
      'close',
      isolate(() => {
        recent.delete(request);
        const status = stream.sentHeaders?.[':status'];
        if (stream.aborted || !stream.writableFinished || status === undefined) aborted += 1;
        else {
          answered(status);
          countResponse({ beganMono, count: 1 });
        }
      }),
    );
  });
  // A session refuses streams if it has no 'stream' listener. On a server it always has a listener,
  // so this additional listener changes nothing.
  servers.onSession = isolate((/** @type {any} */ session) => session.on('stream', streamBegan));

  return {
    /** @param {boolean} on */
    set(on) {
      if (on === isOn) return;
      isOn = on;
      const turn = on ? diagnostics.subscribe : diagnostics.unsubscribe;
      turn(START, /** @type {any} */ (started));
      turn(FINISH, /** @type {any} */ (finished));
      if (!on) leaveOpen();
    },
    /** @param {() => void} then */
    onNextRequest(then) {
      asked = then;
    },
    isQuiet: () => happened() === happenedBefore,
    /** Whether a request was unanswered at the last take(). */
    hasOpen: () => recent.size > 0,
    answered: () => ({ responses: answers, errors: responses[5] }),
    /** @returns {HttpReport | null} */
    take() {
      const { upgrades } = servers;
      oneOf = Math.max(1, Math.round((requests - requestsBefore) / TIMED_MAX));
      requestsBefore = requests;
      happenedBefore = happened();
      if (requests + upgrades === 0) return null;
      const steps = [...latency.entries()].filter(([, count]) => count > 0).flat();
      return {
        requests,
        active: Math.max(0, requests - answers - aborted),
        oldestMs: findOldestMs(),
        aborted,
        upgrades,
        responses: responses.slice(1),
        durationMs: Math.round(durationMs),
        latency: steps,
      };
    },
  };
}

/**
 * Returns the distance to the next measured request. It is random, so that a regular pattern in the
 * requests does not always select the same kind of request.
 * @param {number} mean
 */
function gap(mean) {
  return mean === 1 ? 1 : 1 + Math.floor(Math.random() * (2 * mean - 1));
}

/** @param {any} one */
function isUnanswered({ open, stream, socket }) {
  return open > 0 && (stream ?? socket._httpMessage)?.headersSent === false;
}

/** @param {number} ms */
function findStep(ms) {
  return ms <= FIRST_STEP_MS ? 0 : Math.min(STEPS - 1, Math.ceil(Math.log2(ms / FIRST_STEP_MS) * STEPS_PER_DOUBLING));
}

module.exports = { createHttpCounts, findStep };
