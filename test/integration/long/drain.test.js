import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { realKeeper } from '../../helpers/keeper.js';
import { takePort } from '../../helpers/ports.js';

test('handover: an idle plain TCP client sees the end before the app gets its signal', async () => {
  const keeper = await realKeeper();
  const port = await takePort();
  await keeper.spawnNode('one', 'answers-lines', { env: { PORT: String(port), GREETS: '1' } });
  await keeper.says('one', 'listens');
  const socket = connect({ port, allowHalfOpen: true });
  await once(socket, 'data');
  // If the drain waited for the client, it would take three quarters of killTimeoutMs, and the test
  // would time out.
  await keeper.retire('one', { drain: 'handover', killTimeoutMs: 600_000 });
  await once(socket, 'end');
  await keeper.call('ping', { instanceId: 'one', timeoutMs: 5_000 });
  socket.end();
  expect((await keeper.event('exited', 'one')).data).toMatchObject({ code: null, signal: 'SIGINT' });
});
