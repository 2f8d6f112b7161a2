import { clockTime, formatCount } from '../../../../lib/figures/format.js';
import { plainText } from '../../../../lib/render/log-text.js';
import { escapeRegExp } from '../../../../lib/shared/escape-reg-exp.js';
import { el, setText } from './dom.js';

/** @import { LogEntry } from '../../../../lib/shared/wire/protocol.js' */
/** @import { Follow } from './connection.js' */

/** Time from the last key to the search, in ms. */
const TYPING_MS = 250;

/**
 * @param {object} o
 * @param {string} o.target
 * @param {(id: number) => number | null} o.slotOf  Null if the app has only one instance, or the
 *   instance is not known.
 * @param {(one: Follow) => () => void} o.follow
 */
export function createLogs({ target, slotOf, follow }) {
  /** @type {LogEntry[]} */
  let waiting = [];
  let missed = 0;
  let isPaused = false;
  let isDrawing = false;
  let cursor = {};
  let end = () => {};
  /** @type {any} */
  let typing = null;

  const text = el('input', {
    type: 'search',
    placeholder: 'Lines with…',
    'aria-label': 'Only lines with this text',
    oninput: onType,
  });
  const stream = el(
    'select',
    { 'aria-label': 'Output stream', onchange: begin },
    el('option', { value: 'both' }, 'out and err'),
    el('option', { value: 'out' }, 'out'),
    el('option', { value: 'err' }, 'err'),
  );
  const pause = el('button', { type: 'button', 'aria-pressed': 'false', onclick: () => hold(!isPaused) }, 'Pause');
  const note = el('p', { className: 'note' });
  const list = el('div', {
    className: 'lines',
    tabIndex: 0,
    role: 'region',
    'aria-label': 'Log lines',
    onscroll: onScroll,
  });
  const node = el(
    'section',
    { className: 'logs', 'aria-label': 'Logs' },
    el('header', {}, el('h2', {}, 'Logs'), el('div', { className: 'tools' }, text, stream, pause)),
    list,
    note,
  );
  begin();
  return { node, close };

  function begin() {
    end();
    waiting = [];
    missed = 0;
    cursor = {};
    isPaused = false;
    pause.setAttribute('aria-pressed', 'false');
    setText(pause, 'Pause');
    list.replaceChildren();
    list.classList.add('is-asking');
    showNote('');
    end = follow({
      method: 'logs',
      params: () => logQuery({ target, text: text.value, stream: stream.value, cursor }),
      onAnswer: (answer) => {
        list.classList.remove('is-asking');
        hear(answer);
      },
      onNews: hear,
      onRefusal: ({ message }) => showNote(message),
    });
  }

  /** @param {{ entries?: LogEntry[], cursor?: object, missed?: number, gap?: boolean }} news */
  function hear({ entries = [], cursor: moved, missed: left = 0, gap = false }) {
    Object.assign(cursor, moved);
    missed += left;
    waiting = createQueue(waiting, entries);
    if (gap) showNote('The lines in between are no longer kept.');
    draw();
  }

  function draw() {
    if (isPaused)
      return void setText(
        pause,
        waiting.length > 0 ? `Resume (${waiting.length >= LINES_MAX ? 'many' : waiting.length} new)` : 'Resume',
      );
    if (isDrawing) return;
    isDrawing = true;
    requestAnimationFrame(() => {
      isDrawing = false;
      if (isPaused) return;
      const isAtEnd = atEnd();
      list.append(...waiting.map(formatLine));
      waiting = [];
      while (list.childElementCount > LINES_MAX) list.firstElementChild?.remove();
      if (isAtEnd) list.scrollTop = list.scrollHeight;
      if (missed > 0)
        showNote(
          `${formatCount(missed, 'line')} came too fast and ${missed === 1 ? 'was' : 'were'} left out here. The ` +
            `log files contain them all.`,
        );
    });
  }

  /** @param {LogEntry} entry */
  function formatLine({ id, stream: from, line, atMs }) {
    const slot = slotOf(id);
    return el(
      'div',
      { className: from },
      el('time', {}, atMs === null ? '' : clockTime(atMs, Date.now())),
      slot === null ? null : el('b', { title: `Instance ${slot}` }, String(slot)),
      from === 'err' ? el('i', { title: 'Standard error' }, 'err') : null,
      el('span', {}, lineText(line)),
    );
  }

  /** @param {boolean} is */
  function hold(is) {
    isPaused = is;
    pause.setAttribute('aria-pressed', String(is));
    setText(pause, 'Pause');
    draw();
    if (!is) list.scrollTop = list.scrollHeight;
  }

  function atEnd() {
    return list.scrollHeight - list.scrollTop - list.clientHeight < 30;
  }

  /** Pauses when the user scrolls back, and resumes at the end. */
  function onScroll() {
    if (isPaused === atEnd() && list.scrollHeight > list.clientHeight) hold(!isPaused);
  }

  function onType() {
    clearTimeout(typing);
    typing = setTimeout(begin, TYPING_MS);
  }

  /** @param {string} words */
  function showNote(words) {
    setText(note, words);
  }

  function close() {
    clearTimeout(typing);
    end();
  }
}

/** Limit for lines on the page. The log files contain all lines. */
export const LINES_MAX = 2_000;

const LINE_MAX_CHARS = 4_000;

/** @param {string} line */
export function lineText(line) {
  const text = plainText(line.slice(0, LINE_MAX_CHARS));
  return line.length > LINE_MAX_CHARS ? `${text} …` : text;
}

/** @param {{ target: string, text: string, stream: string, cursor: object }} o */
export function logQuery({ target, text, stream, cursor }) {
  const wanted = text.trim();
  return {
    targets: [target],
    follow: true,
    lines: wanted === '' ? 300 : 1_000,
    ...(stream === 'both' ? {} : { streams: [stream] }),
    // Case counts only if the text contains a capital letter.
    ...(wanted === ''
      ? {}
      : {
          grep: {
            source: escapeRegExp(wanted),
            flags: wanted === wanted.toLowerCase() ? 'i' : '',
          },
        }),
    ...(Object.keys(cursor).length > 0 ? { cursor } : {}),
  };
}

/**
 * @param {LogEntry[]} waiting
 * @param {LogEntry[]} entries
 */
export function createQueue(waiting, entries) {
  return [...waiting, ...entries].slice(-LINES_MAX);
}
