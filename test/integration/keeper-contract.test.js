import { expect, test } from 'vitest';
import { systemClock } from '../../daemon/control/host/clock.js';
import { createKeeperLink } from '../../daemon/control/keeper-link/link.js';
import { FakeKeeper } from '../helpers/fake-keeper.js';
import { fixturePath } from '../helpers/fixtures.js';
import { realKeeper } from '../helpers/keeper.js';
import { waitFor } from '../helpers/wait-for.js';

// The tests of control use a fake keeper, so it must answer here in the same way as a real keeper.

function fakeSpeaker() {
  const fake = new FakeKeeper(systemClock());
  fake.behave = ({ file, script = '' }) => {
    if (file === '/no/such/program') return { refuses: 'ENOENT' };
    if (script.includes('sends-ready')) return { bootsAfterMs: 2, readyAfterMs: 5 };
    return script.includes('exits-zero') ? { exitsAfterMs: 5, code: 0 } : { listensAfterMs: 5 };
  };
  const events = [];
  const link = createKeeperLink(fake.connect(), {
    onEvent: (event, data) => void events.push({ event, data }),
    onLost: () => {},
  });
  return { call: (verb, params) => link.request(verb, params), events };
}

async function realSpeaker() {
  const { call, events } = await realKeeper();
  return { call, events };
}

/**
 * @returns {Promise<unknown[]>}  The answers and events, without pids, times and paths, because
 *   these always differ.
 */
async function converse({ call, events }) {
  const transcript = [];
  const ask = async (verb, params = {}) => {
    const answer = await call(verb, params).then(
      (ok) => ({ ok: keysOf(ok) }),
      (error) => ({ error: error.code }),
    );
    transcript.push({ verb, ...answer });
  };
  const hear = async (event, instanceId) => {
    const { data } = await waitFor(`${event} of ${instanceId}`, () =>
      events.find((one) => one.event === event && one.data.instanceId === instanceId),
    );
    transcript.push({ event, keys: keysOf(data), code: data.code, signal: data.signal });
  };
  const spawn = (instanceId, params) =>
    ask('spawn', {
      instanceId,
      app: 'api',
      scope: 'api',
      label: { name: 'api' },
      mode: 'fork',
      file: process.execPath,
      args: [],
      execArgv: [],
      cwd: '/',
      ...params,
      env: { PATH: process.env.PATH, NCLUST_INSTANCE: `${instanceId}.${process.pid}`, PORT: '0' },
    });
  const retire = { killTimeoutMs: 5_000, signal: null, drain: 'finish', tree: true };
  const facts = async () =>
    (await call('snapshot', {})).children.map((one) => ({
      keys: keysOf(one),
      isReady: one.isReady,
      isRetiring: one.isRetiring,
      isGone: one.isGone,
      hasExit: one.exit !== null,
      label: one.label,
    }));

  await ask('snapshot');
  await ask('no-such-verb');
  await ask('retire', { instanceId: 'nobody', ...retire });
  await ask('forget', { instanceId: 'nobody' });
  await spawn('refused', { mode: 'exec', file: '/no/such/program' });
  await spawn('server', { script: fixturePath('http-echo') });
  await hear('listening', 'server');
  await spawn('announcer', { script: fixturePath('sends-ready') });
  await hear('booted', 'announcer');
  await hear('ready', 'announcer');
  transcript.push(await facts());
  await ask('subscribe-messages', { isOn: true });
  await ask('app-metadata');
  await ask('send-message', { instanceId: 'server', message: { any: 'thing' } });
  await ask('send-message', { instanceId: 'nobody', message: 1 });
  await ask('write', { instanceId: 'server', text: 'a line\n' });
  await ask('inspect', { instanceId: 'server', isOn: true, timeoutMs: 5_000 });
  await ask('inspect', { instanceId: 'server', isOn: false, timeoutMs: 5_000 });
  await ask('subscribe-messages', { isOn: false });
  await ask('forget', { instanceId: 'server' });
  await ask('signal', { instanceId: 'announcer', signal: 'SIGKILL' });
  await hear('exited', 'announcer');
  await hear('gone', 'announcer');
  await spawn('worker', { script: fixturePath('exits-zero') });
  await hear('exited', 'worker');
  await hear('gone', 'worker');
  transcript.push(await facts());
  await ask('retire', { instanceId: 'server', ...retire });
  await ask('retire', { instanceId: 'server', ...retire });
  await hear('gone', 'server');
  for (const instanceId of ['announcer', 'worker', 'server']) await ask('forget', { instanceId });
  await ask('note', { key: 'slot:1', value: { restarts: 2 } });
  transcript.push(await facts(), (await call('snapshot', {})).notes);
  await ask('release', { app: 'api' });
  return transcript;
}

function keysOf(value) {
  return Object.keys(value ?? {}).sort();
}

test('the fake keeper gives the same answers and events as the real one', async () => {
  expect(await converse(fakeSpeaker())).toEqual(await converse(await realSpeaker()));
});
