// What the HTTP servers of a process have served: from Node's diagnostics channels, and for HTTP/2,
// which on Node 20 has none, from the events of its sessions.
'use strict';

const diagnostics = require('node:diagnostics_channel');

const { nowMono } = require('./isolation.cjs');

/** @import { Guard } from './isolation.cjs' */
/** @import { Servers } from './servers.cjs' */

const START = 'http.server.request.start';
const FINISH = 'http.server.response.finish';

/**
 * Latencies are counted in steps of a fourth root of two: 19 % wide, from an eighth of a
 * millisecond to two minutes.
 */
const STEPS = 80;
const FIRST_STEP_MS = 0.125;
const STEPS_PER_DOUBLING = 4;

/**
 * Sums since the process began.
 * @typedef {object} HttpReport
 * @property {number} requests  Whose head has come.
 * @property {number} active  Without an answer yet.
 * @property {number} aborted  Whose connection ended before the answer did.
 * @property {number} upgrades  To WebSocket. Not among the requests.
 * @property {number[]} responses  By class of status: 1xx to 5xx.
 * @property {number} durationMs  Of all that were answered.
 * @property {number[]} latency  Pairs of a step and how many answers took so long.
 */

/**
 * What is known of a connection. A property of the socket: a map of requests took six times as
 * long, and its memory.
 * @typedef {object} Connection
 * @property {number} open  Its requests without an answer, of that era.
 * @property {number} era
 * @property {number} given  Answers of that era. They come in the order of the requests: the nth is
 *   that of the nth.
 * @property {{ nth: number, beganMono: number, count: number }[]} timed  Those of them that are
 *   timed, the oldest first.
 * @property {boolean} isClosed
 */

const CONNECTION = Symbol('nclust');

/** Of so many requests between two reports all are timed, and of more about as many. */
const TIMED_MAX = 500;

/**
 * Of a request no object is kept. To keep the last response of each connection, and to look at it
 * when the next one begins, spares being told of the ends, but each collection has to copy them
 * all: it costs as much.
 *
 * Who begins to count while an unseen request is under way takes its answer for that of the one
 * behind it: if the connection then ends, that one is in no sum.
 * @param {Servers} servers
 * @param {Guard} guard
 */
function createHttpCounts(servers, guard) {
  let [requests, answers, aborted, durationMs] = [0, 0, 0, 0];
  const responses = [0, 0, 0, 0, 0, 0];
  const latency = new Uint32Array(STEPS);
  let isOn = false;
  /** Counting that ends and begins again knows nothing of what it had under way. */
  let era = 0;
  /** Under way over HTTP/1. */
  let open = 0;
  /** Every how many requests one is timed, on the mean, and how many are left until the next. */
  let oneOf = 1;
  let untimed = 1;
  let requestsBefore = 0;
  let happenedBefore = 0;
  /** Who waits for the next request. @type {(() => void) | null} */
  let asked = null;

  const started = guard((/** @type {any} */ { socket }) => {
    requests += 1;
    open += 1;
    if (asked !== null) tellAsked();
    /** @type {Connection} */
    const connection = socket[CONNECTION] ?? begin(socket);
    if (connection.era !== era) renew(connection);
    connection.open += 1;
    untimed -= 1;
    if (untimed <= 0) time(connection);
  });

  function tellAsked() {
    const then = asked;
    asked = null;
    then?.();
  }

  /** @param {any} socket */
  function begin(socket) {
    /** @type {Connection} */
    const connection = { open: 0, era, given: 0, timed: [], isClosed: false };
    Object.defineProperty(socket, CONNECTION, { value: connection });
    socket.once(
      'close',
      guard(() => {
        connection.isClosed = true;
        connection.timed.length = 0;
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
  }

  /**
   * Without a listener to the response, which would cost as much as to count fifty.
   * @param {Connection} connection
   */
  function time(connection) {
    untimed = gap(oneOf);
    connection.timed.push({ nth: connection.given + connection.open, beganMono: nowMono(), count: oneOf });
  }

  const finished = guard((/** @type {any} */ { response, socket }) => {
    /** @type {Connection | undefined} */
    const connection = socket[CONNECTION];
    // Node 20 and 22 also tell of the end of an answer that could not be delivered. What the app
    // itself then destroys, Node 20 does not know either.
    if (connection?.isClosed || socket.errored) return;
    if (connection === undefined || connection.era !== era || connection.open === 0) {
      // It began before anybody counted.
      requests += 1;
    } else {
      connection.open -= 1;
      connection.given += 1;
      open -= 1;
      if (connection.timed.length > 0 && connection.timed[0].nth === connection.given)
        took(/** @type {Connection["timed"][number]} */ (connection.timed.shift()));
    }
    answered(response.statusCode);
  });

  /** What is under way when nobody counts any more is in no sum. */
  function leaveOpen() {
    requests -= open;
    open = 0;
    era += 1;
  }

  /** @param {number} status */
  function answered(status) {
    answers += 1;
    responses[status < 500 ? Math.trunc(status / 100) : 5] += 1;
  }

  const happened = () => requests + answers + aborted + servers.upgrades;

  /**
   * @param {{ beganMono: number, count: number }} o  `count`: it stands for those beside it that
   *   were not timed.
   */
  function took({ beganMono, count }) {
    const ms = nowMono() - beganMono;
    durationMs += ms * count;
    latency[stepOf(ms)] += count;
  }

  /** Of HTTP/2. */
  const streamBegan = guard((/** @type {any} */ stream) => {
    if (!isOn) return;
    requests += 1;
    if (asked !== null) tellAsked();
    const beganMono = nowMono();
    stream.once(
      'close',
      guard(() => {
        const status = stream.sentHeaders?.[':status'];
        if (stream.aborted || !stream.writableFinished || status === undefined) aborted += 1;
        else {
          answered(status);
          took({ beganMono, count: 1 });
        }
      }),
    );
  });
  // HTTP/2 refuses streams that nobody listens to; a server always does.
  servers.onSession = guard((/** @type {any} */ session) => session.on('stream', streamBegan));

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
    /** @param {() => void} then  Called once, with the next request. */
    whenAsked(then) {
      asked = then;
    },
    /** Whether nothing has been asked or answered since the last report. */
    isQuiet: () => happened() === happenedBefore,
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
 * Not the same each time: requests that come in a pattern must not all be of one kind.
 * @param {number} mean
 */
function gap(mean) {
  return mean === 1 ? 1 : 1 + Math.floor(Math.random() * (2 * mean - 1));
}

/** @param {number} ms */
function stepOf(ms) {
  return ms <= FIRST_STEP_MS ? 0 : Math.min(STEPS - 1, Math.ceil(Math.log2(ms / FIRST_STEP_MS) * STEPS_PER_DOUBLING));
}

module.exports = { createHttpCounts, stepOf };
