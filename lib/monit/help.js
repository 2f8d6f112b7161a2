import { put } from './screen.js';

/** @import { Box } from './layout.js' */
/** @import { Screen } from './screen.js' */
/** @import { State } from './state.js' */

/** An entry without keys is a heading. @type {[keys: string, does: string][]} */
const HELP = [
  ['', 'The table'],
  ['up down  j k', 'the row above, below; PgUp PgDn, Home End (g G)'],
  ['Enter  Space', 'show or hide the workers of an app; right and left, too'],
  ['*', 'show or hide the workers of all apps'],
  ['/', 'only rows with this text in name, namespace, id, pid, state; Esc: all'],
  ['o  O', 'order by name, CPU, memory, requests, restarts; reverse the order'],
  ['t', 'charts of the last 6 hours, or of the last minutes'],
  ['e', 'events first, or logs first'],
  ['l', 'the logs of the row, full screen'],
  ['', 'The selected row (asks first, and only y confirms; + does not ask)'],
  ['r', 'reload, without losing a request'],
  ['R', 'restart, also stopped instances'],
  ['s', 'stop'],
  ['+  -', 'one instance more, or fewer'],
  ['', 'Full-screen logs'],
  ['up down  j k', 'older and newer lines; PgUp PgDn, Home; left and right'],
  ['End  G', 'follow the newest line'],
  ['/  n  N', 'mark a text; the next older, newer line that contains it'],
  ['&', 'only lines with this text, from the log files'],
  ['Esc', 'end the search, then the page; so do l and q'],
  ['', 'Everywhere'],
  ['?', 'this page'],
  ['Ctrl-L  Ctrl-Z', 'draw everything again; suspend (fg resumes)'],
  ['q  Ctrl-C', 'quit'],
];

const KEY_COLUMNS = 17;

/**
 * @param {number} width
 * @returns {{ keys: string, does: string }[]}  A long text takes several lines. Only its first line
 *   has `keys`.
 */
export function helpLines(width) {
  return HELP.flatMap(([keys, does]) =>
    keys === ''
      ? [{ keys: does, does: '' }]
      : broken(does, Math.max(20, width - KEY_COLUMNS - 4)).map((line, at) => ({
          keys: at === 0 ? keys : '',
          does: line,
        })),
  );
}

/**
 * @param {string} text
 * @param {number} width
 */
function broken(text, width) {
  /** @type {string[]} */
  const lines = [''];
  for (const word of text.split(' ')) {
    const longer = `${lines[lines.length - 1]} ${word}`.trim();
    if (longer.length <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/**
 * @param {Screen} screen
 * @param {Box} box
 * @param {State} state
 */
export function drawHelp(screen, box, { helpTop }) {
  for (const [at, { keys, does }] of helpLines(box.width)
    .slice(helpTop, helpTop + box.height)
    .entries()) {
    const y = box.y + at;
    put(screen, does === '' ? { x: 1, y, text: keys, style: 'cyan' } : { x: 3, y, text: keys, style: 'bold' });
    put(screen, { x: 3 + KEY_COLUMNS, y, text: does });
  }
}
