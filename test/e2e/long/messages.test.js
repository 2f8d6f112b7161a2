import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { fetchOnce } from '../../helpers/sandbox-app.js';
import { nodeUnderTest, sandbox } from '../../helpers/sandbox.js';
import { openDebugger } from '../../../lib/shared/debugger.js';

const BIN = fileURLToPath(new URL('../../../bin/nclust.js', import.meta.url));

const outputOf = async (home, target) =>
  (await home.nclust('logs', target, '--nostream', '--raw', '--lines', '100')).stdout;

function attach(home, ...words) {
  const child = spawn(nodeUnderTest(), [BIN, 'attach', ...words], { cwd: home.work, env: home.env });
  onTestFinished(() => void child.kill('SIGKILL'));
  let [shown, said] = ['', ''];
  child.stdout.on('data', (text) => {
    shown += text;
  });
  child.stderr.on('data', (text) => {
    said += text;
  });
  const done = new Promise((resolve) => child.once('close', resolve));
  return {
    child,
    shown: () => shown,
    said: () => said,
    done,
    type: (text) => void child.stdin.write(text),
  };
}

test('send writes a line to the standard input of one process and shows the list', async () => {
  const home = await sandbox();
  await home.app('has-actions', { name: 'api' });
  const sent = await home.nclust('send', '0', 'flush cache');
  expect(sent).toMatchObject({
    exitStatus: 0,
    stderr: 'Sent the line to "api".\n',
    stdout: expect.stringContaining('online'),
  });
  expect(await home.nclust('send', 'api', 'two', 'words', '--json')).toMatchObject({ exitStatus: 0, stderr: '' });
  await home.waitFor('both lines', async () =>
    /read "flush cache\\n"[^]*two words\\n/.test(await outputOf(home, 'api')),
  );

  expect(await home.nclust('send', '7', 'x')).toMatchObject({
    exitStatus: 1,
    stdout: '',
    stderr: expect.stringContaining('There is no app, namespace, script or id "7"'),
  });
  await home.app('http-echo', { name: 'cluster', instances: 2 });
  expect(await home.nclust('send', 'cluster', 'x')).toMatchObject({
    exitStatus: 2,
    stderr: expect.stringContaining('Give one of the ids 1, 2.'),
  });
  expect(await home.nclust('send', '1', 'x')).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringMatching('"cluster" \\(id 1\\) does not support this[^]*standard input is for fork mode'),
  });
  await home.nclust('stop', 'api');
  expect(await home.nclust('send', 'api', 'x')).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringContaining('No process of "api" runs'),
  });
});

test('send reports an app that does not read, and leaves it running', async () => {
  const home = await sandbox();
  await home.app('runs-code', { name: 'deaf', env: { CODE: 'setInterval(() => {}, 1 << 30); say("runs");' } });
  const line = 'x'.repeat(60_000);
  const refused = await home.waitFor('a refused line', async () => {
    const result = await home.nclust('send', 'deaf', line, '--json');
    return result.exitStatus === 0 ? null : result;
  });
  expect(JSON.parse(refused.stderr).error).toMatchObject({
    code: 'ERR_NCLUST_NOT_READING',
    message: expect.stringContaining('"deaf" (id 0) does not read'),
  });
  expect(await home.list()).toMatchObject([{ status: 'online', restarts: 0 }]);
});

test('attach sends typed lines to the app and shows its output, and Ctrl-C leaves the app running', async () => {
  const home = await sandbox();
  const app = await home.app('has-actions', { name: 'api' });
  const [pid] = await app.pids();
  const session = attach(home, 'api');
  await home.waitFor('attach to be connected', () => session.said().includes('Your input goes to "api" (id 0)'));
  session.type('first\nsecond\n');
  await home.waitFor('the answers of the app', () => session.shown().includes('second'));
  expect(session.shown()).toMatch(/^has-actions read "first\\n(second\\n)?"/);
  const { controlPid } = await home.daemon();
  process.kill(controlPid, 'SIGKILL');
  await home.waitFor('the next control', async () => (await home.daemon()).controlPid !== controlPid);
  session.type('third\n');
  await home.waitFor('the answer of the app', () => session.shown().includes('third'));
  session.child.kill('SIGINT');
  expect(await session.done).toBe(0);
  expect(await app.pids()).toEqual([pid]);
});

test('attach exits at the end of its input, has a --separator, and refuses an app without stdin', async () => {
  const home = await sandbox();
  await home.app('has-actions', { name: 'api' });
  const session = attach(home, '0', ';');
  session.type('stop\n');
  await home.waitFor('the answer of the app', () => session.shown().includes('read "stop;"'));
  session.child.stdin.end();
  expect(await session.done).toBe(0);
  await home.app('http-echo', { name: 'cluster', instances: 1, flags: ['-i', '1'] });
  expect(await home.nclust('attach', '1')).toMatchObject({
    exitStatus: 1,
    stdout: '',
    stderr: expect.stringContaining('does not support this'),
  });
  expect(await home.nclust('attach', 'nobody')).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringContaining('"nobody"'),
  });
});

test('trigger calls an action in every process of the target and prints the results', async () => {
  const home = await sandbox();
  await home.app('has-actions', { name: 'api', instances: 2 });
  await home.app('http-echo', { name: 'other' });
  await home.waitFor(
    'the actions of the app',
    async () =>
      JSON.parse((await home.nclust('jlist')).stdout).filter((one) => one.pm2_env.axm_actions.length === 2).length ===
      2,
  );
  expect(await home.nclust('trigger', 'api', 'greet')).toMatchObject({
    exitStatus: 0,
    stdout: '[api:0] {"hello":"nobody"}\n[api:1] {"hello":"nobody"}\n',
    stderr: '',
  });
  expect(await home.nclust('trigger', '1', 'greet', 'you all')).toMatchObject({
    exitStatus: 0,
    stdout: '[api:1] {"hello":"you all"}\n',
  });
  expect(await outputOf(home, '1')).toMatch(/got "greet"[^]*got \{"msg":"greet","opts":"you all","name":"api"\}/);
  expect((await home.nclust('trigger', 'all', 'greet', '--json')).json()).toMatchObject([
    { id: 0, outcome: 'replied', reply: { hello: 'nobody' } },
    { id: 1 },
  ]);

  expect(await home.nclust('trigger', 'api', 'nope')).toMatchObject({
    exitStatus: 1,
    stdout: '',
    stderr: expect.stringMatching('has registered the action "nope"[^]*Registered: greet, sulk'),
  });
  expect(await home.nclust('trigger', 'other', 'greet')).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringContaining('axm:action'),
  });
  expect(await home.nclust('trigger', '0', 'sulk')).toMatchObject({
    exitStatus: 1,
    stdout: '[api:0] did not reply in time\n',
  });
});

test('custom metrics and actions are listed, even by a control that started later', async () => {
  const home = await sandbox();
  await home.app('has-actions', { name: 'api' });
  const { controlPid } = await home.daemon();
  process.kill(controlPid, 'SIGKILL');
  await home.waitFor('the next control', async () => (await home.daemon()).controlPid !== controlPid);
  const [{ pm2_env: env }] = (await home.nclust('jlist')).json();
  expect(env).toMatchObject({
    axm_actions: [
      { action_name: 'greet', action_type: 'custom', arity: 1 },
      { action_name: 'sulk', action_type: 'custom', arity: 0 },
    ],
    axm_monitor: { visits: { value: 7, unit: 'visits/min', type: 'visits', historic: true } },
    axm_options: {},
  });
  const { stdout } = await home.nclust('describe', 'api');
  expect(stdout).toMatch(/Custom metrics\n[^]*visits[^]*7 visits\/min[^]*Custom actions\n[^]*nclust trigger 0 greet/);
});

test('inspect opens the inspector of one process to a debugger, and --stop closes it', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { name: 'api', instances: 2 });
  const [first] = await app.pids();
  const on = await home.nclust('inspect', 'api', '--json');
  const { slot, url } = on.json();
  expect(slot).toMatchObject({ id: 0, pid: first });
  const host = new URL(url).host;
  // Another user of the machine cannot learn the address.
  expect((await fetch(`http://${host}/json/list`)).status).toBe(404);
  const inside = await openDebugger(url);
  onTestFinished(inside.shut);
  const { result } = await inside.ask('Runtime.evaluate', { expression: 'process.pid' });
  expect(result.value).toBe(first);
  const again = await home.nclust('inspect', '0');
  expect(again.stdout).toContain(
    `The inspector of "api" (id 0, pid ${first}) was on already:\n  ${url}\n` +
      `Open this in Chrome: devtools://devtools/bundled/js_app.html?experiments=true&v8only=true&ws=${url.slice(5)}\n`,
  );
  const other = (await home.nclust('inspect', '1', '--json')).json();
  expect(new URL(other.url).host).not.toBe(host);
  expect(await home.nclust('inspect', '--stop', 'api')).toMatchObject({
    exitStatus: 0,
    stdout: `The inspector of "api" (id 0, pid ${first}) is off.\n`,
  });
  await expect(fetchOnce(`http://${host}/json/list`)).rejects.toThrow('ECONNREFUSED');
  expect((await app.get()).pid).toBeGreaterThan(0);

  await home.nclust('start', '/bin/sleep 1000', '--name', 'sleeper');
  expect(await home.nclust('inspect', 'sleeper')).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringContaining('Messages and the inspector are for Node programs'),
  });
});

test('a client gets the events and messages of apps, and its own messages reach them', async () => {
  const home = await sandbox();
  await home.app('has-actions', { name: 'api' });
  const client = await home.connect();
  const events = [];
  const following = client.events();
  void (async () => {
    for await (const event of following) events.push(event);
  })();
  await following.ready;
  await client.sendMessage('api', { id: 0, type: 'process:msg', topic: 'say', data: { some: 'thing' } });
  await home.waitFor('the answer of the app', () => events.some(({ type }) => type === 'said:again'));
  expect(events.find(({ type }) => type === 'said:again')).toMatchObject({
    isFromApp: true,
    data: { some: 'thing' },
    process: { id: 0, name: 'api' },
  });
  await home.nclust('restart', 'api');
  await home.nclust('delete', 'api');
  await home.waitFor('the delete event', () => events.some(({ event }) => event === 'delete'));
  const words = events
    .filter(({ type }) => type === 'process:event')
    .map(({ event, manually }) => `${event}${manually ? ' by command' : ''}`);
  expect(words).toEqual(['exit by command', 'online', 'restart by command', 'exit by command', 'delete by command']);
});
