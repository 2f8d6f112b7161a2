import { expect, test } from 'vitest';
import { createSubscription } from '../../../../lib/library/follow.js';
import { NclustError } from '../../../../lib/shared/errors.js';

function fakeClient() {
  const holds = [];
  const client = {
    holds,
    isClosed: false,
    hold: (isHeld) => void holds.push(isHeld),
    close: async () => {
      client.isClosed = true;
    },
  };
  return client;
}

async function* counting({ onClient, onReady, signal }, client) {
  onClient(client);
  onReady();
  for (let n = 1; !signal.aborted; n += 1) yield n;
}

test('a subscription starts at once, and keeps the program alive only while it is read', async () => {
  const client = fakeClient();
  const numbers = createSubscription((o) => counting(o, client));
  await numbers.ready;
  expect(client.holds).toEqual([true, false]);
  expect(await numbers.next()).toEqual({ done: false, value: 1 });
  expect(client.holds.at(-1)).toBe(true);
  for await (const n of numbers) if (n === 3) break;
  expect(client.isClosed).toBe(true);
  expect(await numbers.next()).toEqual({ done: true, value: undefined });
});

test('ready and next() reject with the error of the source', async () => {
  let ends = 0;
  const broken = createSubscription(
    // eslint-disable-next-line require-yield
    async function* fail() {
      throw new NclustError('ERR_NCLUST_APP_NOT_FOUND', 'nobody');
    },
    {
      onEnd: () => {
        ends += 1;
      },
    },
  );
  await expect(broken.ready).rejects.toMatchObject({ code: 'ERR_NCLUST_APP_NOT_FOUND' });
  await expect(broken.next()).rejects.toMatchObject({ code: 'ERR_NCLUST_APP_NOT_FOUND' });
  expect(await broken.next()).toEqual({ done: true, value: undefined });
  expect(ends).toBe(1);
});

test('an aborted signal ends a subscription before it starts', async () => {
  const client = fakeClient();
  const numbers = createSubscription((o) => counting(o, client), { signal: AbortSignal.abort() });
  await numbers.ready;
  expect(await numbers.return()).toEqual({ done: true, value: undefined });
  expect(client.isClosed).toBe(true);
});
