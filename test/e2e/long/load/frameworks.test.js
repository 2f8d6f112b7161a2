import { expect, test } from 'vitest';
import { converse, frameworkApps, reloadFrameworks, startFrameworks } from '../../../helpers/framework-apps.js';
import { sandbox } from '../../../helpers/sandbox.js';

// test/e2e/soak reloads each app ten times, one app after the other.
test('two reloads of the apps of all frameworks at once lose no request', async () => {
  const home = await sandbox();
  const losses = await reloadFrameworks(home, { apps: frameworkApps(), times: 2 });
  expect(losses).toEqual(Object.fromEntries(frameworkApps().map(({ name }) => [name, 0])));
});

test('sticky scheduling keeps the session of a polling Socket.IO client until its worker is replaced', async () => {
  const home = await sandbox();
  const app = frameworkApps()
    .filter(({ name }) => name === 'socket-io')
    .map((one) => ({ ...one, instances: '4' }));
  const [{ url }] = await startFrameworks(home, app);
  const conversations = await Promise.all(
    Array.from({ length: 8 }, () => converse(url, { messages: 20, transports: ['polling'] })),
  );
  for (const { pids, transports, troubles } of conversations)
    expect({ workers: pids.size, transports: [...transports], troubles }).toEqual({
      workers: 1,
      transports: ['polling'],
      troubles: [],
    });
  expect(new Set(conversations.flatMap(({ pids }) => [...pids])).size).toBeGreaterThan(1);
});
