import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { takePort } from '../helpers/ports.js';
import { sandbox } from '../helpers/sandbox.js';

const FAST = ['--min-uptime', '400', '--listen-timeout', '5000'];

/** Holds a port in this process, which is not an app. */
async function holdPort() {
  const port = await takePort();
  const server = createServer().listen(port);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return port;
}

test.each([
  ['cluster', ['-i', '2']],
  ['fork', []],
])(
  'start in %s mode fails and names the port and its holder, even if the app hides the error',
  async (_mode, instances) => {
    const home = await sandbox();
    const script = home.place('swallows-listen-errors');
    const port = await holdPort();
    const env = { PORT: String(port) };
    const failed = await home.nclust('start', script, '--name', 'shop', ...instances, ...FAST, { env });
    expect(failed).toMatchObject({
      exitStatus: 1,
      stderr: expect.stringContaining(`could not listen on port ${port}`),
    });
    expect(failed.stderr).toContain(`(pid ${process.pid})`);
    expect(failed.stderr).toContain('another port');
    for (const command of [['why'], ['describe', 'shop'], ['why', 'shop'], ['doctor']])
      expect((await home.nclust(...command)).stdout).toContain(`could not listen on port ${port}`);
  },
);

test('start names the app that holds the port', async () => {
  const home = await sandbox();
  const first = await home.app('http-echo', { name: 'first', instances: 2 });
  const env = { PORT: String(first.port) };
  const failed = await home.nclust('start', home.place('swallows-listen-errors'), '-i', '2', ...FAST, { env });
  expect(failed).toMatchObject({ exitStatus: 1, stderr: expect.stringContaining('which the app "first" holds') });
});

test('a reload to a taken port stops and names the port, and the old instances keep serving', async () => {
  const home = await sandbox();
  const app = await home.app('swallows-listen-errors', { name: 'shop', instances: 2, flags: FAST });
  const taken = await holdPort();
  const failed = await home.nclust('reload', 'shop', '--update-env', { env: { PORT: String(taken) } });
  expect(failed).toMatchObject({ exitStatus: 1, stderr: expect.stringContaining(`could not listen on port ${taken}`) });
  expect(JSON.parse(await app.get())).toEqual({ pid: expect.any(Number) });
});

test('a cluster worker that fails to listen after its minimum uptime is not online', async () => {
  const home = await sandbox();
  const port = await holdPort();
  const env = { PORT: String(port), LATE_MS: '1000', STAYS: '1' };
  const started = await home.nclust('start', home.place('swallows-listen-errors'), '-i', '1', '--min-uptime', '200', {
    env,
  });
  expect(started).toMatchObject({
    exitStatus: 0,
    stderr: expect.stringContaining('does not listen on a port or socket yet'),
  });
  await home.waitFor('the worker to be replaced', async () => (await home.list())[0].restarts > 0);
  const [{ lastDeath }] = await home.list();
  expect(lastDeath).toMatchObject({ cause: 'boot-timeout', listenFailure: { port, code: 'EADDRINUSE' } });
});

test('a fork-mode app that runs on after a failed listen is online, and the list names the port', async () => {
  const home = await sandbox();
  const port = await holdPort();
  const env = { PORT: String(port), STAYS: '1' };
  const started = await home.nclust('start', home.place('swallows-listen-errors'), ...FAST, { env });
  expect(started).toMatchObject({ exitStatus: 0, stderr: expect.stringContaining(`could not listen on port ${port}`) });
  const shown = { status: 'online', listenFailure: { port, holder: { pid: process.pid } } };
  expect((await home.list())[0]).toMatchObject(shown);
  const { controlPid } = await home.daemon();
  process.kill(controlPid, 'SIGKILL');
  await home.waitFor('the next control', async () => (await home.daemon()).controlPid !== controlPid);
  expect((await home.list())[0]).toMatchObject(shown);
});
