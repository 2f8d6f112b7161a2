import { coarse } from '../../../../lib/render/time.js';
import { concernsOf } from './attention.js';
import { attribute, byId, el, say } from './dom.js';
import { bytes, counted, percent, rate } from './format.js';
import { fragmentOf } from './route.js';
import { createSpark } from './sparkline.js';
import { staleForMs } from './store.js';

/** @import { Concern } from './attention.js' */
/** @import { World } from './store.js' */

/** Of what needs attention; the rest is counted. */
const SHOWN = 5;

/**
 * What stands above the table: the machine, how the page is connected, and what needs attention.
 */
export function createOverview() {
  const spark = createSpark();
  byId('host-cpu').append(spark.node);
  let isAll = false;
  let shown = '';
  const all = byId('all-concerns');
  all.addEventListener('click', () => {
    isAll = true;
  });
  return { update, showTitle };

  /**
   * @param {World} world
   * @param {{ now: number, nowMs: number }} times
   */
  function update(world, { now, nowMs }) {
    showConnection(world, now);
    const { sample, welcome } = world;
    if (welcome) {
      say(byId('host'), welcome.host);
      say(byId('version'), `nclust ${welcome.version}`);
      say(byId('rights'), welcome.mayAct ? '' : 'Read-only');
    }
    if (!sample) return;
    const { host, apps, workers } = sample;
    say(byId('f-apps'), String(apps.length));
    say(
      byId('f-workers'),
      `${workers.filter(({ status }) => status === 'online').length} of ${counted(workers.length, 'worker')} online`,
    );
    say(byId('f-cpu'), percent(host.cpu));
    say(byId('f-cores'), `of ${counted(host.cores, 'core')}`);
    say(byId('f-memory'), bytes(host.memoryUsedBytes));
    say(byId('f-total'), `of ${bytes(host.memoryTotalBytes)}`);
    byId('bar').style.width = `${Math.min(100, (host.memoryUsedBytes / host.memoryTotalBytes) * 100).toFixed(1)}%`;
    say(byId('f-load'), host.load1.toFixed(2));
    say(byId('f-loads'), `${host.load5.toFixed(2)}  ${host.load15.toFixed(2)}`);
    say(byId('f-requests'), rate(sum(apps, 'requestsPerS')));
    const failing = sum(apps, 'errorsPerS');
    say(byId('f-errors'), failing > 0 ? `${rate(failing)} failed` : 'none failed');
    byId('f-errors').classList.toggle('errors', failing > 0);
    spark.draw(world.sparks.get('host') ?? []);
    const concerns = concernsOf({ ...world, sample, nowMs });
    entitle(concerns, world);
    showConcerns(concerns);
  }

  /**
   * For a tab that nobody looks at.
   * @param {World} world
   * @param {number} nowMs
   */
  function showTitle(world, nowMs) {
    if (world.sample) entitle(concernsOf({ ...world, sample: world.sample, nowMs }), world);
  }

  /** @param {Concern[]} concerns */
  function showConcerns(concerns) {
    const visible = isAll ? concerns : concerns.slice(0, SHOWN);
    all.hidden = visible.length === concerns.length;
    say(all, `${concerns.length - visible.length} more`);
    const now = JSON.stringify(visible);
    if (now === shown) return;
    shown = now;
    byId('attention').hidden = concerns.length === 0;
    byId('concerns').replaceChildren(
      ...visible.map(({ level, app, text }) =>
        el('li', { className: level }, app === null ? text : el('a', { href: fragmentOf({ app }) }, text)),
      ),
    );
  }
}

/**
 * @param {Concern[]} concerns
 * @param {World} world
 */
function entitle(concerns, { welcome }) {
  const bad = concerns.filter(({ level }) => level === 'bad').length;
  document.title = `${bad > 0 ? `(${bad}) ` : ''}${welcome?.host ?? 'nclust'} – nclust`;
}

/**
 * Old figures never look like new ones.
 * @param {World} world
 * @param {number} now
 */
function showConnection(world, now) {
  const staleMs = staleForMs(world, now);
  const node = byId('connection');
  const age = staleMs === null ? '' : ` Figures are ${coarse(staleMs)} old.`;
  const words =
    world.phase === 'live'
      ? staleMs === null
        ? 'Live'
        : 'No news.'
      : world.phase === 'connecting'
        ? 'Connecting…'
        : 'Reconnecting…';
  attribute(node, 'data-phase', world.phase === 'live' && staleMs === null ? 'live' : 'lost');
  say(/** @type {Element} */ (node.firstElementChild), words);
  // Out of the live region: nobody wants to hear the seconds.
  say(/** @type {Element} */ (node.lastElementChild), age);
  document.body.classList.toggle('is-stale', staleMs !== null);
}

/**
 * @param {NonNullable<World['sample']>['apps']} apps
 * @param {'requestsPerS' | 'errorsPerS'} field
 */
function sum(apps, field) {
  return Math.round(apps.reduce((all, { http }) => all + (http?.[field] ?? 0), 0) * 10) / 10;
}
