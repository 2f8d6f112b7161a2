import { listRows } from '../figures/rows.js';

/** @import { FigureRow } from '../figures/rows.js' */
/** @import { State } from './state.js' */

/**
 * @param {Pick<State, 'sample' | 'filter' | 'sort' | 'flipped'>} state
 * @returns {FigureRow[]}
 */
export function rowsOf({ sample, filter, sort, flipped }) {
  return sample ? listRows({ sample, filter, sort, flipped }) : [];
}

/**
 * If the selected row is gone, selects the row at its position.
 * @param {State} state
 */
export function placeSelection(state) {
  const rows = rowsOf(state);
  if (!state.sample) return state;
  const found = rows.findIndex(({ key }) => key === state.selected);
  const at = found !== -1 ? found : Math.max(0, Math.min(state.at, rows.length - 1));
  const selected = rows[at]?.key ?? null;
  return selected === state.selected && at === state.at ? state : { ...state, selected, at };
}

/**
 * @param {State} state
 * @returns {FigureRow | null}
 */
export function selectedRow(state) {
  return rowsOf(state).find(({ key }) => key === state.selected) ?? null;
}
