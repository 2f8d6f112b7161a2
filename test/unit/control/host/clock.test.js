import { MessageChannel } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { systemClock } from '../../../../daemon/control/host/clock.js';

/** Keeps the event loop busy until the timer is due. */
function block(ms) {
  const endMono = performance.now() + ms;
  while (performance.now() < endMono);
}

test('a timer of a busy control comes after the messages that have arrived', async () => {
  const { port1, port2 } = new MessageChannel();
  const order = [];
  const done = Promise.all([
    new Promise((resolve) => port2.once('message', () => resolve(order.push('message')))),
    new Promise((resolve) => systemClock().after(1, () => resolve(order.push('timer')))),
  ]);
  port1.postMessage('exited');
  block(20);
  await done;
  port1.close();
  expect(order).toEqual(['message', 'timer']);
});
