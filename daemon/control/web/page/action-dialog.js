import { progressWords } from './actions.js';
import { byId, el, plain, say } from './dom.js';

/** @import { Action } from './actions.js' */

/** How long the outcome stands below when the dialog was closed, in ms. */
const SAID_MS = 15_000;

/** @type {any} */
let forgetting;

/**
 * Asks, then shows how it goes. Closing it while something is under way does not end that.
 * @param {(method: string, params: object, onProgress: (progress: any) => void) => Promise<any>} request
 */
export function createActionDialog(request) {
  const dialog = /** @type {HTMLDialogElement} */ (byId('dialog'));
  const [title, text, state, buttons] = ['dialog-title', 'dialog-text', 'dialog-state', 'dialog-buttons'].map((id) => byId(id));
  let turn = 0;
  dialog.addEventListener('close', () => { turn += 1; });

  /** @param {Action} action */
  function ask(action) {
    turn += 1;
    say(title, action.question);
    say(text, action.effect);
    state.replaceChildren();
    state.className = '';
    const yes = el('button', { type: 'button', className: action.isHarsh ? 'harsh' : 'main', onclick: () => carryOut(action) }, action.verb);
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
    say(title, `${doing}…`);
    state.className = 'busy';
    const hide = closing('Hide');
    buttons.replaceChildren(hide);
    hide.focus();
    /** @param {string[]} lines */
    const show = (lines) => { if (isShown()) state.replaceChildren(...lines.map((line) => el('p', {}, line))); };
    const onProgress = (/** @type {any} */ progress) => show(progressWords(progress));
    try {
      await request(method, { ...params, wait: true, progress: true, token: uuid() }, onProgress);
      end('good', `${done}.`, []);
    } catch (error) {
      const { message, hint } = /** @type {Error & {hint?: string|null}} */ (error);
      end('bad', `${doing} did not come about.`, [message, ...(hint ? [hint] : [])]);
    }

    /** @param {string} kind @param {string} words @param {string[]} more */
    function end(kind, words, more) {
      if (!isShown()) return announce([words, ...more].join(' '));
      say(title, words);
      say(text, '');
      state.className = kind;
      show(more);
      const close = closing('Close');
      buttons.replaceChildren(close);
      return close.focus();
    }
  }

  return { ask };
}

/** For who has closed the dialog. @param {string} text */
function announce(text) {
  const said = byId('said');
  said.textContent = plain(text);
  clearTimeout(forgetting);
  forgetting = setTimeout(() => { said.textContent = ''; }, SAID_MS);
}

/** crypto.randomUUID is there only on localhost and with TLS. */
function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
