// Splits long work into turns, so that control answers its clients between two turns.
import { createSerial } from './serial.js';

/** Node.js runs all immediates of a phase before it reads a socket. So each turn gets its own. */
const inTurn = createSerial();

/**
 * Lets other work of the event loop go first, and then one turn of each other long work.
 * @returns {Promise<void>}
 */
export function yieldToEventLoop() {
  return inTurn(() => new Promise((resolve) => void setImmediate(resolve)));
}

const TURN_MS = 20;

/**
 * @returns {() => Promise<void> | null}  Call this after each item, and await the result. Null: the
 *   turn is not over.
 */
export function createYield() {
  let sinceMono = performance.now();
  return () => {
    if (performance.now() - sinceMono < TURN_MS) return null;
    return yieldToEventLoop().then(() => {
      sinceMono = performance.now();
    });
  };
}
