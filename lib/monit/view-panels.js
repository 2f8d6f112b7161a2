import { clockTime } from '../figures/format.js';
import { formatFigure } from '../figures/rows.js';
import { eventStyle, eventWords } from '../render/event-text.js';
import { pickColour } from '../render/log-lines.js';
import { toOneLine, textWidth } from '../render/text.js';
import { hasText, visibleLines } from './log-lines.js';
import { selectedRow } from './selection.js';
import { put, restyle } from './screen.js';
import { chart, keepPeaks, chooseScale, sparkline } from './trends.js';
import { drawRule } from './view-table.js';

/** @import { SeriesName } from '../shared/metrics.js' */
/** @import { Box, Boxes } from './layout.js' */
/** @import { LogLine, LogLines } from './log-lines.js' */
/** @import { Screen } from './screen.js' */
/** @import { State } from './state.js' */
/** @import { Trend } from './trends.js' */

/**
 * @param {Screen} screen
 * @param {Boxes} boxes
 * @param {State} state
 */
export function drawPanels(screen, { panel, second }, state) {
  const [first, other] = state.panel === 'logs' ? [drawLogs, drawEvents] : [drawEvents, drawLogs];
  first(screen, panel, state);
  other(screen, second, state);
}

/**
 * @param {Screen} screen
 * @param {Box} box
 * @param {State} state
 */
function drawLogs(screen, box, { logs }) {
  drawRule(screen, box, `logs${missedText(logs)}`);
  drawLines(screen, within(box), { ...logs, bottomSeq: null, left: 0, search: '' });
}

/**
 * @param {Screen} screen
 * @param {Box} box
 * @param {State} state
 */
export function drawLogPage(screen, box, state) {
  drawLines(screen, box, state.logs);
}

/** @param {LogLines} logs */
export function missedText({ missed }) {
  return missed > 0 ? ` · ${missed.toLocaleString('en')} lines came too fast and were left out` : '';
}

/**
 * @param {Screen} screen
 * @param {Box} box
 * @param {LogLines} logs
 */
function drawLines(screen, box, logs) {
  const lines = visibleLines(logs, box.height);
  const isMixed = lines.some(({ id }) => id !== lines[0].id);
  for (const [at, line] of lines.entries()) {
    const y = box.y + at;
    let x = box.x + 1;
    if (isMixed) x = put(screen, { x, y, text: `${line.id} `, style: pickColour(`${line.id}`) });
    x = put(screen, { x, y, text: line.isErr ? '! ' : '  ', style: 'red' });
    drawText(screen, { x, y, width: box.x + box.width - x }, line, logs);
  }
}

/**
 * @param {Screen} screen
 * @param {{ x: number, y: number, width: number }} place
 * @param {LogLine} line
 * @param {LogLines} logs
 */
function drawText(screen, { x, y, width }, line, { left, search }) {
  const text = left > 0 ? [...line.text].slice(left).join('') : line.text;
  put(screen, { x, y, text, width });
  if (search === '' || !hasText(line.text, search)) return;
  const isAnyCase = search === search.toLowerCase();
  const among = isAnyCase ? text.toLowerCase() : text;
  for (let at = among.indexOf(search); at !== -1; at = among.indexOf(search, at + search.length)) {
    const before = textWidth(toOneLine(text.slice(0, at)));
    if (before >= width) return;
    restyle(screen, { x: x + before, y, width: Math.min(textWidth(search), width - before), style: 'inverse bold' });
  }
}

/**
 * @param {Screen} screen
 * @param {Box} box
 * @param {State} state
 */
function drawEvents(screen, box, state) {
  drawRule(screen, box, 'events');
  const { x: left, y: top, width, height } = within(box);
  const row = selectedRow(state);
  const name = row?.app?.name ?? row?.worker?.name;
  const id = row?.app ? null : row?.worker?.id;
  const shown = state.events
    .filter(
      (event) =>
        event.app === undefined || (event.app === name && (id === null || event.id === undefined || event.id === id)),
    )
    .slice(-Math.max(1, height));
  for (const [at, event] of shown.slice(0, height).entries()) {
    const y = top + at;
    const time = `${clockTime(event.at, state.nowMs)} `;
    let x = put(screen, { x: left + 1, y, text: time, style: 'grey', width });
    if (event.slot !== undefined && !row?.worker) x = put(screen, { x, y, text: `${event.slot} `, style: 'cyan' });
    put(screen, { x, y, text: eventWords(event), style: eventStyle(event) ?? '', width: left + width - x });
  }
}

/**
 * Returns the box without its heading.
 * @param {Box} box
 * @returns {Box}
 */
function within({ x, y, width, height }) {
  return { x, y: y + 1, width, height: Math.max(0, height - 1) };
}

const MB = 1024 ** 2;

/**
 * @typedef {object} Chart
 * @property {SeriesName} name
 * @property {string} title
 * @property {string} style
 * @property {number} least  The minimum for the top of the scale, in units.
 * @property {number} unit
 */

/** @type {Chart[]} */
const CHARTS = [
  { name: 'cpu', title: 'cpu', style: 'green', least: 100, unit: 1 },
  { name: 'memoryBytes', title: 'mem', style: 'blue', least: 10, unit: MB },
  { name: 'delayP99Ms', title: 'loop', style: 'yellow', least: 50, unit: 1 },
  { name: 'requestsPerS', title: 'req/s', style: 'magenta', least: 10, unit: 1 },
];

const LABEL_COLUMNS = 14;

/**
 * @param {Screen} screen
 * @param {Box} box
 * @param {{ trend: Trend | null, marks: string }} o
 */
export function drawCharts(screen, box, { trend, marks }) {
  if (!trend || box.height <= 0) return;
  const width = Math.floor(box.width / 2);
  const height = Math.floor(box.height / 2);
  for (const [at, { name, title, style, least, unit }] of CHARTS.entries()) {
    const room = Math.max(0, height === 1 ? width - LABEL_COLUMNS - 2 : width - 2);
    const all = room > 0 ? trend.series[name] : [];
    const points = trend.span === 'hours' ? keepPeaks(all, room) : all.slice(-room);
    const x = box.x + (at % 2) * width;
    const y = box.y + Math.floor(at / 2) * height;
    const max = chooseScale(points, least, unit);
    const text = formatFigure(name, trend.series[name].at(-1)) || '-';
    put(screen, { x: x + 1, y, text: title, style: 'grey' });
    if (height === 1) {
      put(screen, { x: x + LABEL_COLUMNS - text.length, y, text });
      put(screen, { x: x + 1 + LABEL_COLUMNS, y, text: sparkline(points, { width: room, max, marks }), style });
      continue;
    }
    put(screen, { x: x + 7, y, text });
    const scale = `of ${formatFigure(name, max).replace(/\.0(?=\D)/, '')}`;
    put(screen, { x: x + width - 1 - scale.length, y, text: scale, style: 'grey' });
    for (const [line, blocks] of chart(points, { width: room, height: height - 1, max, marks }).entries())
      put(screen, { x: x + 1, y: y + 1 + line, text: blocks, style });
  }
}
