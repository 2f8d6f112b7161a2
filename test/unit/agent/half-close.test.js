import { createRequire } from 'node:module';
import { performance } from 'node:perf_hooks';
import { expect, test } from 'vitest';

const { createHalfClose } = createRequire(import.meta.url)('../../../daemon/agent/half-close.cjs');

const PART_MS = 5;
const THINK_MS = 60;

/** A connection as far as the agent looks at it. */
class FakeSocket {
  bytesRead = 0;
  writableLength = 0;
  writableEnded = false;
  #resolveEnded = () => {};
  ended = new Promise((resolve) => {
    this.#resolveEnded = resolve;
  });

  _unrefTimer() {}

  on() {
    return this;
  }

  end() {
    this.writableEnded = true;
    this.#resolveEnded();
  }

  receive() {
    this.bytesRead += 1;
    this._unrefTimer();
  }

  write() {
    this.writableLength = 1;
    this._unrefTimer();
    this.writableLength = 0;
  }
}

test('does not cut an answer after the process was held up between the parts of the one before', async () => {
  const socket = new FakeSocket();
  createHalfClose()([socket]);
  socket.receive();
  socket.write();
  holdUp(PART_MS);
  socket.write();
  await turns();
  holdUp(THINK_MS);

  socket.receive();
  socket.write();
  await turns();
  expect(socket.writableEnded).toBe(false);
  holdUp(PART_MS);
  socket.write();
  await socket.ended;
});

/**
 * Time passes, and the event loop does not turn.
 * @param {number} ms
 */
function holdUp(ms) {
  for (const startMono = performance.now(); performance.now() - startMono < ms;);
}

/** The event loop has looked for more bytes. */
async function turns() {
  for (let left = 3; left > 0; left -= 1) await new Promise((resolve) => setImmediate(resolve));
}
