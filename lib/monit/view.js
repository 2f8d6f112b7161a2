import { boxesOf, topOf } from './layout.js';
import { createScreen, put, restyle } from './screen.js';
import { BLOCKS } from './sparkline.js';
import { rowsOf, selectedRow } from './rows.js';
import { drawCharts } from './view-charts.js';
import { drawFooter, drawHeader } from './view-frame.js';
import { drawHelp } from './view-help.js';
import { drawLogPage, drawPanels } from './view-panels.js';
import { drawNumbers, drawTitle } from './view-row.js';
import { drawTable } from './view-table.js';

/** @import { State } from './state.js' */
/** @import { Screen } from './screen.js' */

/**
 * What a state looks like.
 * @param {State} state
 * @param {{marks?: string}} [o]  `marks`: of the charts.
 * @returns {Screen}
 */
export function view(state, { marks = BLOCKS } = {}) {
  const screen = createScreen(state.size);
  const boxes = boxesOf(state.size);
  drawHeader(screen, boxes.header, state);
  drawFooter(screen, boxes.footer, state);
  if (state.page === 'help') drawHelp(screen, boxes.page, state);
  else if (state.page === 'logs') drawLogPage(screen, boxes.page, state);
  else drawMain(screen, boxes, state, marks);
  return screen;
}

/**
 * @param {Screen} screen
 * @param {import('./layout.js').Boxes} boxes
 * @param {State} state
 * @param {string} marks
 */
function drawMain(screen, boxes, state, marks) {
  const rows = rowsOf(state);
  drawTable(screen, boxes.table, { state, rows, marks });
  // Beside the table: a line between the two.
  if (boxes.title.x > 0) for (let y = boxes.table.y; y < boxes.table.y + boxes.table.height; y += 1) put(screen, { x: boxes.title.x - 1, y, text: '│', style: 'grey' });
  const row = selectedRow(state);
  drawTitle(screen, boxes.title, { row, nowMs: state.nowMs, span: state.span });
  if (row) {
    drawNumbers(screen, boxes.numbers, row);
    drawCharts(screen, boxes.charts, { trend: state.trend, marks });
  }
  drawPanels(screen, boxes, state);
  const shown = rows.findIndex(({ key }) => key === state.selected);
  if (shown !== -1) select(screen, boxes.table, shown - topOf(boxes.table.height - 1, shown, rows.length));
}

/** @param {Screen} screen @param {import('./layout.js').Box} box @param {number} line */
function select(screen, box, line) {
  if (line + 1 < box.height) restyle(screen, { x: box.x, y: box.y + 1 + line, width: box.width, style: 'inverse' });
}
