import { selectedRow } from './rows.js';
import { SPANS } from './trends.js';

/** @import { State } from './state.js' */

/** The hours are asked for again this often, in ms. */
const HOURS_MS = 60_000;

/** Lines to begin with. */
const LINES = 200;
const LINES_OF_GREP = 1_000;

/**
 * What has to be followed for what is shown. The loop compares it with what it follows.
 * @typedef {object} Wishes
 * @property {{key: string, request: {targets: string[], lines: number, follow: true, grep?: {source: string, flags: string}}}|null} logs
 * @property {{key: string, targets: string[], stepMs: number, points: number, turn: number}|null} trend  Whose history the charts need. `turn`: with another one it is needed anew.
 */

/**
 * @param {State} state
 * @returns {Wishes}
 */
export function wishesOf(state) {
  const row = selectedRow(state);
  if (!row) return { logs: null, trend: null };
  // Where an id is the name of an app too, that one is shown: looking does no harm.
  const targets = [row.app ? row.app.name : String(row.worker?.id)];
  const { grep } = state.logs;
  const asked = grep ? { grep: { source: grep.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), flags: grep === grep.toLowerCase() ? 'i' : '' }, lines: LINES_OF_GREP } : { lines: LINES };
  return {
    logs: { key: JSON.stringify([row.key, grep]), request: { targets, follow: true, ...asked } },
    trend: { key: row.key, targets, ...SPANS[state.span], turn: state.span === 'hours' ? Math.floor((state.sample?.atMs ?? 0) / HOURS_MS) : 0 },
  };
}
