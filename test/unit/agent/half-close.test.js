import { createRequire } from 'node:module';
import { performance } from 'node:perf_hooks';
import { expect, test } from 'vitest';

const { createHalfClose } = createRequire(import.meta.url)('../../../daemon/agent/half-close.cjs');

// These times are long, so that a delay of a busy machine does not look like a pause.
const PART_MS = 40;
const THINK_MS = 300;

class FakeSocket {
  bytesRead = 0;
  writableLength = 0;
  writableEnded = false;

  _unrefTimer() {}

  on() {
    return this;
  }

  end() {
    this.writableEnded = true;
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

test('an answer is not cut after the process was blocked between the parts of the previous one', async () => {
  const socket = new FakeSocket();
  createHalfClose()([socket]);
  socket.receive();
  socket.write();
  holdUp(PART_MS);
  await turn();
  socket.write();
  await think(socket);
  do {
    socket.receive();
    socket.write();
    for (let turns = 3; turns > 0; turns -= 1) await turn();
    expect(socket.writableEnded, 'ended between the parts').toBe(false);
    holdUp(PART_MS);
    socket.write();
    // May need several rounds: if a timer of the agent fires too late in this round, the agent ends
    // the connection only after one of the next answers.
    await think(socket);
  } while (!socket.writableEnded);
});

test('the connection ends after an answer that takes long to compute but is written in one turn', async () => {
  const socket = new FakeSocket();
  createHalfClose()([socket]);
  do {
    socket.receive();
    socket.write();
    holdUp(THINK_MS / 2);
    socket.write();
    await think(socket);
  } while (!socket.writableEnded);
});

/** Time passes while the event loop is blocked. */
function holdUp(ms) {
  for (const startMono = performance.now(); performance.now() - startMono < ms;);
}

/** Time passes while the event loop runs. */
async function think(socket) {
  for (const startMono = performance.now(); !socket.writableEnded && performance.now() - startMono < THINK_MS;)
    await turn();
}

function turn() {
  return new Promise((resolve) => setImmediate(resolve));
}
