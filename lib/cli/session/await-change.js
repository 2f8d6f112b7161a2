import { newToken } from '../../client/client.js';
import { CLEAR_BELOW, CLEAR_TO_END_OF_LINE, moveUp } from '../../render/cursor.js';
import { renderProgress } from '../../render/progress.js';
import { NclustError } from '../../shared/errors.js';

/** @import { Paint } from '../../render/paint.js' */
/** @import { Method, Progress } from '../../shared/wire/protocol.js' */
/** @import { Context } from './context.js' */

/**
 * Sends a change to the manager, and waits for it unless the user does not. Shows progress on
 * a terminal, elsewhere only what loads for long. Ctrl-C ends the wait, but not the change.
 * @param {Context} context
 * @param {Method} method
 * @param {Record<string, unknown>} given  Parameters without a token.
 * @param {string} doing  "Reloading api".
 * @returns {Promise<any>}  The result. Rejects like Client.request(), and after Ctrl-C with
 *   ERR_NCLUST_INTERRUPTED.
 */
export async function carryOut(context, method, given, doing) {
  const client = await context.manager();
  const params = { ...given, wait: context.isWaiting, token: newToken() };
  if (!context.isWaiting) return client.request(method, params);
  const board = context.screen ? createBoard(context.screen, doing) : null;
  const sayLoading = createLoadingNote(context);
  const ignore = client.onNotification(({ method: word, params: said }) => {
    if (word !== 'progress' || said?.token !== params.token) return;
    const progress = /** @type {Progress} */ (/** @type {unknown} */ (said));
    if (board) board.show(progress);
    else sayLoading(progress);
  });
  /** @type {(error: Error) => void} */
  let interrupt = () => {};
  /** @type {Promise<never>} */
  const interrupted = new Promise((_, reject) => {
    interrupt = reject;
  });
  const release = context.onInterrupt(() => interrupt(describeInterruption(doing)));
  try {
    return await Promise.race([client.request(method, { ...params, progress: true }), interrupted]);
  } finally {
    release();
    ignore();
    board?.close();
  }
}

/**
 * @param {Context} context
 * @returns {(progress: Progress) => void}  Names each app once.
 */
function createLoadingNote(context) {
  /** @type {Set<string>} */
  const named = new Set();
  return ({ waiting }) => {
    for (const { name, phase, forMs } of waiting) {
      if (phase !== 'loading' || named.has(name)) continue;
      named.add(name);
      context.printMessage(
        `"${name}" still loads after ${Math.round(forMs / 1000)}s. nclust gives it up to 5 minutes while it uses ` +
          'the CPU or files.',
      );
    }
  };
}

/** @param {string} doing */
function describeInterruption(doing) {
  return new NclustError(
    'ERR_NCLUST_INTERRUPTED',
    `${doing} goes on in the manager; "nclust list" shows its progress.`,
  );
}

/**
 * Interval to redraw the elapsed time, in ms. The command measures this time itself, because the
 * manager reports progress only when it changes.
 */
const TICK_MS = 250;

/**
 * @typedef {object} Screen
 * @property {() => { columns: number, rows: number }} size
 * @property {(text: string) => void} write
 * @property {Paint} paint
 */

/**
 * Rewrites its lines in place. The cursor stays visible and after the last line, so that the
 * terminal needs no repair if the command is killed.
 * @param {Screen} screen
 * @param {string} doing  "Reloading api".
 * @returns {{ show: (progress: Progress) => void, close: () => void }}  close() removes the lines.
 */
function createBoard(screen, doing) {
  const startedMono = performance.now();
  let height = 0;
  /** @type {Progress | null} */
  let latest = null;
  let latestMono = startedMono;

  function draw() {
    const nowMono = performance.now();
    const lines = renderProgress(
      { doing, forMs: nowMono - startedMono, progress: latest, ageMs: nowMono - latestMono },
      { ...screen.size(), paint: screen.paint },
    );
    // Overwrites the old lines with one write, because this does not flicker.
    screen.write(`${moveUp(height)}${lines.map((line) => `${line}${CLEAR_TO_END_OF_LINE}\n`).join('')}${CLEAR_BELOW}`);
    height = lines.length;
  }

  const timer = setInterval(draw, TICK_MS);
  return {
    show(progress) {
      latest = progress;
      latestMono = performance.now();
      draw();
    },
    close() {
      clearInterval(timer);
      if (height > 0) screen.write(`${moveUp(height)}${CLEAR_BELOW}`);
      height = 0;
    },
  };
}
