import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { takePort } from '../helpers/ports.js';
import { sandbox } from '../helpers/sandbox.js';

/** An object that throws when code converts the object to a string. */
const NO_TEXT = '{ toString: 1, valueOf: 1 }';

/** Code that sends messages in the name of the agent of the app. */
const AGENT_SAYS = `const say_ = (act, more) => process.send({ cmd: 'NODE_NCLUST', act, ...more });`;

const BAD_WORDS = `
  ${AGENT_SAYS}
  const no = ${NO_TEXT};
  const acts = ['fault', 'listening', 'vitals', 'report', 'bound', 'listen', 'closed', 'answer'];
  acts.push('connection-accepted', 'drained');
  for (const act of acts)
    for (const value of [no, null, [], 'text', -1])
      say_(act, { part: value, message: value, address: value, port: value, family: value, claim: value, seq: value,
        responses: value, report: value, caught: value });
  process.send({ type: 'axm:monitor', data: { odd: { value: no, unit: no } } });
  process.send({ type: 'axm:action', data: { action_name: 'odd', action_type: no, arity: no } });
  setInterval(() => {}, 1 << 30);
  process.send('ready');`;

test('malformed messages of an app harm neither the manager nor other apps', async () => {
  const home = await sandbox({ isHostile: true });
  const port = await takePort();
  await home.nclust('start', home.place('runs-code'), '--name', 'bad', '--wait-ready', { env: { CODE: BAD_WORDS } });
  await home.nclust('start', home.place('keeps-alive'), '--name', 'good');
  const before = await home.daemon();
  await home.nclust('set', 'metrics.listen', `127.0.0.1:${port}`);

  for (const words of [['describe', 'bad'], ['describe', 'good'], ['jlist'], ['list'], ['monit', '--json']])
    expect(await home.nclust(...words)).toMatchObject({ exitStatus: 0, stderr: '' });
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('app="good"')]);
  const { keeperPid, controlPid } = await home.daemon();
  expect([keeperPid, controlPid]).toEqual([before.keeperPid, before.controlPid]);
});

test('an app that answers nonsense to a drain request is killed at the deadline', async () => {
  const home = await sandbox({ isHostile: true });
  const code = `
    ${AGENT_SAYS}
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {});
    process.on('internalMessage', ({ act }) => act === 'drain' && say_('drained', { caught: null }));
    // The app never answers this request, so the real agent waits for the answer.
    const server = http.createServer(() => process.send('ready')).listen(0, '127.0.0.1', () =>
      http.get({ port: server.address().port }).on('error', () => {}));`;
  const flags = ['--name', 'bad', '--wait-ready', '--kill-timeout', '700'];
  await home.nclust('start', home.place('runs-code'), ...flags, { env: { CODE: code } });
  expect(await home.nclust('stop', 'bad', { timeoutMs: 8_000 })).toMatchObject({ exitStatus: 0 });
  expect(await home.list()).toMatchObject([{ status: 'stopped', pid: 0 }]);
});

test('a named pipe in .git does not block a reload', async () => {
  const home = await sandbox();
  const script = home.place('keeps-alive');
  const git = (...args) => execFileSync('git', ['-C', home.work, ...args], { stdio: 'ignore' });
  git('init', '-q');
  git('-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '-q', '--allow-empty', '-m', 'one');
  await home.nclust('start', script, '--name', 'app');
  await home.waitFor('the facts from git', async () => {
    const { stdout } = await home.nclust('jlist');
    return JSON.parse(stdout)[0].pm2_env.versioning?.type === 'git';
  });
  execFileSync('rm', ['-r', join(home.work, '.git')]);
  mkdirSync(join(home.work, '.git'));
  execFileSync('mkfifo', [join(home.work, '.git', 'HEAD')]);
  writeFileSync(join(home.work, '.git', 'config'), '');
  expect(await home.nclust('reload', 'app', { timeoutMs: 15_000 })).toMatchObject({ exitStatus: 0 });
});
