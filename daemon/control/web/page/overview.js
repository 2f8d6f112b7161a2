import { formatBytes, formatCoarse, formatCount, formatPercent, formatRate } from '../../../../lib/figures/format.js';
import { listConcerns, showConcerns } from './attention.js';
import { attribute, findElement, setText } from './dom.js';
import { createSpark } from './sparkline.js';
import { computeStaleMs } from './store.js';

/** @import { Concern } from './attention.js' */
/** @import { Store } from './store.js' */

/** Limit for shown items that need attention. The page only counts further items until a click. */
const SHOWN = 5;

export function createOverview() {
  const spark = createSpark();
  findElement('host-cpu').append(spark.node);
  let isAll = false;
  const all = findElement('all-concerns');
  all.addEventListener('click', () => {
    isAll = true;
  });
  return { update, showTitle };

  /**
   * @param {Store} store
   * @param {{ now: number, nowMs: number }} times
   */
  function update(store, { now, nowMs }) {
    showConnection(store, now);
    const { sample, welcome } = store;
    if (welcome) {
      setText(findElement('host'), welcome.host);
      setText(findElement('version'), `nclust ${welcome.version}`);
      setText(findElement('rights'), welcome.mayAct ? '' : 'Read-only');
    }
    if (!sample) return;
    const { host, apps, workers } = sample;
    setText(findElement('f-apps'), String(apps.length));
    const online = workers.filter(({ status }) => status === 'online').length;
    setText(findElement('f-workers'), `${online} of ${formatCount(workers.length, 'worker')} online`);
    setText(findElement('f-cpu'), formatPercent(host.cpu));
    setText(findElement('f-cores'), `of ${formatCount(host.cores, 'core')}`);
    setText(findElement('f-memory'), formatBytes(host.memoryUsedBytes));
    setText(findElement('f-total'), `of ${formatBytes(host.memoryTotalBytes)}`);
    findElement('bar').style.width =
      `${Math.min(100, (host.memoryUsedBytes / host.memoryTotalBytes) * 100).toFixed(1)}%`;
    setText(findElement('f-load'), host.load1.toFixed(2));
    setText(findElement('f-loads'), `${host.load5.toFixed(2)}  ${host.load15.toFixed(2)}`);
    setText(findElement('f-requests'), formatRate(sum(apps, 'requestsPerS')));
    const failing = sum(apps, 'errorsPerS');
    setText(findElement('f-errors'), failing > 0 ? `${formatRate(failing)} failed` : 'none failed');
    findElement('f-errors').classList.toggle('errors', failing > 0);
    spark.draw(store.sparks.get('host') ?? []);
    const concerns = listConcerns({ ...store, sample, nowMs });
    entitle(concerns, store);
    showBand(concerns);
  }

  /**
   * The title also shows the state, for a tab in the background.
   * @param {Store} store
   * @param {number} nowMs
   */
  function showTitle(store, nowMs) {
    if (store.sample) entitle(listConcerns({ ...store, sample: store.sample, nowMs }), store);
  }

  /** @param {Concern[]} concerns */
  function showBand(concerns) {
    const visible = isAll ? concerns : concerns.slice(0, SHOWN);
    all.hidden = visible.length === concerns.length;
    setText(all, `${concerns.length - visible.length} more`);
    findElement('attention').hidden = concerns.length === 0;
    showConcerns(findElement('concerns'), visible);
  }
}

/**
 * @param {Concern[]} concerns
 * @param {Store} store
 */
function entitle(concerns, { welcome }) {
  const bad = concerns.filter(({ level }) => level === 'bad').length;
  document.title = `${bad > 0 ? `(${bad}) ` : ''}${welcome?.host ?? 'nclust'} – nclust`;
}

/** Words for a page that is not up to date. */
const PHASES = {
  live: 'No updates.',
  connecting: 'Connecting…',
  lost: 'Reconnecting…',
  refused: 'Reconnecting…',
};

/**
 * @param {Store} store
 * @param {number} now
 */
function showConnection(store, now) {
  const staleMs = computeStaleMs(store, now);
  const node = findElement('connection');
  const age = staleMs === null ? '' : ` Figures are ${formatCoarse(staleMs)} old.`;
  const isFresh = store.phase === 'live' && staleMs === null;
  attribute(node, 'data-phase', isFresh ? 'live' : 'lost');
  setText(/** @type {Element} */ (node.firstElementChild), isFresh ? 'Live' : PHASES[store.phase]);
  // The age is outside of the live region, because a screen reader must not read out the seconds.
  setText(/** @type {Element} */ (node.lastElementChild), age);
  document.body.classList.toggle('is-stale', staleMs !== null);
}

/**
 * @param {NonNullable<Store['sample']>['apps']} apps
 * @param {'requestsPerS' | 'errorsPerS'} field
 */
function sum(apps, field) {
  return Math.round(apps.reduce((all, { http }) => all + (http?.[field] ?? 0), 0) * 10) / 10;
}
