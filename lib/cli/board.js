import { CLEAR_BELOW, CLEAR_TO_END_OF_LINE, up } from '../render/cursor.js';
import { renderProgress } from '../render/progress.js';

/** Seconds are counted on by ourselves; the manager speaks only when something has changed. */
const TICK_MS = 250;

/**
 * The terminal that talk goes to.
 * @typedef {object} Screen
 * @property {() => {columns: number, rows: number}} size
 * @property {(text: string) => void} write
 * @property {import('../render/paint.js').Paint} paint
 */

/**
 * A few lines that are rewritten in place while a command waits. The cursor stays visible and behind the last of them, so that there is nothing to
 * put right when the command is killed.
 * @param {Screen} screen
 * @param {string} doing  "Reloading api".
 * @returns {{show: (progress: import('../shared/wire/protocol.js').Progress) => void, close: () => void}}  close() takes the lines away. Idempotent.
 */
export function createBoard(screen, doing) {
  const startedMono = performance.now();
  let height = 0;
  /** @type {import('../shared/wire/protocol.js').Progress|null} */
  let latest = null;
  let latestMono = startedMono;

  function draw() {
    const nowMono = performance.now();
    const lines = renderProgress({ doing, forMs: nowMono - startedMono, progress: latest, ageMs: nowMono - latestMono }, { ...screen.size(), paint: screen.paint });
    // In one piece, line by line over what is there: nothing flickers.
    screen.write(`${up(height)}${lines.map((line) => `${line}${CLEAR_TO_END_OF_LINE}\n`).join('')}${CLEAR_BELOW}`);
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
      if (height > 0) screen.write(`${up(height)}${CLEAR_BELOW}`);
      height = 0;
    },
  };
}
