import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createAppMessages } from '../../../daemon/keeper/app-messages.js';

// test/integration/app-messages.test.js tests the same with real processes.

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

function createRig() {
  const said = [];
  const unread = [];
  const messages = createAppMessages((event, data, onSent) => {
    said.push({ event, ...data });
    unread.push(onSent);
  });
  const child = (instanceId) => ({ instanceId });
  return { messages, said, child, read: () => unread.splice(0).forEach((onSent) => onSent()) };
}

const monitor = (data) => ({ type: 'axm:monitor', data });

test('the keeper passes messages on only while a control is subscribed', () => {
  const { messages, said, child } = createRig();
  const one = child('one');
  messages.receive(one, { type: 'a', data: 1 });
  messages.hear(true);
  messages.receive(one, { type: 'b', data: 1 });
  messages.hush();
  messages.receive(one, { type: 'c', data: 1 });
  expect(said).toEqual([{ event: 'app-message', instanceId: 'one', text: '{"type":"b","data":1}' }]);
});

test('the keeper keeps the last of each metric, action and option, and passes none of them on', () => {
  const { messages, said, child } = createRig();
  const one = child('one');
  messages.hear(true);
  messages.receive(one, monitor({ hits: { value: 1 }, temp: { value: 20 } }));
  messages.receive(one, monitor({ hits: { value: 2 } }));
  messages.receive(one, { type: 'axm:action', data: { action_name: 'ping', arity: 1 } });
  messages.receive(one, { type: 'axm:option:configuration', data: { error: true } });
  expect(messages.keptOf(one)).toEqual([
    ['axm:monitor', 'hits', '{"value":2}'],
    ['axm:monitor', 'temp', '{"value":20}'],
    ['axm:action', 'ping', '{"action_name":"ping","arity":1}'],
    ['axm:option:configuration', 'error', 'true'],
  ]);
  expect(messages.keptOf(child('two'))).toEqual([]);
  expect(said).toEqual([]);
});

test('the keeper cuts a flood at 1,000 messages a second, reports the number dropped once, hears other apps', () => {
  const { messages, said, child, read } = createRig();
  const [flood, other] = [child('flood'), child('other')];
  messages.hear(true);
  for (let count = 0; count < 50_000; count++) messages.receive(flood, count);
  read();
  messages.receive(other, 'here');
  expect(said.filter(({ event, instanceId }) => event === 'app-message' && instanceId === 'flood')).toHaveLength(1_000);
  expect(said.at(-1)).toMatchObject({ instanceId: 'other' });
  vi.advanceTimersByTime(1_000);
  expect(said.at(-1)).toEqual({ event: 'app-messages-dropped', instanceId: 'flood', count: 49_000 });
  messages.receive(flood, 'again');
  expect(said.at(-1)).toMatchObject({ event: 'app-message', text: '"again"' });
});

test('the keeper holds 1 MiB for a control that does not read, 1/4 per app, and the next control starts at 0', () => {
  const { messages, said, child } = createRig();
  const apps = Array.from({ length: 20 }, (_, at) => child(`app-${at}`));
  const large = 'x'.repeat(100_000);
  messages.hear(true);
  for (const app of apps) for (let count = 0; count < 10; count++) messages.receive(app, large);
  const waiting = said.filter(({ event }) => event === 'app-message');
  expect(waiting.filter(({ instanceId }) => instanceId === 'app-0')).toHaveLength(3);
  expect(waiting.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThan(1.2 * 1024 * 1024);
  messages.hush();
  messages.hear(true);
  vi.advanceTimersByTime(1_000);
  messages.receive(apps[0], 'first');
  expect(said.at(-1)).toMatchObject({ text: '"first"' });
});

test.each([
  ['too long', 'x'.repeat(300_000)],
  ['nested too deeply', JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)],
  ['undefined', undefined],
])('a message that is %s is dropped', (_what, message) => {
  const { messages, said, child } = createRig();
  messages.hear(true);
  messages.receive(child('one'), message);
  vi.advanceTimersByTime(1_000);
  expect(said).toEqual([{ event: 'app-messages-dropped', instanceId: 'one', count: 1 }]);
});

test('the keeper keeps a limited amount for an app, whatever the app registers', () => {
  const { messages, child } = createRig();
  const one = child('one');
  for (let second = 0; second < 5; second++) {
    for (let count = 0; count < 1_000; count++)
      messages.receive(one, {
        type: 'axm:action',
        data: { action_name: `action ${second}.${count}`, opts: 'x'.repeat(50) },
      });
    vi.advanceTimersByTime(1_000);
  }
  expect(JSON.stringify(messages.keptOf(one)).length).toBeLessThan(64 * 1024);
  messages.receive(one, { type: 'axm:action', data: { action_name: 'action 0.0', opts: 'new' } });
  expect(messages.keptOf(one)[0][2]).toContain('new');
});

test.each([
  ['no data', { type: 'axm:monitor' }],
  ['data that is no object', { type: 'axm:monitor', data: 3 }],
  ['an action without a name', { type: 'axm:action', data: {} }],
  ['an action whose name is no text', { type: 'axm:action', data: { action_name: {} } }],
  ['an inherited word', { type: 'constructor', data: {} }],
  ['null', null],
])('%s does no harm', (_what, message) => {
  const { messages, child } = createRig();
  messages.receive(child('one'), message);
  expect(messages.keptOf(child('one'))).toEqual([]);
});

test('long messages count although they are dropped: no more of them become JSON than of short ones', () => {
  const { messages, said, child } = createRig();
  const one = child('one');
  messages.hear(true);
  let times = 0;
  const long = { toJSON: () => ((times += 1), 'x'.repeat(2 ** 20)) };
  for (let count = 0; count < 100; count++) messages.receive(one, long);
  expect([times, said]).toEqual([1, []]);
});
