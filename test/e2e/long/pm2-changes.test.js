import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import pm2 from '../../../lib/pm2.cjs';
import { sandbox } from '../../helpers/sandbox.js';
import { triggered, untilTriggered, untilWatching } from '../../helpers/triggers.js';

// The expected values are what PM2 7.0.4 does, seen by running the same calls.

/** Returns [error, result] of a call, as a callback gets them. */
function open(home) {
  const api = new pm2.custom({ pm2_home: home.home, cwd: home.work });
  onTestFinished(() => api.disconnect());
  return (method, ...args) =>
    new Promise((resolve) => api[method](...args, (error, result) => resolve([error?.message ?? null, result])));
}

const QUICK = { min_uptime: 100 };

test('options of restart(), reload() and start() of a listed app become its settings', async () => {
  const home = await sandbox();
  const call = open(home);
  const script = home.place('keeps-alive');
  await call('start', { ...QUICK, name: 'api', script, env: { X: '1' } });
  const settings = async () => (await call('list'))[1].find(({ name }) => name === 'api').pm2_env;
  for (const [method, given, expected] of [
    ['restart', { args: ['p'] }, { args: ['p'], X: '1' }],
    ['restart', { kill_timeout: 3000 }, { kill_timeout: 3000, args: ['p'] }],
    [
      'reload',
      { killTimeout: '4s', max_memory_restart: '100M' },
      { kill_timeout: 4000, max_memory_restart: 104857600 },
    ],
    [
      'restart',
      { namespace: 'n', autorestart: false, max_restarts: 3 },
      { namespace: 'n', autorestart: false, max_restarts: 3 },
    ],
    ['restart', { node_args: '--no-warnings' }, { node_args: ['--no-warnings'] }],
    ['restart', { env: { X: '2', N: 3 } }, { X: '2', N: 3 }],
    ['restart', { X: '9', instances: 4, wat: 1 }, { X: '2', instances: 1 }],
    ['start', { scriptArgs: 'q r', env: { X: '4' } }, { args: ['q', 'r'], X: '4', kill_timeout: 4000 }],
    ['restart', { watch: ['src'] }, { watch: ['src'] }],
    ['reload', { watch: false }, { watch: false }],
    ['start', {}, { watch: false, args: ['q', 'r'] }],
  ]) {
    expect(await call(method, 'api', given), `${method} ${JSON.stringify(given)}`).toMatchObject([
      null,
      [{ name: 'api' }],
    ]);
    expect(await settings(), `${method} ${JSON.stringify(given)}`).toMatchObject(expected);
  }
  expect(await call('restart', 'api', { kill_timeout: 'soon' })).toEqual([
    expect.stringMatching(/^kill_timeout is "soon"; accepted: /),
    undefined,
  ]);
  expect(await call('restart', 0, { name: 'web' })).toMatchObject([null, [{ name: 'web', pm_id: 0 }]]);
});

test('watch through the library: on, off by restart(), paused by stop(), and off by a config', async () => {
  const home = await sandbox();
  const call = open(home);
  mkdirSync(join(home.work, 'src'));
  const app = { ...QUICK, name: 'api', script: home.place('keeps-alive'), watch: ['src'] };
  const watch = async () => (await call('list'))[1][0].pm2_env.watch;
  let saved = 0;
  const save = () => writeFileSync(join(home.work, 'src', 'a.js'), String(++saved));
  /** Saves until a trigger came, because a watcher of another kind may report earlier changes. */
  const reloads = async () => {
    const before = triggered(home).length;
    await untilWatching(home, 'api');
    save();
    await home.waitFor('the reload', () => triggered(home).length > before);
    await untilTriggered(home, 'api', /a\.js/);
  };

  await call('start', app);
  expect(await watch()).toEqual(['src']);
  await reloads();
  await call('restart', 'api', { watch: false });
  expect(await watch()).toBe(false);
  await call('restart', 'api', { watch: ['src'] });
  await reloads();

  await call('stop', 'api');
  expect(await watch()).toBe(false);
  const before = triggered(home).length;
  save();
  await call('start', 'api');
  expect(await watch()).toEqual(['src']);
  await reloads();
  // The change during the stop caused no reload.
  expect(triggered(home)).toHaveLength(before + 1);

  for (const method of ['start', 'restart', 'reload']) {
    await call(method, { ...app, watch: false });
    expect(await watch()).toBe(false);
    await call(method, app);
    expect(await watch()).toEqual(['src']);
  }
  await reloads();
});

test('stop() and delete() of a config without listed apps change nothing and succeed', async () => {
  const home = await sandbox();
  const call = open(home);
  await call('start', { ...QUICK, name: 'api', script: home.place('keeps-alive') });
  const apps = [{ name: 'other', script: './keeps-alive.js' }];
  writeFileSync(join(home.work, 'ecosystem.config.js'), `module.exports = ${JSON.stringify({ apps })};`);
  for (const method of ['stop', 'delete'])
    for (const what of ['ecosystem.config.js', { apps }]) expect(await call(method, what)).toEqual([null, []]);
  expect(await call('list')).toMatchObject([null, [{ name: 'api', status: 'online' }]]);
});

test('a start after a stop counts no restart, by name, script, file and object', async () => {
  const home = await sandbox();
  const call = open(home);
  const app = { ...QUICK, name: 'keeps-alive', script: home.place('keeps-alive') };
  writeFileSync(join(home.work, 'ecosystem.config.js'), `module.exports = { apps: [${JSON.stringify(app)}] };`);
  await call('start', app);
  const count = async () => (await call('list'))[1][0].pm2_env.restart_time;
  const starts = [
    ['start', 'keeps-alive'],
    ['start', 0],
    ['start', 'keeps-alive.js'],
    ['start', 'ecosystem.config.js'],
    ['start', app],
    ['start', [app]],
    ['start', 'all'],
    ['restart', 'keeps-alive'],
    ['reload', 'ecosystem.config.js'],
  ];
  for (const [method, what] of starts) {
    expect(await call('stop', 'keeps-alive')).toMatchObject([null, [{ status: 'stopped' }]]);
    expect(await call(method, what)).toMatchObject([null, [{ status: 'online' }]]);
    expect([method, what, await count()]).toEqual([method, what, 0]);
  }
  await call('restart', 'all');
  await call('start', 'ecosystem.config.js');
  expect(await count()).toBe(2);
  const renamed = { ...app, name: 'other' };
  writeFileSync(join(home.work, 'ecosystem.config.js'), `module.exports = { apps: [${JSON.stringify(renamed)}] };`);
  await call('restart', 'ecosystem.config.js');
  await call('restart', 'ecosystem.config.js');
  expect((await call('list'))[1].map(({ name, pm2_env: { restart_time: n } }) => [name, n])).toEqual([
    ['keeps-alive', 2],
    ['other', 1],
  ]);
});
