import { test } from 'vitest';
import { deleteAtRandom } from '../../helpers/random-deletions.js';
import { openSandbox } from '../../helpers/sandbox.js';
import { soakScale, soakSeed } from '../../helpers/soak.js';

const seed = soakSeed('test/e2e/soak/home.test.js');
const DELETIONS = Math.ceil(200 * soakScale);
/** Each part has a home of its own, because a home can lose its list of apps. */
const PART = 50;

test(`${DELETIONS} random deletions in the home lose no request (seed ${seed})`, async () => {
  for (let done = 0; done < DELETIONS;) {
    const home = openSandbox();
    try {
      const tell = (/** @type {string} */ line) => process.stdout.write(`${line}\n`);
      const { done: steps, lost } = await deleteAtRandom(home, {
        deletions: Math.min(PART, DELETIONS - done),
        seed: seed + done,
        tell,
      });
      done += steps;
      if (lost) process.stdout.write(`The home says: ${lost}\n`);
    } finally {
      await home.close();
    }
  }
});
