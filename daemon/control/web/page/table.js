import { describeRestarts } from '../../../../lib/figures/facts.js';
import { formatRate } from '../../../../lib/figures/format.js';
import { figureText, listRows, rowStatus, SORTED, uptimeText, workerRows } from '../../../../lib/figures/rows.js';
import { arrange, attribute, el, setText } from './dom.js';
import { writeFragment } from './route.js';
import { createSpark } from './sparkline.js';

/** @import { FigureRow, Sort, SortField } from '../../../../lib/figures/rows.js' */
/** @import { MetricsSample, Points } from '../../../../lib/shared/metrics.js' */

/** @type {{ field: SortField, title: string, about: string }[]} */
const FIGURES = [
  { field: 'cpu', title: 'CPU', about: 'Percent of one core' },
  { field: 'memory', title: 'Memory', about: 'Resident memory' },
  { field: 'requests', title: 'Req/s', about: 'Requests per second' },
  { field: 'latency', title: 'p99', about: '99 of 100 responses are faster' },
  { field: 'delay', title: 'Loop', about: 'Delay of the event loop, 99th percentile of the last second' },
  { field: 'restarts', title: 'Restarts', about: 'Starts except the first' },
  { field: 'uptime', title: 'Uptime', about: 'Since the first of its instances was ready' },
];

const RESTARTS = FIGURES.findIndex(({ field }) => field === 'restarts');

/** Minimum time between two sorts by values that change all the time, in ms. */
const KEPT_MS = 5_000;

/**
 * @typedef {object} Line
 * @property {HTMLTableRowElement} tr
 * @property {(row: FigureRow, o: { sparks: Map<string, Points>, nowMs: number }) => void} update
 */

/**
 * @param {object} o
 * @param {string} o.label
 * @param {boolean} [o.isFlat]  The table has only rows for workers.
 * @param {(row: FigureRow) => void} o.onOpen
 * @param {() => void} o.onChange  The rows have to be drawn again.
 */
export function createTable({ label, isFlat = false, onOpen, onChange }) {
  /** @type {Map<string, Line>} */
  const lines = new Map();
  /** @type {FigureRow[]} */
  let rows = [];
  /** @type {Sort} */
  let sort = { field: 'name', isReversed: false };
  const flipped = /** @type {Set<string>} */ (new Set());
  /** @type {Map<string, number> | null} */
  let held = null;
  let sortedAt = 0;
  /** `key` of the row that gets the focus with Tab. */
  let current = '';

  const heads = [
    head('name', 'Name', '', 'c-name'),
    head('status', 'State', '', 'c-state'),
    ...FIGURES.map(({ field, title, about }) => head(field, title, about, `c-${field}`)),
    el('th', { scope: 'col', role: 'columnheader', className: 'c-spark' }, 'CPU, 1 min'),
  ];
  const body = el('tbody', { role: 'rowgroup' });
  const node = el(
    'table',
    { role: 'treegrid', className: isFlat ? 'flat' : '', 'aria-label': label, onkeydown: onKey },
    el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, ...heads)),
    body,
  );
  showSort();
  return { node, update, focus: (/** @type {string} */ key) => (lines.get(key) ?? lines.get(current))?.tr.focus() };

  /**
   * @param {SortField} field
   * @param {string} title
   * @param {string} about
   * @param {string} className
   */
  function head(field, title, about, className) {
    const button = el('button', { type: 'button', title: about, onclick: () => sortBy(field) }, title);
    return el('th', { scope: 'col', role: 'columnheader', className, 'data-field': field }, button);
  }

  /** @param {SortField} field */
  function sortBy(field) {
    sort = { field, isReversed: sort.field === field && !sort.isReversed };
    held = null;
    showSort();
    onChange();
  }

  function showSort() {
    const order = isNumber(sort.field) === sort.isReversed ? 'ascending' : 'descending';
    for (const th of heads) attribute(th, 'aria-sort', th.dataset.field === sort.field ? order : null);
  }

  /**
   * @param {Pick<MetricsSample, 'apps' | 'workers' | 'troubles'>} sample
   * @param {{ filter?: string, sparks: Map<string, Points>, nowMs: number }} o
   */
  function update(sample, { filter, sparks, nowMs }) {
    // If the values of the sort column change all the time, rows keep their places while the user
    // points at the table or uses it, and for KEPT_MS after a sort.
    const isBusy = body.matches(':hover') || body.contains(document.activeElement) || nowMs - sortedAt < KEPT_MS;
    const keep = isLively(sort.field) && isBusy ? held : null;
    if (!keep) sortedAt = nowMs;
    rows = isFlat
      ? workerRows(sample.workers, { sort, held: keep, troubles: sample.troubles ?? [] })
      : listRows({ sample, filter, sort, flipped, held: keep });
    held = new Map(rows.map(({ key }, at) => [key, at]));
    if (!held.has(current)) current = rows[0]?.key ?? '';
    for (const row of rows) {
      const line = lines.get(row.key) ?? createLine(row);
      lines.set(row.key, line);
      line.update(row, { sparks, nowMs });
      line.tr.tabIndex = row.key === current ? 0 : -1;
    }
    for (const key of lines.keys()) if (!held.has(key)) lines.delete(key);
    arrange(
      body,
      rows.map(({ key }) => /** @type {Line} */ (lines.get(key)).tr),
    );
    return rows.length;
  }

  /**
   * @param {FigureRow} row
   * @returns {Line}
   */
  function createLine({ key, app, worker, isExpanded }) {
    const isWorker = app === null;
    const name = app?.name ?? `${worker?.slot}`;
    const link = el(
      'a',
      { href: writeFragment(isWorker ? { worker: worker?.id } : { app: name }), tabIndex: -1 },
      isWorker ? `Instance ${name}` : name,
    );
    const more = el('button', {
      type: 'button',
      className: 'expand',
      tabIndex: -1,
      'aria-label': `Instances of ${name}`,
      onclick: (/** @type {Event} */ event) => {
        event.stopPropagation();
        flip(name);
      },
    });
    const aside = el('span', { className: 'aside' });
    const state = el('span', { className: 'state' });
    const errors = el('span', { className: 'errors' });
    const cell = (/** @type {string} */ column, /** @type {Element} */ child) =>
      el('td', { role: 'gridcell', className: `c-${column}` }, child);
    const names = el('span', { className: 'name' }, more, link, aside);
    const figures = FIGURES.map(({ field }) => cell(field, el('span')));
    figures[2].append(errors);
    const spark = createSpark();
    const tr = el(
      'tr',
      {
        role: 'row',
        className: isWorker && !isFlat ? 'worker' : 'app',
        'data-key': key,
        'aria-level': isWorker && !isFlat ? '2' : '1',
        onclick: onClick,
        onfocus: () => {
          current = key;
        },
      },
      el('th', { scope: 'row', role: 'rowheader', className: 'c-name' }, names),
      cell('state', state),
      ...figures,
      cell('spark', spark.node),
    );
    more.hidden = isExpanded === null;
    return { tr, update: show };

    /**
     * @param {FigureRow} now
     * @param {{ sparks: Map<string, Points>, nowMs: number }} o
     */
    function show(now, { sparks, nowMs }) {
      attribute(tr, 'aria-expanded', now.isExpanded === null ? null : String(now.isExpanded));
      more.hidden = now.isExpanded === null;
      const { namespace } = now.of;
      setText(aside, isWorker ? `id ${now.worker?.id}` : namespace === 'default' ? '' : namespace);
      showState(state, now);
      for (const [at, { field }] of FIGURES.entries())
        setText(/** @type {Element} */ (figures[at].firstElementChild), cellText(now, field, nowMs) || '–');
      const failing = now.of.http?.errorsPerS ?? 0;
      setText(errors, failing > 0 ? `${formatRate(failing)} failed` : '');
      attribute(figures[RESTARTS], 'title', describeRestarts([now.of]));
      spark.draw(sparks.get(now.key) ?? []);
    }
  }

  /** @param {string} name */
  function flip(name) {
    if (!flipped.delete(name)) flipped.add(name);
    onChange();
  }

  /** @param {MouseEvent} event */
  function onClick(event) {
    const row = rows.find(({ key }) => key === /** @type {HTMLElement} */ (event.currentTarget).dataset.key);
    // Ignore links, because the browser follows them. Ignore selected text, because the user may
    // copy it.
    if (!row || /** @type {Element} */ (event.target).closest('a, button') || !getSelection()?.isCollapsed) return;
    onOpen(row);
  }

  /** @param {KeyboardEvent} event */
  function onKey(event) {
    const key = /** @type {HTMLElement} */ (event.target).closest('tbody tr')?.getAttribute('data-key');
    const at = rows.findIndex((row) => row.key === key);
    if (at === -1 || event.ctrlKey || event.altKey || event.metaKey) return;
    const row = rows[at];
    const to = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      Home: 0,
      End: rows.length - 1,
      PageDown: at + 10,
      PageUp: at - 10,
    }[event.key];
    if (to !== undefined) lines.get(rows[Math.max(0, Math.min(rows.length - 1, to))].key)?.tr.focus();
    else if (event.key === 'Enter') onOpen(row);
    else if (event.key === 'ArrowRight' && row.isExpanded === false) flip(row.of.name);
    else if (event.key === 'ArrowLeft' && row.isExpanded) flip(row.of.name);
    else if (event.key === 'ArrowLeft' && row.app === null)
      lines.get(rows.slice(0, at).findLast(({ app }) => app !== null)?.key ?? '')?.tr.focus();
    else return;
    event.preventDefault();
  }
}

/**
 * @param {FigureRow} row
 * @param {SortField} field
 * @param {number} nowMs
 */
function cellText({ of, workers }, field, nowMs) {
  return field in SORTED
    ? figureText(of, SORTED[/** @type {keyof typeof SORTED} */ (field)])
    : uptimeText(workers, nowMs);
}

/**
 * Shows the state as a word, too, because not every user can distinguish the colours.
 * @param {Element} node
 * @param {Pick<FigureRow, 'workers' | 'troubles'>} row
 */
export function showState(node, { workers, troubles }) {
  const status = rowStatus({ workers, troubles });
  const online = workers.filter((worker) => worker.status === 'online').length;
  attribute(node, 'data-status', status);
  const sign = troubles.length > 0 ? ' !' : '';
  setText(node, `${status}${workers.length > 1 ? ` ${online}/${workers.length}` : ''}${sign}`);
}

/**
 * Whether the column is sorted from the greatest value.
 * @param {SortField} field
 */
function isNumber(field) {
  return field !== 'name' && field !== 'status';
}

/**
 * Whether the values of this column change all the time.
 * @param {SortField} field
 */
function isLively(field) {
  return isNumber(field) && field !== 'restarts';
}
