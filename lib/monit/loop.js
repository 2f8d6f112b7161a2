// Knows: `nclust monit`: events to state, state to cells, cells to the terminal.
// Must not: change an app except through the source, or draw outside of view*.js.
// Start at: runLoop(), then state.js and view.js; source.js has the connection.
import { createKeyReader } from './keys.js';
import { createPalette, difference } from './screen.js';
import { neededData } from './source.js';
import { firstState, step } from './state.js';
import { listen } from './terminal.js';
import { view } from './view.js';

/** @import { ColourLevel } from '../render/paint.js' */
/** @import { Key } from './keys.js' */
/** @import { Screen } from './screen.js' */
/** @import { NeededData } from './source.js' */
/** @import { Ask, MonitEvent, State } from './state.js' */
/** @import { Terminal } from './terminal.js' */

/**
 * Reports data, answers and lost connections through `dispatch`.
 * @typedef {object} Source
 * @property {(dispatch: (event: MonitEvent) => void) => Promise<void>} run  Resolves after close().
 *   Rejects with an error that a retry cannot fix.
 * @property {(needed: NeededData) => void} follow
 * @property {(ask: Ask) => void} ask
 * @property {() => Promise<void>} close  Idempotent.
 */

/** Minimum time between two frames, because a slow connection cannot transfer more frames. */
const FRAME_MS = 80;

/** Delay before a request for logs or history, because a user who holds a key passes many rows. */
const REST_MS = 120;

/** If the rest of an escape sequence does not arrive within this time, the key was Esc. */
const ESCAPE_MS = 60;

const SECOND_MS = 1_000;

/**
 * Only this function changes the state and the screen.
 * @param {object} o
 * @param {Terminal} o.terminal
 * @param {Source} o.source
 * @param {ColourLevel} o.colourLevel
 * @param {string} [o.marks]
 * @param {(listener: () => void) => () => void} o.onStop  Calls the listener to end the loop.
 * @param {() => void} o.suspend  Stops this process until SIGCONT.
 * @param {() => number} [o.now]
 * @returns {Promise<void>}  Rejects with the error of the source.
 */
export async function runLoop({ terminal, source, colourLevel, marks, onStop, suspend, now = Date.now }) {
  const paint = createPalette(colourLevel);
  const keys = createKeyReader();
  /** @type {State} */
  let state = firstState(terminal.size(), now());
  /** @type {Screen | null} */
  let shown = null;
  let isDone = false;
  let finish = () => {};
  /** @type {Promise<void>} */
  const finished = new Promise((resolve) => {
    finish = resolve;
  });
  const frame = createTimer(draw);
  const rest = createTimer(() => source.follow(neededData(state)));
  const escape = createTimer(() => press(keys.flush()));
  let followed = '';

  /** @param {MonitEvent} event */
  function dispatch(event) {
    if (isDone) return;
    const { state: after, effects } = step(state, event);
    state = after;
    for (const effect of effects) {
      if (effect.type === 'ask') source.ask(effect);
      else if (effect.type === 'quit') finish();
      else if (effect.type === 'suspend') suspendProcess();
      else shown = null;
    }
    const needed = JSON.stringify(neededData(state));
    if (needed !== followed) rest.begin(REST_MS);
    followed = needed;
    frame.beginOnce(FRAME_MS);
  }

  function draw() {
    const next = view(state, { marks });
    const text = difference(shown, next, paint);
    // If the terminal has not taken the last frame, try again later with the newest frame.
    if (text === '' || terminal.write(text)) shown = next;
    else frame.begin(FRAME_MS);
  }

  function suspendProcess() {
    terminal.close();
    suspend();
  }

  /** @param {Key[]} pressed */
  function press(pressed) {
    for (const key of pressed) dispatch({ type: 'key', key });
  }

  const resumeScreen = () => {
    // Opens the terminal again, because the shell used it while this process was stopped.
    terminal.close();
    terminal.open();
    shown = null;
    dispatch({ type: 'resized', size: terminal.size() });
  };
  terminal.open();
  const releases = [
    terminal.onInput((text) => {
      press(keys.push(text));
      if (keys.isWaiting()) escape.begin(ESCAPE_MS);
      else escape.end();
    }),
    terminal.onResize(() => dispatch({ type: 'resized', size: terminal.size() })),
    terminal.onGone(finish),
    onStop(finish),
    listen(process, ['SIGCONT'], resumeScreen),
  ];
  const clock = setInterval(() => dispatch({ type: 'time', nowMs: now() }), SECOND_MS);
  try {
    frame.begin(0);
    await Promise.race([finished, source.run(dispatch)]);
  } finally {
    isDone = true;
    clearInterval(clock);
    for (const timer of [frame, rest, escape]) timer.end();
    for (const release of releases) release();
    terminal.close();
    await source.close();
  }
}

/** @param {() => void} due */
function createTimer(due) {
  /** @type {NodeJS.Timeout | null} */
  let timer = null;
  const end = () => {
    if (timer) clearTimeout(timer);
    timer = null;
  };
  const begin = (/** @type {number} */ ms) => {
    end();
    timer = setTimeout(() => {
      timer = null;
      due();
    }, ms);
  };
  return {
    begin,
    end,
    beginOnce: (/** @type {number} */ ms) => {
      if (!timer) begin(ms);
    },
  };
}
