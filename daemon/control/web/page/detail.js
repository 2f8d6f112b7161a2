import { emptyTrend, extendTrend, mergeHistory } from '../../../../lib/figures/trends.js';
import { explain } from '../../../../lib/render/why/answer.js';
import { SERIES, STEPS } from '../../../../lib/shared/metrics.js';
import { selectTroubles } from '../../../../lib/shared/troubles.js';
import { listActions } from './actions.js';
import { describeTroubles, filterEvents, latestStamp, renderTimeline, showConcerns } from './attention.js';
import { createCharts } from './charts.js';
import { detailRows, lastWords } from './describe.js';
import { el, setText } from './dom.js';
import { createLogs } from './logs.js';
import { writeFragment } from './route.js';
import { createTable, showState } from './table.js';

/** @import { AppSample, MetricsSample, WorkerSample } from '../../../../lib/shared/metrics.js' */
/** @import { Trouble } from '../../../../lib/shared/troubles.js' */
/** @import { SlotStatus } from '../../../../lib/shared/wire/protocol.js' */
/** @import { Action } from './actions.js' */
/** @import { createConnection } from './connection.js' */
/** @import { Route } from './route.js' */
/** @import { Store } from './store.js' */

/** Limit for values in one answer of the manager. */
const VALUES_MAX = 1_000_000;

const AGAIN_MS = 10_000;

/** @type {{ stepMs: keyof typeof STEPS, title: string }[]} */
const RANGES = [
  { stepMs: 1000, title: '10 min' },
  { stepMs: 10000, title: '6 h' },
];

/**
 * @param {object} o
 * @param {Route} o.place
 * @param {ReturnType<typeof createConnection>} o.connection
 * @param {(place: Route) => void} o.onGo
 * @param {(action: Action) => void} o.onAct
 */
export function createDetail({ place, connection, onGo, onAct }) {
  const isApp = place.worker === undefined;
  const target = isApp ? (place.app ?? '') : String(place.worker);
  /** @type {SlotStatus[]} */
  let slots = [];
  let range = RANGES[0].stepMs;
  let trend = emptyTrend(range);
  /** @type {Store | null} */
  let last = null;
  let stamp = '';
  let factsShown = '';
  let actionsShown = '';
  let askedAt = -Infinity;
  let slotStamp = '';
  /** @type {ReturnType<typeof createLogs> | null} */
  let logs = null;

  const charts = createCharts();
  const workers = createTable({
    label: 'Instances',
    isFlat: true,
    onOpen: ({ worker }) => {
      if (worker) onGo({ worker: worker.id });
    },
    onChange: () => {
      if (last) showWorkers(last, Date.now());
    },
  });
  const title = el('h1', { tabIndex: -1 });
  const state = el('span', { className: 'state' });
  const concerns = el('ul', { className: 'concerns', 'aria-label': 'Needs attention', hidden: true });
  const answer = el('p', { className: 'answer' });
  const buttons = el('div', { className: 'actions' });
  const rights = el('p', { className: 'note' });
  const facts = el('dl', { className: 'facts' });
  const words = el('div', { className: 'last-words' });
  const history = el('div');
  const logPlace = el('div');
  const ranges = RANGES.map(({ stepMs, title: text }) =>
    el('button', { type: 'button', 'aria-pressed': String(stepMs === range), onclick: () => choose(stepMs) }, text),
  );
  const up = el('a', { href: writeFragment({}) }, 'All apps');
  const above = el('span');
  const tablePlace = el('div', { className: 'table-place' }, workers.node);
  const workersTitle = el('h2', {}, 'Instances');
  const workersSection = el('section', { 'aria-label': 'Instances', hidden: true }, workersTitle, tablePlace);
  const breadcrumb = el('nav', { 'aria-label': 'Breadcrumb' }, up, above);
  const titleRow = el('div', { className: 'title' }, title, state, buttons);
  const rangeTools = el('div', { className: 'tools', role: 'group', 'aria-label': 'Time range' }, ...ranges);
  const chartsHeader = el('header', {}, el('h2', {}, 'Charts'), rangeTools);
  const chartsSection = el('section', { 'aria-label': 'Charts' }, chartsHeader, charts.node);
  const eventsSection = el('section', { 'aria-label': 'Events' }, el('h2', {}, 'Events'), words, history);
  const factsSection = el('section', { 'aria-label': 'Facts' }, el('h2', {}, 'Details'), facts);
  const node = el(
    'article',
    { className: 'detail' },
    el('header', {}, breadcrumb, titleRow, concerns, answer, rights),
    el('div', { className: 'column' }, chartsSection, workersSection, logPlace),
    el('div', { className: 'column' }, eventsSection, factsSection),
  );
  setText(title, isApp ? target : '…');
  return {
    node,
    update,
    begin: () => {
      askedAt = -Infinity;
      askHistory();
    },
    repaint: charts.repaint,
    focus: () => title.focus({ preventScroll: true }),
    close,
  };

  /**
   * @param {Store} store
   * @param {{ nowMs: number }} times
   */
  function update(store, { nowMs }) {
    const isNew = store.sample !== last?.sample;
    last = store;
    const { sample } = store;
    if (!sample) return;
    /** @type {AppSample | WorkerSample | undefined} */
    const own = (isApp ? sample.apps : sample.workers).find(isOurs);
    const mine = sample.workers.filter(isOurs);
    const troubles = selectTroubles(sample.troubles ?? [], mine);
    showState(state, { workers: mine, troubles });
    showConcerns(concerns, describeTroubles(troubles, sample, nowMs));
    state.hidden = mine.length === 0;
    showTitle(mine[0]);
    showActions(store, sample);
    if (!own) {
      const gone = isApp ? `“${target}” is no longer in the list.` : `The instance with id ${target} no longer exists.`;
      return setText(answer, gone);
    }
    logs ??= beginLogs(sample);
    const now = mine.map(({ id, status, pid, restarts }) => [id, status, pid, restarts]).join();
    if (isNew && (now !== slotStamp || nowMs - askedAt > AGAIN_MS)) ask(now, nowMs);
    if (isNew && range === 1_000) {
      trend = extendTrend(trend, sample.atMs, own);
      charts.show(trend);
    }
    showWorkers(store, nowMs);
    showStory(store, own, { troubles, nowMs });
  }

  /** @param {{ name: string, id?: number }} one  An app or an instance. */
  function isOurs({ name, id }) {
    return isApp ? name === target : id === place.worker;
  }

  /** @param {WorkerSample | undefined} worker */
  function showTitle(worker) {
    if (isApp || !worker) return;
    setText(title, `${worker.name}, instance ${worker.slot}`);
    if (above.childElementCount === 0)
      above.append(' / ', el('a', { href: writeFragment({ app: worker.name }) }, worker.name));
  }

  /**
   * @param {Store} store
   * @param {MetricsSample} sample
   */
  function showActions({ welcome, phase }, sample) {
    const { actions, why } = listActions(sample, place);
    const mayAct = welcome?.mayAct ?? false;
    setText(
      rights,
      mayAct
        ? (why ?? '')
        : 'This page is read-only. To reload, restart, stop and scale here, run: nclust web --allow-actions',
    );
    const now = JSON.stringify([mayAct, phase, actions]);
    if (now === actionsShown) return;
    actionsShown = now;
    const focused = buttons.contains(document.activeElement) ? document.activeElement?.textContent : null;
    buttons.replaceChildren(
      ...(mayAct ? actions : []).map((action) =>
        el('button', { type: 'button', disabled: phase !== 'live', onclick: () => onAct(action) }, action.verb),
      ),
    );
    /** @type {HTMLElement | undefined} */ (
      [...buttons.children].find(({ textContent }) => textContent === focused)
    )?.focus();
  }

  /**
   * @param {Store} store
   * @param {number} nowMs
   */
  function showWorkers({ sample, sparks }, nowMs) {
    const mine = sample?.workers.filter(({ name }) => name === target) ?? [];
    workersSection.hidden = !isApp || mine.length < 2;
    if (workersSection.hidden || !sample) return;
    workers.update({ apps: [], workers: mine, troubles: sample.troubles }, { sparks, nowMs });
  }

  /**
   * @param {Store} store
   * @param {AppSample | WorkerSample} own
   * @param {{ troubles: Trouble[], nowMs: number }} o
   */
  function showStory({ events }, { name }, { troubles, nowMs }) {
    const about = filterEvents(events, { name, id: isApp ? null : (place.worker ?? null) });
    const now = latestStamp(about);
    if (now !== stamp) {
      stamp = now;
      history.replaceChildren(renderTimeline(about, nowMs));
    }
    if (slots.length === 0) return;
    setText(answer, `${explain({ name, slots, events: about, troubles }, { isRunning: true, nowMs }).text}.`);
    const all = detailRows(slots, nowMs);
    const dead = lastWords(slots);
    const stampOfFacts = JSON.stringify([all, dead]);
    if (stampOfFacts === factsShown) return;
    factsShown = stampOfFacts;
    facts.replaceChildren(...all.flatMap(([label, text]) => [el('dt', {}, label), el('dd', {}, text)]));
    words.replaceChildren(
      ...(dead ? [el('h3', {}, dead.title), el('pre', { tabIndex: 0 }, dead.lines.join('\n'))] : []),
    );
  }

  /** @param {MetricsSample} sample */
  function beginLogs(sample) {
    const name = isApp ? target : '';
    const isOne = !isApp || (sample.apps.find((app) => app.name === name)?.workers ?? 1) === 1;
    const begun = createLogs({
      target,
      follow: connection.follow,
      slotOf: (id) => (isOne ? null : (last?.sample?.workers.find((worker) => worker.id === id)?.slot ?? null)),
    });
    logPlace.append(begun.node);
    return begun;
  }

  /**
   * @param {string} now
   * @param {number} nowMs
   */
  function ask(now, nowMs) {
    askedAt = nowMs;
    slotStamp = now;
    connection
      .request('list', { targets: [target], detail: true })
      .then(({ slots: listed }) => {
        slots = listed.filter(isOurs);
      })
      .catch(leave);
    if (range !== 1_000) askHistory(6);
  }

  /** @param {number} [newest]  Limit for the number of points. */
  function askHistory(newest = Infinity) {
    const asked = range;
    const of = isApp ? 'apps' : 'workers';
    const workersMax = last?.sample?.workers.filter(({ name }) => name === target).length || 1;
    const points = Math.min(newest, STEPS[asked], Math.floor(VALUES_MAX / (Object.keys(SERIES).length * workersMax)));
    connection
      .request('metrics', { targets: [target], workers: false, history: { stepMs: asked, of, points } })
      .then(({ history }) => {
        if (asked !== range) return;
        trend = mergeHistory(trend, history, history[of].find(isOurs)?.series ?? {});
        charts.show(trend);
      })
      .catch(leave);
  }

  /** @param {keyof typeof STEPS} stepMs */
  function choose(stepMs) {
    range = stepMs;
    trend = emptyTrend(stepMs);
    for (const [at, button] of ranges.entries())
      button.setAttribute('aria-pressed', String(RANGES[at].stepMs === stepMs));
    askHistory();
  }

  function close() {
    charts.close();
    logs?.close();
  }
}

/**
 * Ignores the error of a request. If the connection was lost, the page repeats the request over the
 * next connection. If the app was removed, the next sample shows this.
 */
function leave() {}
