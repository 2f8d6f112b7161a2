import { expect, test } from 'vitest';
import { fuzzFrames } from '../../helpers/fuzz.js';
import { residentBytes } from '../../helpers/processes.js';
import { doRandomOperations } from '../../helpers/random-operations.js';
import { sandbox } from '../../helpers/sandbox.js';
import { soakScale, soakSeed } from '../../helpers/soak.js';

const seed = soakSeed('test/e2e/soak/soak.test.js');

test(`the list matches the real processes after each of 1,000 random operations (seed ${seed})`, async () => {
  const home = await sandbox();
  const operations = Math.ceil(1_000 * soakScale);
  const done = await doRandomOperations(home, { operations, seed, tell: (line) => process.stdout.write(`${line}\n`) });
  process.stdout.write(`${JSON.stringify(done)}\n`);
  expect(Object.values(done).reduce((sum, count) => sum + count, 0)).toBe(operations);
});

test(`the manager survives 100,000 hostile frames on the client socket (seed ${seed})`, async () => {
  const home = await sandbox();
  const app = await home.app('http-echo');
  const { controlPid } = await home.daemon();
  const rounds = 10;
  const frames = Math.ceil((100_000 * soakScale) / rounds);
  const memory = [];
  for (let round = 0; round < rounds; round += 1) {
    await fuzzFrames(`${home.home}/nclust.sock`, { frames, seed: seed + round });
    memory.push(Math.round(residentBytes(controlPid) / 2 ** 20));
  }
  process.stdout.write(`resident memory of control after each tenth, in MB: ${memory.join(' ')}\n`);
  expect(await home.daemon()).toMatchObject({ controlPid });
  expect(memory.at(-1)).toBeLessThan(Math.max(memory[1], 60) * 1.4);
  expect(await app.get()).toMatchObject({ slot: '0' });
});
