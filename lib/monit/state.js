import { onKey } from './input.js';
import { appendLines } from './log-lines.js';
import { showNotice } from './notice.js';
import { placeSelection } from './selection.js';
import { addSample, beginTrend, addHistory } from './trends.js';

/** @import { Sort } from '../figures/rows.js' */
/** @import { LoggedEvent } from '../shared/event-log.js' */
/** @import { MetricsHistory, MetricsSample } from '../shared/metrics.js' */
/** @import { LogEntry } from '../shared/wire/protocol.js' */
/** @import { Key } from './keys.js' */
/** @import { LogLines } from './log-lines.js' */
/** @import { Size } from './screen.js' */
/** @import { Span, Trend } from './trends.js' */

/**
 * @typedef {object} Ask
 * @property {'ask'} type
 * @property {'restart' | 'reload' | 'stop' | 'scale'} method
 * @property {Record<string, unknown>} params
 * @property {string} doing
 * @property {string} done
 */

/** @typedef {Ask | { type: 'quit' } | { type: 'suspend' } | { type: 'redraw' }} Effect */

/** @typedef {{ state: State, effects: Effect[] }} Step */

/**
 * @typedef {object} State
 * @property {Size} size
 * @property {number} nowMs
 * @property {'table' | 'logs' | 'help'} page
 * @property {'logs' | 'events'} panel  The first panel. The second panel is shown if it fits.
 * @property {MetricsSample | null} sample
 * @property {{ isThere: boolean, sinceMs: number, words: string }} manager
 * @property {Map<string, (number | null)[]>} sparks  The CPU of each row.
 * @property {Trend | null} trend
 * @property {Span} span
 * @property {string | null} selected
 * @property {number} at  Index of the selected row, to keep the position if the row disappears.
 * @property {Set<string>} flipped  Apps that the user has expanded or collapsed.
 * @property {string} filter
 * @property {Sort} sort
 * @property {{ kind: 'filter' | 'search' | 'grep', text: string, before: string } | null} input
 *   Esc restores the text `before`.
 * @property {{ text: string, ask: Ask } | null} question
 * @property {{ text: string, style: string, untilMs: number } | null} notice
 * @property {LogLines} logs
 * @property {LoggedEvent[]} events
 * @property {number} helpTop
 */

/**
 * @typedef {{type: 'key', key: Key}
 *   | {type: 'resized', size: Size}
 *   | {type: 'time', nowMs: number}
 *   | {type: 'sampled', sample: MetricsSample, history?: MetricsHistory}
 *   | {type: 'history', key: string, history: MetricsHistory}
 *   | {type: 'found'}
 *   | {type: 'lost', words: string}
 *   | {type: 'log-began', query: string}
 *   | {type: 'logged', query: string, entries: LogEntry[]}
 *   | {type: 'log-missed', query: string, count: number}
 *   | {type: 'log-said', query: string, words: string}
 *   | {type: 'happened', events: LoggedEvent[]}
 *   | {type: 'said', text: string, isBad: boolean}} MonitEvent
 */

const EVENTS_MAX = 500;

/**
 * @param {Size} size
 * @param {number} nowMs
 * @returns {State}
 */
export function firstState(size, nowMs) {
  return {
    size,
    nowMs,
    page: 'table',
    panel: 'logs',
    sample: null,
    manager: { isThere: true, sinceMs: nowMs, words: '' },
    sparks: new Map(),
    trend: null,
    span: 'minutes',
    selected: null,
    at: 0,
    flipped: new Set(),
    filter: '',
    sort: { field: 'name', isReversed: false },
    input: null,
    question: null,
    notice: null,
    logs: { query: '', lines: [], nextSeq: 0, missed: 0, bottomSeq: null, left: 0, search: '', grep: '' },
    events: [],
    helpTop: 0,
  };
}

/**
 * Pure: the caller performs the effects.
 * @param {State} state
 * @param {MonitEvent} event
 * @returns {Step}
 */
export function step(state, event) {
  if (event.type === 'key') {
    const { state: after, effects } = onKey(state, event.key);
    return { state: beginTrend(placeSelection(after)), effects };
  }
  return { state: stepQuietly(state, event), effects: [] };
}

/**
 * @param {State} state
 * @param {Exclude<MonitEvent, { type: 'key' }>} event
 */
function stepQuietly(state, event) {
  const { logs, manager, notice } = state;
  switch (event.type) {
    case 'resized':
      return { ...state, size: event.size };
    case 'time':
      return { ...state, nowMs: event.nowMs, notice: notice && notice.untilMs > event.nowMs ? notice : null };
    case 'sampled':
      return beginTrend(placeSelection(addSample(found(state), event)));
    case 'history':
      return addHistory(state, event);
    case 'found':
      return found(state);
    case 'lost':
      return {
        ...state,
        manager: { isThere: false, sinceMs: manager.isThere ? state.nowMs : manager.sinceMs, words: event.words },
      };
    case 'log-began':
      return { ...state, logs: { ...logs, query: event.query, lines: [], missed: 0, bottomSeq: null, left: 0 } };
    case 'logged':
      return event.query === logs.query ? { ...state, logs: appendLines(logs, event.entries) } : state;
    case 'log-missed':
      return event.query === logs.query ? { ...state, logs: { ...logs, missed: logs.missed + event.count } } : state;
    case 'log-said':
      return event.query === logs.query ? showNotice(state, event.words, 'yellow') : state;
    case 'happened':
      return { ...state, events: [...state.events, ...event.events].slice(-EVENTS_MAX) };
    case 'said':
      return showNotice(state, event.text, event.isBad ? 'bold red' : 'green');
  }
}

/** @param {State} state */
function found(state) {
  return state.manager.isThere ? state : { ...state, manager: { isThere: true, sinceMs: state.nowMs, words: '' } };
}
