import { expect, test } from 'vitest';
import { leakedAddresses } from '../helpers/random-listens.js';
import { sandbox } from '../helpers/sandbox.js';

test('no address stays held for apps that were stopped at random times (50 sequences, seed 33)', async () => {
  const home = await sandbox();
  expect(await leakedAddresses(home, { seed: 33, sequences: 50, atOnce: 25 })).toEqual([]);
});
