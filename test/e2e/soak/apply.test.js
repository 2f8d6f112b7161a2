import { expect, test } from 'vitest';
import { doRandomEdits } from '../../helpers/random-edits.js';
import { sandbox } from '../../helpers/sandbox.js';
import { soakScale, soakSeed } from '../../helpers/soak.js';

const seed = soakSeed('test/e2e/soak/apply.test.js');

test(`apply follows 100 random edits of a file of ten apps; other apps lose no request (seed ${seed})`, async () => {
  const home = await sandbox();
  const edits = Math.ceil(100 * soakScale);
  const done = await doRandomEdits(home, { edits, seed, tell: (line) => process.stdout.write(`${line}\n`) });
  process.stdout.write(`${JSON.stringify(done)}\n`);
  expect(Object.values(done).reduce((sum, count) => sum + count, 0)).toBe(edits);
});
