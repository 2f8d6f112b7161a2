// What the HTTP servers of a process have served: from Node's diagnostics channels, and for HTTP/2, which on Node 20 has none, from the events of its sessions.
'use strict';

const diagnostics = require('node:diagnostics_channel');

const { nowMono } = require('./clock.cjs');

const START = 'http.server.request.start';
const FINISH = 'http.server.response.finish';

/** Latencies are counted in steps of a fourth root of two: 19 % wide, from an eighth of a millisecond to two minutes. */
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
 * What is known of a connection. A property of the socket: a map of requests took six times as long, and its memory.
 * @typedef {{ open: number, beganMono: number, later: number[], isClosed: boolean }} Connection  `later`: when the requests began that wait behind the first.
 */

const CONNECTION = Symbol('nclust');

/** Of so many requests between two reports all are timed, and of more about as many: to read the clock twice may cost as much as everything else here together. */
const TIMED_MAX = 1_000;
const UNTIMED = -1;

/**
 * @param {InstanceType<typeof import('./servers.cjs').Servers>} servers
 * @param {import('./guard.cjs').Guard} guard
 */
function createHttpCounts(servers, guard) {
  let [requests, answers, aborted, durationMs] = [0, 0, 0, 0];
  const responses = [0, 0, 0, 0, 0, 0];
  const latency = new Uint32Array(STEPS);
  let isOn = false;
  /** Every how many requests one is timed, on the mean, and how many are left until the next. */
  let oneOf = 1;
  let untimed = 1;
  let requestsBefore = 0;
  let happenedBefore = 0;
  /** Who waits for the next request. @type {(() => void) | null} */
  let asked = null;

  const started = guard((/** @type {any} */ { socket }) => {
    requests += 1;
    if (asked !== null) tellAsked();
    /** @type {Connection} */
    const connection = socket[CONNECTION] ?? begin(socket);
    connection.open += 1;
    untimed -= 1;
    const beganMono = untimed > 0 ? UNTIMED : nowMono();
    if (untimed <= 0) untimed = gap(oneOf);
    if (connection.open === 1) connection.beganMono = beganMono;
    else connection.later.push(beganMono);
  });

  function tellAsked() {
    const then = asked;
    asked = null;
    then?.();
  }

  /** @param {any} socket  @returns {Connection} */
  function begin(socket) {
    /** @type {Connection} */
    const connection = { open: 0, beganMono: 0, later: [], isClosed: false };
    Object.defineProperty(socket, CONNECTION, { value: connection });
    socket.once('close', guard(() => {
      connection.isClosed = true;
      if (isOn) aborted += connection.open;
    }));
    return connection;
  }

  /** Answers come in the order of the requests. */
  const finished = guard((/** @type {any} */ { response, socket }) => {
    /** @type {Connection | undefined} */
    const connection = socket[CONNECTION];
    if (connection === undefined || connection.open === 0) return answeredUnseen(response.statusCode);
    if (connection.isClosed) return;
    answered(response.statusCode);
    if (connection.beganMono !== UNTIMED) timed(nowMono() - connection.beganMono, oneOf);
    connection.open -= 1;
    if (connection.open > 0) connection.beganMono = connection.later.shift() ?? 0;
  });

  /** It began before anybody counted. @param {number} status */
  function answeredUnseen(status) {
    requests += 1;
    answered(status);
  }

  /** @param {number} status */
  function answered(status) {
    answers += 1;
    responses[status < 500 ? Math.trunc(status / 100) : 5] += 1;
  }

  function happened() {
    return requests + answers + aborted + servers.upgrades;
  }

  /** @param {number} ms  @param {number} count  It stands for those beside it that were not timed. */
  function timed(ms, count) {
    durationMs += ms * count;
    latency[stepOf(ms)] += count;
  }

  /** Of HTTP/2. */
  const streamBegan = guard((/** @type {any} */ stream) => {
    if (!isOn) return;
    requests += 1;
    if (asked !== null) tellAsked();
    const beganMono = nowMono();
    stream.once('close', guard(() => {
      const status = stream.sentHeaders?.[':status'];
      if (stream.aborted || status === undefined) aborted += 1;
      else {
        answered(status);
        timed(nowMono() - beganMono, 1);
      }
    }));
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
      return { requests, active: Math.max(0, requests - answers - aborted), aborted, upgrades, responses: responses.slice(1), durationMs: Math.round(durationMs), latency: steps };
    },
  };
}

/** Not the same each time: requests that come in a pattern must not all be of one kind. @param {number} mean */
function gap(mean) {
  return mean === 1 ? 1 : 1 + Math.floor(Math.random() * (2 * mean - 1));
}

/** @param {number} ms */
function stepOf(ms) {
  return ms <= FIRST_STEP_MS ? 0 : Math.min(STEPS - 1, Math.ceil(Math.log2(ms / FIRST_STEP_MS) * STEPS_PER_DOUBLING));
}

module.exports = { createHttpCounts, stepOf };
