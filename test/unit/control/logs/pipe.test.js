import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createPipeOpener } from '../../../../daemon/control/logs/pipe.js';
import { createFakeClock } from '../../../helpers/fake-clock.js';

function place() {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-pipe-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [pipe, file] = [join(folder, 'pipe'), join(folder, 'file')];
  execFileSync('mkfifo', [pipe]);
  writeFileSync(file, 'what a client asks for');
  return { pipe, file };
}

/** Resolves after the event loop has checked for input. */
const turn = () =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

test('the reader stops reading an ended pipe, even if another file already has its descriptor', async () => {
  const { pipe, file } = place();
  const taken = [];
  const reader = createPipeOpener(createFakeClock())(pipe, (chunk) => (taken.push(String(chunk)), null));
  const writer = openSync(pipe, constants.O_WRONLY);
  writeSync(writer, 'last words');
  closeSync(writer);

  for (let turns = 0; reader.isOpen() || turns < 10; turns++) {
    await turn();
    // The file gets the lowest free number, which is the old descriptor of the pipe.
    const other = openSync(file, constants.O_RDONLY);
    reader.drain();
    closeSync(other);
  }

  expect(taken).toEqual(['last words']);
});
