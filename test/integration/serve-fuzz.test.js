import { expect, test } from 'vitest';
import { CANARY, hostileRequest, PAGE, site } from '../helpers/hostile-requests.js';
import { createRandom } from '../helpers/random.js';
import { exchangeRaw, startStaticServer } from '../helpers/static-server.js';

const AT_ONCE = 16;

test.each([
  ['a plain folder', {}, 3_000],
  ['a single-page app with a listing', { isSpa: true, hasListing: true }, 3_000],
])('%s: no hostile request gets a file from outside, hangs, or crashes the server', async (_what, settings, count) => {
  const { root, path } = site();
  const { port, child, ask, stderr } = await startStaticServer(path, settings);
  const random = createRandom(20_261_121 + count);
  const statuses = new Map();
  let left = count;

  async function send() {
    while (left > 0) {
      left -= 1;
      const bytes = hostileRequest(random, root);
      const answer = await exchangeRaw(port, bytes);
      if (answer.includes(CANARY) || answer.includes('root:x:'))
        throw new Error(`${JSON.stringify(bytes)} was answered with:\n${answer}`);
      const status = answer.slice(9, 12);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, send));

  console.log(Object.fromEntries([...statuses].sort()));
  expect([child.exitCode, child.signalCode, stderr()]).toEqual([null, null, '']);
  expect(await ask('/')).toMatchObject({ status: 200, body: PAGE });
  // Every kind of answer has occurred, so the requests have reached the rules of the server.
  for (const status of ['200', '206', '400', '403', '404', '405', '416'])
    expect(statuses.get(status) ?? 0, status).toBeGreaterThan(count / 200);
  expect(statuses.get('500') ?? 0).toBe(0);
});
