import { beforeAll, describe, expect, test } from 'vitest';
import { compare, observe, ROWS } from '../../helpers/config-files.js';
import { openSandbox } from '../../helpers/sandbox.js';
import { slowdown } from '../../helpers/wait-for.js';

describe('a config file as users of PM2 write it', () => {
  let observed;

  beforeAll(async () => {
    const home = openSandbox();
    try {
      observed = await observe({
        home: home.home,
        work: home.work,
        run: (words, { cwd, env }) => home.nclust(...words, { cwd, env, timeoutMs: 60_000 }),
        atOnce: 4,
      });
    } finally {
      await home.close();
    }
  }, 240_000 * slowdown());

  test.each(ROWS.map(({ shape }, at) => [shape, at]))('%s', (_, at) => {
    expect(compare(observed[at], ROWS[at].apps)).toEqual([]);
  });
});
