import { Agent, request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { pause } from './wait-for.js';

/**
 * What can become of a request. `hung`: no answer in time. `truncated`: the answer began and broke off. `wrong`: an answer that is
 * not what the app says. `status`: an answer with a status other than 200.
 * @typedef {'ok'|'refused'|'reset'|'hung'|'truncated'|'wrong'|'status'} Bucket
 */

/**
 * @typedef {object} Failure
 * @property {Bucket} bucket
 * @property {number} atMs  Since the load started.
 * @property {string} detail
 */

/**
 * The ledger: every request is in exactly one bucket.
 * @typedef {Record<Bucket, number> & {requests: number, failures: Failure[], byPid: Map<number, number>, latenciesMs: number[], longestGapMs: number}} Ledger
 */

/**
 * @typedef {object} Load
 * @property {Ledger} ledger  So far.
 * @property {() => Promise<Ledger>} stop  Sends nothing more, waits for what is on its way.
 */

/**
 * Sends requests until stopped. With `ratePerSecond` a request leaves at its time whether or not those before it were answered;
 * without, each connection sends the next one when it has its answer.
 * @param {string} url
 * @param {object} o
 * @param {number} [o.connections]  Default 4.
 * @param {number} [o.ratePerSecond]
 * @param {boolean} [o.keepAlive]  Default false: a new connection for each request.
 * @param {number} [o.timeoutMs]  After which a request counts as hung. Default 5 000.
 * @param {number} [o.pauseMs]  Between answer and next request of a connection. Default 0.
 * @returns {Load}
 */
export function startLoad(url, { connections = 4, ratePerSecond, keepAlive = false, timeoutMs = 5_000, pauseMs = 0 }) {
  const ledger = emptyLedger();
  const startedMono = performance.now();
  const agent = new Agent({ keepAlive, maxSockets: Infinity });
  /** @type {Set<Promise<void>>} */
  const inFlight = new Set();
  let isStopped = false;
  let lastOkMono = startedMono;

  async function one() {
    const sentMono = performance.now();
    const outcome = await send(url, agent, timeoutMs);
    const nowMono = performance.now();
    if (outcome.bucket === 'ok') {
      ledger.longestGapMs = Math.max(ledger.longestGapMs, nowMono - lastOkMono);
      lastOkMono = nowMono;
    }
    enter(ledger, outcome, { latencyMs: nowMono - sentMono, atMs: sentMono - startedMono });
  }

  async function closedLoop() {
    while (!isStopped) {
      await one();
      // A refused connection fails at once: without this, one refusing instant would be counted ten thousand times.
      await pause(ledger.failures.length > 0 ? Math.max(pauseMs, 1) : pauseMs);
    }
  }

  async function openLoop(/** @type {number} */ rate) {
    for (let sent = 0; !isStopped; sent += 1) {
      const dueMono = startedMono + (sent * 1000) / rate;
      if (dueMono > performance.now()) await pause(dueMono - performance.now());
      if (isStopped) return;
      const request = one();
      inFlight.add(request);
      void request.then(() => inFlight.delete(request));
    }
  }

  const loops = ratePerSecond === undefined ? Array.from({ length: connections }, closedLoop) : [openLoop(ratePerSecond)];
  return {
    ledger,
    async stop() {
      isStopped = true;
      await Promise.all(loops);
      await Promise.all(inFlight);
      agent.destroy();
      return ledger;
    },
  };
}

/**
 * @param {Ledger} ledger
 * @returns {string}  One line for people: what became of the requests.
 */
export function ledgerLine(ledger) {
  const { requests, ok, refused, reset, hung, truncated, wrong, status, longestGapMs } = ledger;
  const times = [...ledger.latenciesMs].sort((a, b) => a - b);
  const at = (/** @type {number} */ share) => (times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0).toFixed(1);
  return `${requests} requests: ${ok} ok, ${refused} refused, ${reset} reset, ${hung} hung, ${truncated} truncated, ${wrong} wrong, ${status} status; p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms, longest gap ${longestGapMs.toFixed(0)} ms`;
}

/** @returns {Ledger} */
function emptyLedger() {
  return { requests: 0, ok: 0, refused: 0, reset: 0, hung: 0, truncated: 0, wrong: 0, status: 0, failures: [], byPid: new Map(), latenciesMs: [], longestGapMs: 0 };
}

/** @typedef {{bucket: Bucket, detail: string, pid?: number}} Outcome */

/**
 * @param {Ledger} ledger
 * @param {Outcome} outcome
 * @param {{latencyMs: number, atMs: number}} times
 */
function enter(ledger, { bucket, detail, pid }, { latencyMs, atMs }) {
  ledger.requests += 1;
  ledger[bucket] += 1;
  if (bucket !== 'ok') ledger.failures.push({ bucket, atMs, detail });
  else ledger.latenciesMs.push(latencyMs);
  if (pid !== undefined) ledger.byPid.set(pid, (ledger.byPid.get(pid) ?? 0) + 1);
}

/**
 * @param {string} url
 * @param {Agent} agent
 * @param {number} timeoutMs
 * @returns {Promise<Outcome>}
 */
function send(url, agent, timeoutMs) {
  return new Promise((resolve) => {
    let isAnswered = false;
    let body = '';
    const sent = request(url, { agent }, (response) => {
      isAnswered = true;
      response.setEncoding('utf8');
      response.on('data', (chunk) => (body += chunk));
      response.on('end', () => finish(judge(response.statusCode ?? 0, body)));
      response.on('error', (error) => finish({ bucket: 'truncated', detail: error.message }));
    });
    const timer = setTimeout(() => {
      finish({ bucket: 'hung', detail: `no end after ${timeoutMs} ms, ${isAnswered ? 'headers came' : 'no headers'}` });
      sent.destroy();
    }, timeoutMs);
    /** @param {Outcome} outcome */
    function finish(outcome) {
      clearTimeout(timer);
      resolve(outcome);
    }
    sent.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
      finish({ bucket: isAnswered ? 'truncated' : error.code === 'ECONNREFUSED' ? 'refused' : 'reset', detail: error.code ?? error.message });
    });
    sent.end();
  });
}

/**
 * The fixtures that take part in a load answer with JSON that holds their pid.
 * @param {number} status
 * @param {string} body
 * @returns {Outcome}
 */
function judge(status, body) {
  if (status !== 200) return { bucket: 'status', detail: `${status} ${body.slice(0, 100)}` };
  try {
    const { pid } = JSON.parse(body);
    return typeof pid === 'number' ? { bucket: 'ok', detail: '', pid } : { bucket: 'wrong', detail: body.slice(0, 100) };
  } catch {
    return { bucket: 'wrong', detail: body.slice(0, 100) };
  }
}
