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
 * @typedef {{ response: any, later: any[], isClosed: boolean }} Connection  `response`: the oldest that is not counted yet, `later`: those that wait behind it.
 */

const CONNECTION = Symbol('nclust');

/** Of so many requests between two reports all are timed, and of more about as many: to time one costs as much as to count ten. */
const TIMED_MAX = 500;
/** So many connections are looked through at once, or as many as were at work the last time. */
const UNCOUNTED_MAX = 1_024;

/**
 * Only the beginning of a request is asked for, which takes 1 % of what a small answer takes: with the ends it was 4 %. What has been answered is seen when
 * the connection asks again, when it ends, or when somebody wants to know.
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
  /** Those with a response that is not counted yet, and some that had one. @type {Connection[]} */
  const uncounted = [];
  let uncountedMax = UNCOUNTED_MAX;

  const started = guard((/** @type {any} */ { socket, response }) => {
    requests += 1;
    if (asked !== null) tellAsked();
    /** @type {Connection} */
    const connection = socket[CONNECTION] ?? begin(socket);
    if (connection.response === null) remember(connection, response);
    else if (connection.later.length === 0 && isAnswered(connection.response)) {
      answered(connection.response.statusCode);
      connection.response = response;
    } else connection.later.push(response);
    untimed -= 1;
    if (untimed <= 0) time(connection, response);
  });

  function tellAsked() {
    const then = asked;
    asked = null;
    then?.();
  }

  /** @param {any} socket  @returns {Connection} */
  function begin(socket) {
    /** @type {Connection} */
    const connection = { response: null, later: [], isClosed: false };
    Object.defineProperty(socket, CONNECTION, { value: connection });
    socket.once('close', guard(() => {
      countAnswered(connection);
      connection.isClosed = true;
      if (isOn) aborted += openOf(connection);
      forget(connection);
    }));
    return connection;
  }

  /** @param {Connection} connection  @param {any} response */
  function remember(connection, response) {
    connection.response = response;
    uncounted.push(connection);
    if (uncounted.length < uncountedMax) return;
    countAll();
    uncountedMax = Math.max(UNCOUNTED_MAX, 2 * uncounted.length);
  }

  function countAll() {
    let left = 0;
    for (const connection of uncounted) {
      countAnswered(connection);
      if (connection.response !== null) uncounted[left++] = connection;
    }
    uncounted.length = left;
  }

  /** Answers come in the order of the requests. @param {Connection} connection */
  function countAnswered(connection) {
    while (connection.response !== null && isAnswered(connection.response)) {
      answered(connection.response.statusCode);
      connection.response = connection.later.shift() ?? null;
    }
  }

  /** @param {Connection} connection  @param {any} response */
  function time(connection, response) {
    untimed = gap(oneOf);
    const [beganMono, count] = [nowMono(), oneOf];
    response.once('finish', guard(() => {
      if (!connection.isClosed) timed(nowMono() - beganMono, count);
    }));
  }

  /** What is under way when nobody counts any more is in no sum. */
  function leaveUncounted() {
    countAll();
    for (const connection of uncounted) {
      requests -= openOf(connection);
      forget(connection);
    }
    uncounted.length = 0;
  }

  /** It began before anybody counted. */
  const finished = guard((/** @type {any} */ { response, socket }) => {
    /** @type {Connection | undefined} */
    const connection = socket[CONNECTION];
    if (connection?.isClosed || connection?.response === response || connection?.later.includes(response)) return;
    requests += 1;
    answered(response.statusCode);
  });

  /** @param {number} status */
  function answered(status) {
    answers += 1;
    responses[status < 500 ? Math.trunc(status / 100) : 5] += 1;
  }

  function happened() {
    countAll();
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
    /** @param {boolean} on  @param {{ isFromBirth?: boolean }} [o]  Before any request can have come. */
    set(on, { isFromBirth = false } = {}) {
      if (on === isOn) return;
      isOn = on;
      const turn = on ? diagnostics.subscribe : diagnostics.unsubscribe;
      turn(START, /** @type {any} */ (started));
      if (!on || !isFromBirth) turn(FINISH, /** @type {any} */ (finished));
      if (!on) leaveUncounted();
    },
    /** @param {() => void} then  Called once, with the next request. */
    whenAsked(then) {
      asked = then;
    },
    /** Whether nothing has been asked or answered since the last report. */
    isQuiet: () => happened() === happenedBefore,
    answered() {
      countAll();
      return { responses: answers, errors: responses[5] };
    },
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

/** Whether Node has handed it all to the system, and let go of it. One that waits behind another has no socket yet, but what it has to say. @param {any} response */
function isAnswered(response) {
  return response.socket === null && response.writableFinished;
}

/** @param {Connection} connection */
function openOf({ response, later }) {
  return response === null ? 0 : 1 + later.length;
}

/** @param {Connection} connection */
function forget(connection) {
  connection.response = null;
  connection.later = [];
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
