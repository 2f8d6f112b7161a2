import { formatCount } from '../../../../lib/figures/format.js';
import { groupByApp } from '../../../../lib/figures/rows.js';
import { findElement, el, plain, setText } from './dom.js';

/** @import { MetricsSample } from '../../../../lib/shared/metrics.js' */
/** @import { Route } from './route.js' */

/** @typedef {'reload' | 'restart' | 'start' | 'stop' | 'more' | 'fewer'} ActionName */

/**
 * @typedef {object} Action
 * @property {ActionName} name
 * @property {string} verb
 * @property {string} question
 * @property {string} effect
 * @property {string} doing
 * @property {string} done
 * @property {boolean} isHarsh  The action stops or removes something.
 * @property {{ method: string, params: object }} request
 */

/**
 * @param {Pick<MetricsSample, 'apps' | 'workers'>} sample
 * @param {Route} place
 * @returns {{ actions: Action[], why: string | null }}  `why`: the reason for missing actions. Null
 *   also if the sample does not contain the app or the worker.
 */
export function listActions(sample, { app: name, worker: id }) {
  const worker = id === undefined ? null : (sample.workers.find((one) => one.id === id) ?? null);
  const app = sample.apps.find((one) => one.name === (worker?.name ?? name));
  if (!app || (id !== undefined && !worker)) return { actions: [], why: null };
  const workers = worker ? [worker] : (groupByApp(sample.workers).get(app.name) ?? []);
  const target = worker && workers.length < app.workers ? String(worker.id) : app.name;
  // The manager looks for a name before it looks for an id, so this target could reach other apps.
  if (
    target === 'all' ||
    (target !== app.name && sample.apps.some((one) => one.name === target || one.namespace === target))
  )
    return {
      actions: [],
      why: `"${target}" is also the name of another app, a namespace or a keyword of nclust: use the command line.`,
    };
  const isRunning = workers.some(({ status }) => status !== 'stopped' && status !== 'errored');
  /** @type {('reload' | 'restart' | 'start' | 'stop')[]} */
  const names = isRunning ? ['reload', 'restart', 'stop'] : ['start'];
  return {
    actions: [
      ...names.map((one) => whole(one, { target, of: workers.length, what: describeTarget(app, workers) })),
      ...(target === app.name ? scaling(app) : []),
    ],
    why: null,
  };
}

/**
 * @param {{ name: string, workers: number }} app
 * @param {{ slot: number }[]} workers
 */
function describeTarget(app, workers) {
  if (workers.length === app.workers) return `“${app.name}”`;
  return `instance ${workers[0].slot} of “${app.name}”`;
}

/** @type {Record<ActionName, { words: [string, string, string], button?: string, isHarsh: boolean }>} */
const WORDS = {
  reload: { words: ['Reload', 'Reloading', 'Reloaded'], isHarsh: false },
  restart: { words: ['Restart', 'Restarting', 'Restarted'], isHarsh: true },
  start: { words: ['Start', 'Starting', 'Started'], isHarsh: false },
  stop: { words: ['Stop', 'Stopping', 'Stopped'], isHarsh: true },
  more: { words: ['Start', 'Starting', 'Started'], button: 'One more', isHarsh: false },
  fewer: { words: ['Remove', 'Removing', 'Removed'], button: 'One fewer', isHarsh: true },
};

/** @type {Record<'reload' | 'restart' | 'start' | 'stop', (of: string, isOne: boolean) => string>} */
const EFFECTS = {
  reload: () =>
    'New instances take over one after the other. An old instance stops only when a new one serves in its ' +
    'place. No request is lost. If the new code does not start, the old instances keep serving.',
  restart: (of, isOne) =>
    `Stops ${of}${isOne ? '' : ', half of them at a time'}, and starts ${isOne ? 'it' : 'them'} again. ` +
    `Requests in progress are finished first; new connections may have to wait. A reload avoids that.`,
  start: (of) => `Starts ${of}, and forgets its earlier crashes.`,
  stop: (of, isOne) =>
    `Stops ${of}. ${isOne ? 'It stays' : 'They stay'} in the list, but nothing starts ` +
    `${isOne ? 'it' : 'them'} again, not even a reboot, until you do.`,
};

/**
 * @param {ActionName} name
 * @param {{ what: string, effect: string, request: Action['request'] }} about
 * @returns {Action}
 */
function chooseAction(name, { what, effect, request }) {
  const {
    words: [verb, doing, done],
    button = verb,
    isHarsh,
  } = WORDS[name];
  const question = `${verb} ${what}?`;
  return { name, verb: button, isHarsh, question, effect, doing: `${doing} ${what}`, done: `${done} ${what}`, request };
}

/**
 * @param {'reload' | 'restart' | 'start' | 'stop'} name
 * @param {{ target: string, of: number, what: string }} about
 */
function whole(name, { target, of, what }) {
  const isOne = of === 1;
  const effect = EFFECTS[name](isOne ? 'its process' : `all ${formatCount(of, 'instance')}`, isOne);
  return chooseAction(name, { what, effect, request: { method: name, params: { targets: [target] } } });
}

/**
 * @param {{ name: string, workers: number }} app
 * @returns {Action[]}
 */
function scaling({ name, workers }) {
  const request = (/** @type {string} */ instances) => ({ method: 'scale', params: { target: name, instances } });
  const more = chooseAction('more', {
    what: `one more instance of “${name}”`,
    effect: `There will be ${workers + 1} instances instead of ${workers}.`,
    request: request('+1'),
  });
  const fewer = chooseAction('fewer', {
    what: `one instance of “${name}”`,
    effect: `${formatCount(workers - 1, 'instance')} will remain. The one that stops finishes its requests first.`,
    request: request('-1'),
  });
  return workers > 1 ? [more, fewer] : [more];
}

/**
 * @param {object} progress
 * @param {number} progress.done
 * @param {number} progress.total
 * @param {{ slot: number, phase: string, forMs: number, detail: string | null }[]} progress.waiting
 */
export function progressWords({ done, total, waiting }) {
  const lines = waiting
    .slice(0, 5)
    .map(
      ({ slot, phase, forMs, detail }) =>
        `Instance ${slot} has been ${phase} for ${Math.round(forMs / 1_000)}s${detail ? `: ${detail}` : ''}`,
    );
  return [
    ...(total > 0 ? [`${done} of ${total} done`] : []),
    ...lines,
    ...(waiting.length > 5 ? [`and ${waiting.length - 5} more`] : []),
  ];
}

/** Time for which the outcome stays visible after the dialog was closed, in ms. */
const SAID_MS = 15_000;

/** @type {any} */
let forgetting;

/**
 * Closing the dialog does not cancel the action.
 * @param {(method: string, params: object, onProgress: (progress: any) => void) => Promise<any>}
 *   request
 */
export function createActionDialog(request) {
  const dialog = /** @type {HTMLDialogElement} */ (findElement('dialog'));
  const [title, text, state, buttons] = ['dialog-title', 'dialog-text', 'dialog-state', 'dialog-buttons'].map((id) =>
    findElement(id),
  );
  let turn = 0;
  dialog.addEventListener('close', () => {
    turn += 1;
  });

  /** @param {Action} action */
  function ask(action) {
    turn += 1;
    setText(title, action.question);
    setText(text, action.effect);
    state.replaceChildren();
    state.className = '';
    const yes = el(
      'button',
      { type: 'button', className: action.isHarsh ? 'harsh' : 'main', onclick: () => carryOut(action) },
      action.verb,
    );
    buttons.replaceChildren(closing('Cancel'), yes);
    dialog.showModal();
  }

  /** @param {string} word */
  function closing(word) {
    return el('button', { type: 'button', onclick: () => dialog.close() }, word);
  }

  /** @param {Action} action */
  async function carryOut({ request: { method, params }, doing, done }) {
    const own = turn;
    const isShown = () => own === turn && dialog.open;
    setText(title, `${doing}…`);
    state.className = 'busy';
    const hide = closing('Hide');
    buttons.replaceChildren(hide);
    hide.focus();
    /** @param {string[]} lines */
    const show = (lines) => {
      if (isShown()) state.replaceChildren(...lines.map((line) => el('p', {}, line)));
    };
    const onProgress = (/** @type {any} */ progress) => show(progressWords(progress));
    try {
      await request(method, { ...params, wait: true, progress: true, token: uuid() }, onProgress);
      end('good', `${done}.`, []);
    } catch (error) {
      const { message, hint } = /** @type {Error & { hint?: string | null }} */ (error);
      end('bad', `${doing} failed.`, [message, ...(hint ? [hint] : [])]);
    }

    /**
     * @param {string} kind
     * @param {string} words
     * @param {string[]} more
     */
    function end(kind, words, more) {
      if (!isShown()) return announce([words, ...more].join(' '));
      setText(title, words);
      setText(text, '');
      state.className = kind;
      show(more);
      const close = closing('Close');
      buttons.replaceChildren(close);
      return close.focus();
    }
  }

  return { ask };
}

/** @param {string} text */
function announce(text) {
  const said = findElement('said');
  said.textContent = plain(text);
  clearTimeout(forgetting);
  forgetting = setTimeout(() => {
    said.textContent = '';
  }, SAID_MS);
}

/** Does not use crypto.randomUUID(), which exists only on localhost and with TLS. */
function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
