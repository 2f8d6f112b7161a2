// Knows: the page in the browser: one store, drawn into tables, charts and dialogs.
// Must not: import anything of Node.js; words and numbers come from lib/figures and lib/render.
// Start at: this file, then store.js and table.js; connection.js is the WebSocket.
import { appKey, workerKey } from '../../../../lib/figures/rows.js';
import { SPARK_POINTS } from '../../../../lib/figures/trends.js';
import { createActionDialog } from './actions.js';
import { createConnection } from './connection.js';
import { createDetail } from './detail.js';
import { findElement, setText, startTheme } from './dom.js';
import { forgetToken, writeFragment, openRoute } from './route.js';
import { createOverview } from './overview.js';
import { createTable } from './table.js';
import { emptyStore, managerTime, storeEvents, storeSample } from './store.js';

/** @import { Phase, Welcome } from './connection.js' */
/** @import { Route } from './route.js' */
/** @import { Store } from './store.js' */

const LIST_DEBOUNCE_MS = 200;

const GATES = {
  'no-token': {
    title: 'This page needs its full address',
    text: 'The address of the dashboard ends with a token, but this address does not.',
  },
  'wrong-token': {
    title: 'This address is no longer valid',
    text: 'Its token is wrong: the manager has a new token, or a part of it is missing.',
  },
};

/** @type {Store} */
let store = emptyStore();
/** @type {Route} */
let place = {};
/** @type {ReturnType<typeof createConnection> | null} */
let connection = null;
/** @type {ReturnType<typeof createDetail> | null} */
let detail = null;
/** @type {any} */
let listing = null;
let isDrawn = true;

const overview = createOverview();
const table = createTable({
  label: 'Apps',
  onOpen: ({ app, worker }) => go(app ? { app: app.name } : { worker: worker?.id }),
  onChange: draw,
});
const dialog = createActionDialog((method, params, onProgress) =>
  /** @type {NonNullable<typeof connection>} */ (connection).request(method, params, onProgress),
);
const filter = /** @type {HTMLInputElement} */ (findElement('filter'));

findElement('table-place').append(table.node);
filter.addEventListener('input', draw);
startTheme(() => detail?.repaint());
addEventListener('hashchange', arrive);
addEventListener('online', () => connection?.hurry());
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) connection?.hurry();
});
document.addEventListener('keydown', onKey);
// Draws every second, because the shown ages grow even without new data.
setInterval(draw, 1_000);
arrive();

function arrive() {
  const { token, isNewToken, place: wanted } = openRoute(window);
  if (token && (isNewToken || !connection)) connect(token);
  else if (!token) showGate('no-token');
  show(wanted);
}

/** @param {string} token */
function connect(token) {
  connection?.close();
  store = emptyStore();
  findElement('gate').hidden = true;
  document.body.classList.remove('is-shut');
  const own = (connection = createConnection({
    open: () => new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/socket`),
    token,
    clock: {
      set: (run, ms) => setTimeout(run, ms),
      clear: (timer) => clearTimeout(timer),
      now: () => performance.now(),
    },
    onPhase: (phase, welcome) => {
      if (own === connection) turn(phase, welcome);
    },
  }));
  own.follow({
    method: 'metrics',
    params: () => ({ follow: true, history: { series: ['cpu'], stepMs: 1_000, points: SPARK_POINTS, of: 'both' } }),
    onAnswer: sampled,
    onNews: sampled,
  });
  own.follow({ method: 'events', params: () => ({}), onNews: list });
  own.follow({
    method: 'eventLog',
    params: () => ({ lines: 1_000, follow: true }),
    onAnswer: ({ events }) => keep(storeEvents({ ...store, events: [] }, events)),
    onNews: ({ events }) => keep(storeEvents(store, events)),
  });
}

/**
 * @param {Phase} phase
 * @param {Welcome | null} welcome
 */
function turn(phase, welcome) {
  const isOther = welcome !== null && store.welcome !== null && store.welcome.version !== welcome.version;
  // An update of the manager may have changed the page, so load it again.
  if (isOther) return location.reload();
  store = { ...store, phase, welcome: welcome ?? store.welcome };
  if (phase === 'refused') {
    forgetToken(sessionStorage);
    showGate('wrong-token');
  }
  if (phase === 'live') {
    list();
    // The detail view asks for its history after this function, because the connection first has to
    // repeat its older subscriptions.
    queueMicrotask(() => detail?.begin());
  }
  draw();
}

/** @param {any} news */
function sampled({ subscription: _, tickMs: _tick, ...sample }) {
  keep(storeSample(store, sample, performance.now()));
}

/** @param {Store} next */
function keep(next) {
  store = next;
  draw();
}

function list() {
  clearTimeout(listing);
  listing = setTimeout(() => {
    connection
      ?.request('list', { brief: true })
      .then(({ notices }) => keep({ ...store, notices }))
      .catch(() => {}); // After a lost connection, turn() requests the list again.
  }, LIST_DEBOUNCE_MS);
}

/** @param {Route} wanted */
function show(wanted) {
  const before = place;
  place = wanted;
  const isTable = place.app === undefined && place.worker === undefined;
  detail?.close();
  detail?.node.remove();
  detail = isTable || !connection ? null : createDetail({ place, connection, onGo: go, onAct: dialog.ask });
  findElement('apps').hidden = !isTable;
  if (detail) findElement('main').append(detail.node);
  drawNow();
  if (detail) detail.begin();
  scrollTo(0, 0);
  if (detail) detail.focus();
  else if (before.app !== undefined || before.worker !== undefined)
    table.focus(before.app !== undefined ? appKey(before.app) : workerKey(Number(before.worker)));
}

/** @param {Route} wanted */
function go(wanted) {
  location.hash = writeFragment(wanted);
}

function draw() {
  if (document.hidden) overview.showTitle(store, managerTime(store, performance.now()));
  if (!isDrawn) return;
  isDrawn = false;
  requestAnimationFrame(() => {
    isDrawn = true;
    drawNow();
  });
}

function drawNow() {
  const now = performance.now();
  const times = { now, nowMs: managerTime(store, now) };
  overview.update(store, times);
  if (detail) detail.update(store, times);
  else if (store.sample) {
    const { sample, sparks } = store;
    const rows = table.update(sample, { filter: filter.value, sparks, nowMs: times.nowMs });
    findElement('no-apps').hidden = sample.apps.length > 0;
    findElement('no-rows').hidden = rows > 0 || sample.apps.length === 0;
    table.node.hidden = rows === 0;
  }
  findElement('loading').hidden = store.sample !== null || store.phase === 'refused' || !connection;
  findElement('tools').hidden = !store.sample?.apps.length;
}

/** @param {keyof typeof GATES} why */
function showGate(why) {
  findElement('gate').hidden = false;
  document.body.classList.add('is-shut');
  setText(findElement('gate-title'), GATES[why].title);
  setText(findElement('gate-text'), GATES[why].text);
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  const isTyping = /** @type {Element} */ (event.target).matches('input, select, dialog *');
  if (event.key === '/' && !isTyping && !detail) {
    event.preventDefault();
    filter.focus();
  } else if (event.key === 'Escape' && event.target === filter) {
    filter.value = '';
    draw();
  } else if (event.key === 'Escape' && detail && !isTyping) go({});
}
