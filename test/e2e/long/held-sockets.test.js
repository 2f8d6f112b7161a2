import { expect, test } from 'vitest';
import { leakedAddresses } from '../../helpers/random-listens.js';
import { sandbox } from '../../helpers/sandbox.js';

const SEED = Number(process.env.NCLUST_TEST_SEED ?? 1133);

test(
  `no address stays held for apps that end at random times (500 sequences, seed ${SEED})`,
  { timeout: 300_000 },
  async () => {
    const home = await sandbox();
    expect(await leakedAddresses(home, { seed: SEED, sequences: 500, atOnce: 25 })).toEqual([]);
  },
);
