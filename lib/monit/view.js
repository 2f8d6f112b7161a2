import { formatBytes, formatUptime } from '../figures/format.js';
import { textWidth } from '../render/text.js';
import { drawHelp } from './help.js';
import { layOut } from './layout.js';
import { createScreen, put, restyle } from './screen.js';
import { rowsOf, selectedRow } from './selection.js';
import { BLOCKS } from './trends.js';
import { drawCharts, drawLogPage, drawPanels, missedText } from './view-panels.js';
import { drawNumbers, drawTable, drawTitle } from './view-table.js';

/** @import { Box, Boxes } from './layout.js' */
/** @import { Screen } from './screen.js' */
/** @import { State } from './state.js' */

/**
 * @param {State} state
 * @param {{ marks?: string }} [o]
 */
export function view(state, { marks = BLOCKS } = {}) {
  const screen = createScreen(state.size);
  const boxes = layOut(state.size);
  drawHeader(screen, boxes.header, state);
  drawFooter(screen, boxes.footer, state);
  if (state.page === 'help') drawHelp(screen, boxes.page, state);
  else if (state.page === 'logs') drawLogPage(screen, boxes.page, state);
  else drawMain(screen, boxes, state, marks);
  return screen;
}

/**
 * @param {Screen} screen
 * @param {Boxes} boxes
 * @param {State} state
 * @param {string} marks
 */
function drawMain(screen, boxes, state, marks) {
  const rows = rowsOf(state);
  drawTable(screen, boxes.table, { state, rows, marks });
  // If the details are beside the table, draws a line between the table and the details.
  if (boxes.title.x > 0)
    for (let y = boxes.table.y; y < boxes.table.y + boxes.table.height; y += 1)
      put(screen, { x: boxes.title.x - 1, y, text: '│', style: 'grey' });
  const row = selectedRow(state);
  drawTitle(screen, boxes.title, { row, nowMs: state.nowMs, span: state.span });
  if (row) {
    drawNumbers(screen, boxes.numbers, row);
    drawCharts(screen, boxes.charts, { trend: state.trend, marks });
  }
  drawPanels(screen, boxes, state);
}

/** The header shows the age of a sample that is older than this. */
const OLD_MS = 3_500;

/**
 * @param {Screen} screen
 * @param {Box} box
 * @param {State} state
 */
function drawHeader(screen, box, state) {
  const { sample, manager, nowMs } = state;
  const age = sample ? nowMs - sample.atMs : 0;
  if (!manager.isThere || age > OLD_MS) {
    const words = manager.isThere ? 'The manager does not answer.' : manager.words;
    put(screen, { ...box, text: ` ${words}${sample ? ` The figures are ${formatUptime(age)} old.` : ''}` });
    restyle(screen, { ...box, style: 'inverse yellow' });
    return;
  }
  if (!sample) return void put(screen, { ...box, text: ' nclust monit', style: 'bold' });
  const { host, apps, workers, troubles = [] } = sample;
  const sick = new Set(troubles.map(({ app }) => app)).size;
  const attention = sick > 0 ? `, ${sick} ${sick === 1 ? 'needs' : 'need'} attention` : '';
  const right = ` ${apps.length} apps${attention}  ${workers.length} workers `;
  const left = [
    `cpu ${host.cpu.toFixed(0)}% of ${host.cores}`,
    `mem ${formatBytes(host.memoryUsedBytes)}/${formatBytes(host.memoryTotalBytes)}`,
    `load ${[host.load1, host.load5, host.load15].map((load) => load.toFixed(1)).join(' ')}`,
  ];
  if (host.diskTotalBytes && host.diskUsedBytes !== null)
    left.push(`disk ${Math.round((100 * host.diskUsedBytes) / host.diskTotalBytes)}%`);
  const at = Math.max(0, box.width - textWidth(right));
  put(screen, { x: at, y: box.y, text: right, style: attention && 'bold red' });
  const end = put(screen, { x: 1, y: box.y, text: 'nclust', style: 'bold', width: at - 1 });
  let x = end + 2;
  for (const text of left) if (x + text.length < at) x = put(screen, { x, y: box.y, text, style: 'grey' }) + 2;
}

/**
 * @param {Screen} screen
 * @param {Box} box
 * @param {State} state
 */
function drawFooter(screen, box, state) {
  const { text, style } = buildFooter(state, box.width);
  put(screen, { x: box.x, y: box.y, text: ` ${text}`, style, width: box.width });
}

const PROMPTS = { filter: 'Rows with: ', search: 'Mark: ', grep: 'Only lines with: ' };

/**
 * @param {State} state
 * @param {number} width
 * @returns {{ text: string, style: string }}
 */
function buildFooter(state, width) {
  if (state.question) return { text: `${state.question.text} y/n`, style: 'bold inverse' };
  if (state.input)
    return { text: `${PROMPTS[state.input.kind]}${lastPart(state.input.text, width - 24)}_`, style: 'bold' };
  if (state.notice) return state.notice;
  if (state.page === 'help') return { text: 'Any other key goes back', style: 'grey' };
  if (state.page === 'logs') return { text: logFooter(state), style: 'grey' };
  const filter = state.filter ? `Rows with "${state.filter}" (Esc: all)  ` : '';
  return { text: `${filter}${hints(width - filter.length)}`, style: 'grey' };
}

/** The most useful hints first. */
const HINTS = [
  '? help',
  'q quit',
  'l logs',
  '/ filter',
  'o order',
  'r reload',
  'R restart',
  's stop',
  '+ - scale',
  'e events',
  't 6 hours',
  '* expand all',
];

/** @param {number} width */
function hints(width) {
  return HINTS.reduce(
    (text, hint) => (text.length + hint.length + 3 > width ? text : `${text}${text && '  '}${hint}`),
    '',
  );
}

/** @param {State} state */
function logFooter({ logs }) {
  const { lines, bottomSeq } = logs;
  const newer = bottomSeq === null ? 0 : (lines.at(-1)?.seq ?? bottomSeq) - bottomSeq;
  const place = bottomSeq === null ? 'following' : `${newer} newer below, G follows`;
  const only = logs.grep ? ` · only "${logs.grep}"` : '';
  const marked = logs.search ? ` · marked "${logs.search}", n N` : '';
  return `${place}${only}${marked}${missedText(logs)} · / mark  & only  Esc back`;
}

/**
 * @param {string} text
 * @param {number} width
 */
function lastPart(text, width) {
  return [...text].slice(-Math.max(1, width)).join('');
}
