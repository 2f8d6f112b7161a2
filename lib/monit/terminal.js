import { write, writeSync } from 'node:fs';
import { createPaint } from '../render/paint.js';

/** @import { EventEmitter } from 'node:events' */
/** @import { ReadStream, WriteStream } from 'node:tty' */
/** @import { Size } from './screen.js' */

/**
 * @typedef {object} Terminal
 * @property {() => Size} size
 * @property {() => void} open
 * @property {() => void} close  Idempotent and synchronous, so the process may exit after it.
 * @property {(text: string) => boolean} write  False: the text is dropped, because an earlier text
 *   waits.
 * @property {(listener: (text: string) => void) => () => void} onInput
 * @property {(listener: () => void) => () => void} onResize
 * @property {(listener: () => void) => () => void} onGone
 */

/** Alternate screen, no cursor, no line wrap (to write the last cell), bracketed paste. */
const OPEN = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[?2004h';
/** Resets colours too, because the last frame may have been written only in part. */
const CLOSE = createPaint(1)('reset', '\u001b[?2004l\u001b[?7h\u001b[?25h\u001b[?1049l');

/**
 * @param {{ input: ReadStream, output: WriteStream }} o
 * @returns {Terminal}
 */
export function createTerminal({ input, output }) {
  const { fd } = /** @type {WriteStream & { fd: number }} */ (output);
  let isOpen = false;
  /** Bytes that the terminal has not taken yet. @type {Buffer | null} */
  let left = null;
  let isWriting = false;

  /** Writes in a thread, so that a slow or paused (Ctrl-S) terminal does not block the program. */
  function flush() {
    if (!left || isWriting) return;
    isWriting = true;
    write(fd, left, (error, written) => {
      isWriting = false;
      // EAGAIN: the next frame tries again. Other errors: the terminal is gone, and SIGHUP follows.
      left = error && error.code !== 'EAGAIN' ? null : left && left.subarray(error ? 0 : written);
      if (left?.length === 0) left = null;
      else if (!error) flush();
    });
  }

  return {
    size: () => ({ columns: output.columns || 80, rows: output.rows || 24 }),
    open() {
      if (isOpen) return;
      isOpen = true;
      left = null;
      input.setRawMode(true);
      input.setEncoding('utf8');
      input.resume();
      writeNow(fd, OPEN);
    },
    close() {
      if (!isOpen) return;
      isOpen = false;
      left = null;
      writeNow(fd, CLOSE);
      try {
        input.setRawMode(false);
      } catch (error) {
        // Ignores the error of a closed terminal, because there is nothing to restore.
        if (!GONE.includes(String(/** @type {NodeJS.ErrnoException} */ (error).code))) throw error;
      }
      input.pause();
    },
    write(text) {
      flush();
      if (left) return false;
      left = Buffer.from(text);
      flush();
      return true;
    },
    onInput: (listener) => listen(input, ['data'], listener),
    onResize: (listener) => listen(output, ['resize'], listener),
    onGone(listener) {
      // Never removes this listener, because an error without a listener would end the process.
      input.on('error', () => {});
      return listen(input, ['end', 'error', 'close'], listener);
    },
  };
}

/**
 * @param {EventEmitter} source
 * @param {string[]} events
 * @param {(...given: any[]) => void} listener
 * @returns {() => void}  Removes the listener.
 */
export function listen(source, events, listener) {
  for (const event of events) source.on(event, listener);
  return () => {
    for (const event of events) source.off(event, listener);
  };
}

const GONE = ['EIO', 'EBADF', 'ENOTTY', 'EPIPE'];

/**
 * @param {number} fd
 * @param {string} text
 */
function writeNow(fd, text) {
  try {
    writeSync(fd, text);
  } catch (error) {
    if (![...GONE, 'EAGAIN'].includes(String(/** @type {NodeJS.ErrnoException} */ (error).code))) throw error;
  }
}
