import { EventEmitter } from 'node:events';
import { expect, test, vi } from 'vitest';
import { createKeeperLink, KeeperLost, KeeperRefusal } from '../../../../daemon/control/keeper-link/link.js';
import { createListenerCopies } from '../../../../daemon/control/keeper-link/listener-copies.js';

function open() {
  const port = Object.assign(new EventEmitter(), { send: vi.fn() });
  const seen = { events: [], lost: 0 };
  const link = createKeeperLink(port, {
    onEvent: (...event) => void seen.events.push(event),
    onLost: () => void (seen.lost += 1),
  });
  return { port, seen, link };
}

test('a request is answered by the message with its id', async () => {
  const { port, link } = open();
  const [first, second] = [link.request('snapshot', {}), link.request('forget', { instanceId: 'i' })];
  expect(port.send.mock.calls.map(([message]) => message)).toEqual([
    { v: 1, id: 1, verb: 'snapshot', params: {} },
    { v: 1, id: 2, verb: 'forget', params: { instanceId: 'i' } },
  ]);
  port.emit('message', { v: 1, id: 2, error: { code: 'EBUSY', message: 'not gone' } });
  port.emit('message', { v: 1, id: 1, ok: { children: [] } });
  await expect(first).resolves.toEqual({ children: [] });
  await expect(second).rejects.toThrow(expect.objectContaining({ constructor: KeeperRefusal, code: 'EBUSY' }));
});

test('an answer can be handled in its place among the events', async () => {
  const { port, seen, link } = open();
  link.requestInOrder('snapshot', {}, (answer) => seen.events.push(answer));
  link.requestInOrder(
    'snapshot',
    {},
    () => seen.events.push('refused'),
    ({ code }) => seen.events.push(code),
  );
  void link.request('snapshot', {}).then(() => seen.events.push('a promise'));
  for (const id of [1, 3]) port.emit('message', { v: 1, id, ok: { children: [] } });
  port.emit('message', { v: 1, id: 2, error: { code: 'EFAILED' } });
  port.emit('message', { v: 1, event: 'gone', data: {} });
  await Promise.resolve();
  expect(seen.events).toEqual([{ children: [] }, 'EFAILED', ['gone', {}, undefined], 'a promise']);
  port.emit('disconnect');
  link.requestInOrder('snapshot', {}, () => seen.events.push('lost'));
  expect(port.send).toHaveBeenCalledTimes(3);
});

test('events arrive with their handle; messages of another version or without a request are ignored', () => {
  const { port, seen } = open();
  port.emit('message', { v: 1, event: 'listener', data: { key: 'k' } }, 'handle');
  port.emit('message', { v: 2, event: 'gone', data: {} });
  port.emit('message', 'noise');
  port.emit('message', { v: 1, id: 99, ok: {} });
  expect(seen.events).toEqual([['listener', { key: 'k' }, 'handle']]);
});

test('open and later requests are rejected when the keeper dies, which is reported once', async () => {
  const { port, seen, link } = open();
  const request = link.request('snapshot', {});
  port.emit('disconnect');
  port.emit('disconnect');
  await expect(request).rejects.toBeInstanceOf(KeeperLost);
  await expect(link.request('snapshot', {})).rejects.toBeInstanceOf(KeeperLost);
  expect(seen.lost).toBe(1);
});

test('a closed link leaves no listener', () => {
  const { port, link } = open();
  link.close();
  expect(port.listenerCount('message') + port.listenerCount('disconnect')).toBe(0);
});

test('copies of sockets are closed when they are replaced or released, and handed to the next keeper', async () => {
  const keep = createListenerCopies();
  const handles = [1, 2, 3].map(() => ({ close: vi.fn() }));
  keep.keep({ key: 'a' }, handles[0]);
  keep.keep({ key: 'a' }, handles[1]);
  keep.keep({ key: 'b' }, handles[2]);
  keep.drop('b');
  expect(handles.map(({ close }) => close.mock.calls.length)).toEqual([1, 0, 1]);
  const sent = [];
  await keep.handOver({
    on: () => {},
    send: (message, handle, _options, onSent) => (sent.push([message.verb, message.params, handle]), onSent(null)),
  });
  expect(sent).toEqual([['inherit', { key: 'a' }, handles[1]]]);
});

test('a keeper that dies while it receives the sockets delays nothing', async () => {
  const keep = createListenerCopies();
  keep.keep({ key: 'a' }, { close: vi.fn() });
  const port = { send: () => {}, on: (_event, listener) => queueMicrotask(listener) };
  await keep.handOver(port);
  await keep.handOver({ ...port, connected: false, on: () => {} });
});
