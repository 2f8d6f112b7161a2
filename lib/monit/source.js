import { setTimeout as pause } from 'node:timers/promises';
import { newToken, openClient } from '../client/client.js';
import { connectOnly } from '../client/connect.js';
import { tailEvents } from '../client/event-tail.js';
import { SPARK_POINTS } from '../figures/trends.js';
import { NclustError } from '../shared/errors.js';
import { homePaths } from '../shared/paths.js';
import { followLog } from './log-lines.js';
import { selectedRow } from './selection.js';
import { SHOWN, SPANS } from './trends.js';
import { escapeRegExp } from '../shared/escape-reg-exp.js';

/** @import { Client } from '../client/client.js' */
/** @import { Source } from './loop.js' */
/** @import { MonitEvent, State } from './state.js' */

/** Time between attempts to connect. nclust has to retry, because nothing reports a new manager. */
const CONNECT_EVERY_MS = 1_000;

/** Maximum number of old events to show at the start. */
const EVENTS = 300;

/**
 * @param {string} home
 * @returns {Source}
 */
export function createSource(home) {
  const stop = new AbortController();
  const { signal } = stop;
  /** @type {(event: MonitEvent) => void} */
  let dispatch = () => {};
  /** @type {Set<Client>} */
  const clients = new Set();
  /** @type {{ key: string, end: () => void } | null} */
  let log = null;
  let trend = '';

  const open = () => openClient(() => connectOnly(home, signal));

  /**
   * @template T
   * @param {(client: Client) => Promise<T>} use
   * @returns {Promise<T | null>}  Null: no manager runs.
   */
  async function withClient(use) {
    const client = await open();
    if (!client) return null;
    clients.add(client);
    try {
      return await use(client);
    } finally {
      clients.delete(client);
      await client.close();
    }
  }

  /** @param {Client} client */
  async function followMetrics(client) {
    const history = { series: ['cpu'], stepMs: 1_000, points: SPARK_POINTS, of: 'both' };
    const asked = { follow: true, subscription: 'monit', history };
    for await (const { method, params, result } of client.converse('metrics', asked)) {
      if (signal.aborted) return;
      if (method !== undefined && method !== 'metrics') continue;
      const { history, ...sample } = /** @type {any} */ (method === undefined ? result : params);
      dispatch({ type: 'sampled', sample, ...(history ? { history } : {}) });
    }
  }

  async function runMetrics() {
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      try {
        const client = await withClient(async (found) => {
          if (!isFirst) dispatch({ type: 'found' });
          await followMetrics(found);
          return found;
        });
        const words = client
          ? 'The connection to the manager was lost. Reconnecting ...'
          : 'No manager runs. Waiting until one is started ...';
        dispatch({ type: 'lost', words });
      } catch (error) {
        if (signal.aborted) return;
        // At the first connection, a retry fixes only PASSING errors. Later, a new manager may fix
        // any NclustError except ERR_NCLUST_PROTOCOL (for example an unknown method).
        if (
          !(error instanceof NclustError) ||
          (isFirst && !PASSING.includes(error.code)) ||
          error.code === 'ERR_NCLUST_PROTOCOL'
        )
          throw error;
        dispatch({ type: 'lost', words: `${error.message} Reconnecting ...` });
      }
      await pause(CONNECT_EVERY_MS, undefined, { signal }).catch(() => {});
    }
  }

  async function runEvents() {
    for await (const { entries, isHistory } of tailEvents(homePaths(home).events, { signal })) {
      dispatch({ type: 'happened', events: isHistory ? entries.slice(-EVENTS) : entries });
    }
  }

  return {
    async run(tell) {
      dispatch = tell;
      await Promise.all([runMetrics(), runEvents()]);
    },
    follow({ logs, trend: asked }) {
      if (logs?.key !== log?.key) {
        log?.end();
        log = logs && { key: logs.key, end: followLog(logs, { open, dispatch, signal }) };
      }
      const query = asked ? JSON.stringify(asked) : '';
      if (asked && query !== trend) {
        const { key, targets, stepMs, points } = asked;
        const history = { series: [...SHOWN], stepMs, points, of: 'both' };
        withClient((client) => client.request('metrics', { targets, workers: true, history }))
          .then((answer) => {
            if (answer?.history) dispatch({ type: 'history', key, history: answer.history });
          })
          // Ignores the error, because new samples fill the charts anyway, and runMetrics() reports
          // a lost manager.
          .catch((error) => {
            if (!(error instanceof NclustError)) throw error;
          });
      }
      trend = query;
    },
    ask({ method, params, done }) {
      const say = (/** @type {string} */ text, isBad = true) => dispatch({ type: 'said', text, isBad });
      withClient((client) => client.request(method, { ...params, wait: true, token: newToken() }))
        .then((answer) => (answer ? say(done, false) : say('No manager runs')))
        .catch((error) => {
          if (!signal.aborted) say(String(error.message));
        });
    },
    async close() {
      stop.abort();
      log?.end();
      await Promise.all([...clients].map((client) => client.close()));
    },
  };
}

/** Errors that a retry may fix. @type {string[]} */
const PASSING = ['ERR_NCLUST_CONNECTION_LOST', 'ERR_NCLUST_DAEMON_UNREACHABLE'];

/** Time between two requests for the charts of hours. */
const HOURS_MS = 60_000;

/** Maximum number of old log lines to show at the start. */
const LINES = 200;
const LINES_OF_GREP = 1_000;

/**
 * @typedef {object} LogsNeeded
 * @property {string} key
 * @property {{
 *   targets: string[],
 *   lines: number,
 *   follow: true,
 *   grep?: { source: string, flags: string },
 * }} request
 */

/**
 * The loop requests new data when this object changes.
 * @typedef {object} NeededData
 * @property {LogsNeeded | null} logs
 * @property
 *   {{ key: string, targets: string[], stepMs: number, points: number, turn: number } | null} trend
 *   A new `turn` requests the same data again.
 */

/**
 * @param {State} state
 * @returns {NeededData}
 */
export function neededData(state) {
  const row = selectedRow(state);
  if (!row) return { logs: null, trend: null };
  // If the name of an app is the id of this worker, the manager sends the data of that app. This is
  // harmless.
  const targets = [row.app ? row.app.name : String(row.worker?.id)];
  const { grep } = state.logs;
  const asked = grep
    ? {
        grep: { source: escapeRegExp(grep), flags: grep === grep.toLowerCase() ? 'i' : '' },
        lines: LINES_OF_GREP,
      }
    : { lines: LINES };
  return {
    logs: { key: JSON.stringify([row.key, grep]), request: { targets, follow: true, ...asked } },
    trend: {
      key: row.key,
      targets,
      ...SPANS[state.span],
      turn: state.span === 'hours' ? Math.floor((state.sample?.atMs ?? 0) / HOURS_MS) : 0,
    },
  };
}
