import { spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { ask, openConnections } from '../helpers/connections.js';
import { realKeeper } from '../helpers/keeper.js';
import { takePort } from '../helpers/ports.js';
import { waitFor } from '../helpers/wait-for.js';

// Tests a new instance, which does not serve until it is admitted, and a parked old instance, which
// no longer serves but can serve again.

async function beside(mode) {
  const keeper = await realKeeper();
  const port = await takePort();
  const start = async (id, params = {}) => {
    const { pid } = await keeper.spawnNode(id, 'runs-code', {
      mode,
      ...params,
      env: { CODE: `http.createServer(answer).listen(${port}, () => say('listens'));` },
    });
    await keeper.says(id, 'listens');
    return pid;
  };
  const answering = async (count = 40) => [...(await openConnections({ port }, count, 'one by one')).keys()];
  const fact = async (id) =>
    (await keeper.call('snapshot')).children.find((child) => keeper.shortId(child.instanceId) === id);
  return { keeper, port, start, answering, fact };
}

const MODES = ['cluster', 'fork'];

test.each(MODES)(
  '%s: a gated instance sees itself as listening, but gets no connection until it is admitted',
  async (mode) => {
    const { keeper, start, answering, fact } = await beside(mode);
    const old = await start('old');
    const next = await start('next', { isGated: true });
    await keeper.event('listening', 'next');
    expect(await fact('next')).toMatchObject({ isGated: true, addresses: [{}] });
    expect(await answering()).toEqual([old]);

    await keeper.call('admit', { instanceId: 'next' });
    await keeper.call('admit', { instanceId: 'next' });
    expect(await fact('next')).toMatchObject({ isGated: false });
    await keeper.retire('old', { drain: 'handover' });
    await keeper.event('gone', 'old');
    expect(await answering(4)).toEqual([next]);
  },
);

test.each(MODES)(
  '%s: an instance that is admitted before its agent connects serves as soon as it listens',
  async (mode) => {
    const keeper = await realKeeper();
    const port = await takePort();
    const { pid } = await keeper.spawnNode('one', 'runs-code', {
      mode,
      isGated: true,
      env: { CODE: `http.createServer(answer).listen(${port}, () => say('listens'));` },
    });
    await keeper.call('admit', { instanceId: 'one' });
    await keeper.says('one', 'listens');
    expect(await ask({ port })).toMatchObject({ pid });
  },
);

test.each(MODES)('%s: connections wait while the only instance is gated', async (mode) => {
  const { keeper, port, start } = await beside(mode);
  const old = await start('old');
  const next = await start('next', { isGated: true });
  process.kill(old, 'SIGKILL');
  await keeper.event('gone', 'old');
  const asked = ask({ port });
  await keeper.call('admit', { instanceId: 'next' });
  expect(await asked).toMatchObject({ pid: next });
});

test.each(MODES)('%s: a parked instance stays alive, serves no client, and serves again after unpark', async (mode) => {
  const { keeper, start, answering, fact } = await beside(mode);
  const old = await start('old');
  const next = await start('next');
  await keeper.call('park', { instanceId: 'old' });
  expect(await fact('old')).toMatchObject({ isParked: true, isRetiring: false });
  await waitFor('the parked instance to get no new connections', async () =>
    (await answering(10)).every((pid) => pid === next),
  );

  await keeper.call('unpark', { instanceId: 'old' });
  expect(await fact('old')).toMatchObject({ isParked: false, exit: null });
  await keeper.retire('next', { drain: 'handover' });
  await keeper.event('gone', 'next');
  expect(await answering(4)).toEqual([old]);
  expect(keeper.output('old').match(/listens/g)).toHaveLength(1);
});

test.each(MODES)('%s: a parked instance can be retired', async (mode) => {
  const { keeper, start } = await beside(mode);
  await start('old');
  await keeper.call('park', { instanceId: 'old' });
  await keeper.retire('old');
  await keeper.event('gone', 'old');
});

/** @param {object} options */
async function alone(mode, options, params = {}) {
  const keeper = await realKeeper();
  const start = async (id, more = {}) => {
    const { pid } = await keeper.spawnNode(id, 'runs-code', {
      mode,
      ...params,
      ...more,
      env: {
        CODE: `
      const server = http.createServer(answer).on('error', (error) => say(error.message));
      server.listen(${JSON.stringify(options)}, () => say('listens on', server.address().port, 'alone'));`,
      },
    });
    await keeper.says(id, 'alone');
    return { pid, port: Number(/listens on (\d+)/.exec(keeper.output(id))?.[1]) };
  };
  return { keeper, start };
}

const refusesAt = (port) => () =>
  ask({ port }).then(
    () => false,
    (error) => error.code === 'ECONNREFUSED',
  );

test.each(MODES)(
  '%s: an exclusive socket refuses clients while its instance is parked, and accepts them after unpark',
  async (mode) => {
    const { keeper, start } = await alone(mode, { port: 0, exclusive: true });
    const { pid, port } = await start('old');
    await keeper.call('park', { instanceId: 'old' });
    await waitFor('the parked instance to refuse connections', refusesAt(port));
    await keeper.call('unpark', { instanceId: 'old' });
    expect(await ask({ port })).toMatchObject({ pid });
    expect(keeper.output('old').match(/listens/g)).toHaveLength(1);
  },
);

test('unpark fails if another program has taken the exclusive port', async () => {
  const { keeper, start } = await alone('cluster', { port: 0, exclusive: true });
  const { port } = await start('old');
  await keeper.call('park', { instanceId: 'old' });
  await waitFor('the parked instance to refuse connections', refusesAt(port));
  const stranger = createServer().listen(port);
  onTestFinished(() => void stranger.close());
  await expect(keeper.call('unpark', { instanceId: 'old' })).rejects.toMatchObject({ code: 'EADDRINUSE' });
});

test.each(MODES)(
  '%s: an exclusive socket is open from the start, because no other instance could serve it',
  async (mode) => {
    const { start } = await alone(mode, { port: 0, exclusive: true }, { isGated: true });
    const { pid, port } = await start('one');
    expect(await ask({ port })).toMatchObject({ pid });
  },
);

const { stdout: version } = spawnSync(process.env.NCLUST_TEST_NODE ?? process.execPath, [
  '-p',
  'parseFloat(process.versions.node)',
]);

test.skipIf(Number(version) < 22.12).each(MODES)(
  '%s: sockets with reusePort are gated and parked like others',
  async (mode) => {
    const { keeper, start } = await alone(mode, { port: await takePort(), reusePort: true });
    const { pid: old, port } = await start('old');
    const answering = async () => [...(await openConnections({ port }, 20, 'one by one')).keys()];
    const { pid: next } = await start('next', { isGated: true });
    expect(await answering()).toEqual([old]);
    await keeper.call('admit', { instanceId: 'next' });
    await keeper.call('park', { instanceId: 'old' });
    await waitFor('the parked instance to get no new connections', async () =>
      (await answering()).every((pid) => pid === next),
    );
    await keeper.call('unpark', { instanceId: 'old' });
    await keeper.retire('next', { drain: 'handover' });
    await keeper.event('gone', 'next');
    expect(await answering()).toEqual([old]);
  },
);

test('a gated instance serves once its keeper dies', async () => {
  const { keeper, port, start } = await beside('cluster');
  const pid = await start('one', { isGated: true });
  await keeper.kill();
  await waitFor('an answer of the instance', () => ask({ port }).then((answer) => answer.pid === pid));
});

test('ping is answered by a running event loop, and times out for a blocked one', async () => {
  const keeper = await realKeeper();
  await keeper.spawnNode('turns', 'keeps-alive');
  await keeper.spawnNode('hangs', 'runs-code', { env: { CODE: 'say("hangs"); for (;;);' } });
  await keeper.says('hangs', 'hangs');
  expect(await keeper.call('ping', { instanceId: 'turns', timeoutMs: 5_000 })).toEqual({});
  await expect(keeper.call('ping', { instanceId: 'hangs', timeoutMs: 100 })).rejects.toMatchObject({
    code: 'ETIMEDOUT',
  });
  await keeper.retire('hangs', { killTimeoutMs: 0 });
  await keeper.event('gone', 'hangs');
  await expect(keeper.call('ping', { instanceId: 'hangs', timeoutMs: 100 })).rejects.toMatchObject({ code: 'ESRCH' });
});

test('vitals count responses and errors and measure the event loop delay, only while sampling is on', async () => {
  const keeper = await realKeeper();
  const port = await takePort();
  const block = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);';
  await keeper.spawnNode('one', 'runs-code', {
    env: {
      CODE: `http.createServer((request, response) => {
    if (request.url === '/block') { ${block} }
    response.statusCode = request.url === '/bad' ? 503 : 200;
    answer(request, response);
  }).listen(${port}, () => say('listens'));`,
    },
  });
  await keeper.says('one', 'listens');
  await keeper.call('sample', { instanceId: 'one', everyMs: 50 });
  for (const path of ['/', '/bad', '/bad', '/block']) await ask({ port, path });
  const vitals = () => keeper.events.filter(({ event }) => event === 'vitals').map(({ data }) => data);
  await waitFor('all four responses', () => vitals().reduce((sum, { responses }) => sum + responses, 0) === 4);
  expect(vitals().reduce((sum, { errors }) => sum + errors, 0)).toBe(2);
  await waitFor('the blocked event loop in a report', () => vitals().some(({ delayP99Ms }) => delayP99Ms > 200));

  await keeper.call('sample', { instanceId: 'one', everyMs: 0 });
  await keeper.call('ping', { instanceId: 'one', timeoutMs: 5_000 });
  const before = vitals().length;
  await ask({ port, path: '/block' });
  await keeper.call('ping', { instanceId: 'one', timeoutMs: 5_000 });
  expect(vitals()).toHaveLength(before);
});
