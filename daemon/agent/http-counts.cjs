// HTTP/2 has no diagnostics channels on Node.js 20, so the events of its sessions are counted.
'use strict';

const diagnostics = require('node:diagnostics_channel');

const { nowMono } = require('./isolation.cjs');

/** @import { Isolation } from './isolation.cjs' */
/** @import { Servers } from './servers.cjs' */

const START = 'http.server.request.start';
const FINISH = 'http.server.response.finish';

/** Steps of 19 % (the fourth root of two), from 0.125 ms to two minutes. */
const STEPS = 80;
const FIRST_STEP_MS = 0.125;
const STEPS_PER_DOUBLING = 4;

/**
 * @typedef {object} HttpReport
 * @property {number} requests
 * @property {number} active
 * @property {number} aborted  The connection ended before the response.
 * @property {number} upgrades  To WebSocket; not in `requests`.
 * @property {number[]} responses  By class of status: 1xx to 5xx.
 * @property {number} durationMs
 * @property {number[]} latency  Pairs of a step and its number of responses.
 */

/**
 * A property of the socket, because a map of requests took six times as long, and more memory.
 * @typedef {object} Connection
 * @property {number} open  Requests of this era without a response.
 * @property {number} era
 * @property {number} given  Responses of this era. The nth response answers the nth request.
 * @property {{ nth: number, beganMono: number, count: number }[]} timed  Measured, oldest first.
 * @property {boolean} isClosed
 */

const CONNECTION = Symbol('nclust');

/** Requests that are measured between two reports. */
const TIMED_MAX = 500;

/**
 * Keeps no object for a request, because the garbage collector would have to copy them. If counting
 * begins during a request and the client pipelines another one, the response counts for that one.
 * @param {Servers} servers
 * @param {Isolation} isolate
 */
function createHttpCounts(servers, isolate) {
  let [requests, answers, aborted, durationMs] = [0, 0, 0, 0];
  const responses = [0, 0, 0, 0, 0, 0];
  const latency = new Uint32Array(STEPS);
  let isOn = false;
  /** Raised when counting ends, so that the requests of that time are forgotten. */
  let era = 0;
  /** Requests over HTTP/1 without a response. */
  let open = 0;
  /** One of this number of requests is measured, on average. */
  let oneOf = 1;
  let untimed = 1;
  let requestsBefore = 0;
  let happenedBefore = 0;
  /** @type {(() => void) | null} */
  let asked = null;

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
      isolate(() => {
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
   * Not with a listener on the response, which costs as much as counting fifty requests.
   * @param {Connection} connection
   */
  function time(connection) {
    untimed = gap(oneOf);
    connection.timed.push({ nth: connection.given + connection.open, beganMono: nowMono(), count: oneOf });
  }

  const finished = isolate((/** @type {any} */ { response, socket }) => {
    /** @type {Connection | undefined} */
    const connection = socket[CONNECTION];
    // Node.js 20 and 22 also report undelivered responses, and Node.js 20 destroyed ones.
    if (connection?.isClosed || socket.errored) return;
    if (connection === undefined || connection.era !== era || connection.open === 0) {
      // The request began before the counting.
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

  /** @param {{ beganMono: number, count: number }} o  count: requests that it stands for. */
  function took({ beganMono, count }) {
    const ms = nowMono() - beganMono;
    durationMs += ms * count;
    latency[findStep(ms)] += count;
  }

  const streamBegan = isolate((/** @type {any} */ stream) => {
    if (!isOn) return;
    requests += 1;
    if (asked !== null) tellAsked();
    const beganMono = nowMono();
    stream.once(
      'close',
      isolate(() => {
        const status = stream.sentHeaders?.[':status'];
        if (stream.aborted || !stream.writableFinished || status === undefined) aborted += 1;
        else {
          answered(status);
          took({ beganMono, count: 1 });
        }
      }),
    );
  });
  // HTTP/2 refuses streams without a listener, but a server always has one.
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
 * Random, so that a pattern in the requests does not select requests of one kind.
 * @param {number} mean
 */
function gap(mean) {
  return mean === 1 ? 1 : 1 + Math.floor(Math.random() * (2 * mean - 1));
}

/** @param {number} ms */
function findStep(ms) {
  return ms <= FIRST_STEP_MS ? 0 : Math.min(STEPS - 1, Math.ceil(Math.log2(ms / FIRST_STEP_MS) * STEPS_PER_DOUBLING));
}

module.exports = { createHttpCounts, findStep };
