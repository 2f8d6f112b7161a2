import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { sandbox } from '../../helpers/sandbox.js';

const pm2 = createRequire(import.meta.url)('../../../lib/pm2.cjs');

function open(home) {
  const api = new pm2.custom({ pm2_home: home.home });
  onTestFinished(() => api.disconnect());
  const call = (method, ...args) =>
    new Promise((resolve, reject) => {
      let calls = 0;
      const returned = api[method](...args, (...results) => {
        calls += 1;
        if (calls > 1) reject(new Error(`${method} called back twice`));
        resolve(results);
      });
      if (calls > 0 || returned !== undefined)
        reject(new Error(`${method} called back at once, or returned something`));
    });
  return { api, call };
}

test('start, restart, reload, stop and delete call back with the workers', async () => {
  const home = await sandbox();
  const { call } = open(home);
  const script = home.place('has-actions');
  expect(await call('connect')).toEqual([null, { new_pm2_instance: true, pm2_home: home.home }]);
  expect(await call('connect', false)).toMatchObject([null, { new_pm2_instance: false }]);
  const [none, started] = await call('start', script, { name: 'api', instances: 2, env: { A: '1' } });
  expect(none).toBeNull();
  expect(started).toMatchObject([
    {
      name: 'api',
      pm_id: 0,
      pid: expect.any(Number),
      process: { pid: started[0].pid },
      monit: { memory: expect.any(Number), cpu: expect.any(Number) },
      pm2_env: {
        name: 'api',
        status: 'online',
        exec_mode: 'cluster_mode',
        A: '1',
        env: { A: '1' },
        pm_exec_path: script,
      },
    },
    { pm_id: 1 },
  ]);
  expect(
    await call('start', [
      { name: 'one', script },
      { name: 'two', script },
    ]),
  ).toMatchObject([null, [{ name: 'one' }, { name: 'two' }]]);
  expect(await call('start', { apps: [{ name: 'three', script }] })).toMatchObject([null, [{ name: 'three' }]]);
  expect(await call('restart', 'api')).toMatchObject([
    null,
    [
      { name: 'api', namespace: 'default', pm_id: 0, status: 'online', restart_time: 1, pm2_env: { restart_time: 1 } },
      {},
    ],
  ]);
  expect(await call('restart', 2)).toMatchObject([null, [{ name: 'one' }]]);
  expect(await call('reload', 'api', { updateEnv: true })).toMatchObject([null, [{ restart_time: 2 }, {}]]);
  expect(await call('stop', 'one')).toMatchObject([null, [{ name: 'one', pid: 0, status: 'stopped' }]]);
  expect(await call('start', 'one')).toMatchObject([null, [{ name: 'one', status: 'online' }]]);
  expect(await call('delete', 'one')).toMatchObject([null, [{ name: 'one', pm_id: 2, status: 'stopped' }]]);
  writeFileSync(
    join(home.work, 'x.config.cjs'),
    `module.exports = { apps: [{ name: 'filed', script: ${JSON.stringify(script)}, env_production: { P: 'yes' } }] }`,
  );
  expect(await call('start', join(home.work, 'x.config.cjs'), { env: 'production' })).toMatchObject([
    null,
    [{ name: 'filed', pm2_env: { P: 'yes' } }],
  ]);
  expect((await call('list'))[1].map(({ name, pm_id: id }) => `${name}:${id}`)).toEqual([
    'api:0',
    'api:1',
    'two:3',
    'three:4',
    'filed:5',
  ]);
  expect(await call('describe', 'api')).toMatchObject([null, [{ pm_id: 0 }, { pm_id: 1 }]]);
  expect(await call('describe', 3)).toMatchObject([null, [{ name: 'two' }]]);
  expect(await call('describe', 'nobody')).toEqual([null, []]);
  expect((await call('delete', 'all'))[1]).toHaveLength(5);
});

test('errors have the messages of PM2 and the codes of nclust', async () => {
  const home = await sandbox();
  const { call, api } = open(home);
  const script = home.place('has-actions');
  await call('start', { name: 'api', script });
  const failures = {
    restart: ['nobody', 'process or namespace not found'],
    reload: ['nobody', 'process or namespace not found'],
    stop: ['nobody', 'process or namespace not found'],
    delete: ['nobody', 'process or namespace not found'],
  };
  for (const [method, [what, message]] of Object.entries(failures)) {
    const results = await call(method, what);
    expect([method, results.length, results[0]]).toEqual([
      method,
      1,
      expect.objectContaining({ message, code: 'ERR_NCLUST_APP_NOT_FOUND' }),
    ]);
    expect(results[0]).toBeInstanceOf(Error);
  }
  expect((await call('start', script, { name: 'api' }))[0]).toMatchObject({
    message: 'Script already launched',
    code: 'ERR_NCLUST_APP_EXISTS',
  });
  expect((await call('start', 'nothing-there.js'))[0].message).toMatch('nothing-there.js');
  expect((await call('scale', 'nobody', 2))[0].message).toBe('App not found');
  expect((await call('sendSignalToProcessName', 'SIGUSR2', 'nobody'))[0].message).toBe('Unknown process name');
  expect((await call('sendDataToProcessId', 77, { topic: 't', data: 1 }))[0].message).toBe(
    'Process with ID <77> unknown.',
  );
  expect((await call('sendDataToProcessId', 0, { data: 1 }))[0].message).toBe('ID, DATA or TOPIC field is missing');
  expect((await call('trigger', 'api', 'nope'))[0].message).toMatch("Action doesn't exist nope");
  expect((await call('install', 'pm2-logrotate'))[0]).toMatchObject({
    code: 'ERR_NCLUST_ELSEWHERE',
    message: expect.stringContaining('built in'),
  });
  await expect(api.stop('nobody')).rejects.toMatchObject({ code: 'ERR_NCLUST_APP_NOT_FOUND' });
  await call('delete', 'all');
  expect((await call('delete', 'all'))[0].message).toBe('process name not found');
});

test('the other calls return what PM2 returns', async () => {
  const home = await sandbox();
  const { call } = open(home);
  await call('start', { name: 'api', script: home.place('has-actions') });
  const [{ pid }] = (await call('list'))[1];
  expect(await call('getPID', 'api')).toEqual([null, [pid]]);
  expect(await call('getPID')).toEqual([null, [pid]]);
  expect(await call('getProcessIdByName', 'api')).toEqual([null, [0]]);
  expect(await call('ping')).toEqual([null, { msg: 'pong' }]);
  expect((await call('getVersion'))[1]).toMatch(/^\d+\.\d+/);
  expect((await call('env', 0))[1]).toMatchObject({ pm_id: '0', name: 'api' });
  expect(await call('scale', 'api', 2)).toEqual([null, { success: true }]);
  await call('restart', 0);
  expect(await call('reset', 'api')).toEqual([null, { success: true }]);
  expect((await call('describe', 0))[1][0].pm2_env.restart_time).toBe(0);
  expect(await call('trigger', 0, 'greet', 'you')).toMatchObject([
    null,
    [
      {
        data: { action_name: 'greet', return: { hello: 'you' } },
        process: { pm_id: 0, name: 'api', namespace: 'default' },
      },
    ],
  ]);
  expect(await call('sendLineToStdin', 0, 'a line')).toEqual([null, { pm_id: 0, line: 'a line\n' }]);
  expect(await call('msgProcess', { name: 'api', msg: 'hi' })).toEqual([null, { process_count: 2, success: true }]);
  await home.waitFor(
    'the line and the message to arrive',
    async () =>
      /read "a line\\n"/.test((await home.nclust('logs', '0', '--nostream', '--raw')).stdout) &&
      /got "hi"/.test((await home.nclust('logs', '1', '--nostream', '--raw')).stdout),
  );
  expect((await call('flush', 'api'))[1]).toHaveLength(2);
  expect(await call('reloadLogs')).toEqual([null, {}]);
  expect(await call('dump')).toEqual([null, { success: true }]);
  await call('delete', 'api');
  expect(await call('resurrect')).toMatchObject([null, [{ name: 'api' }, {}]]);
  const [before] = (await call('getPID', 'api'))[1];
  expect(await call('sendSignalToProcessName', 'SIGKILL', 'api')).toMatchObject([null, [{ name: 'api' }, {}]]);
  await home.waitFor('the next process', async () =>
    ((now) => now > 0 && now !== before)((await call('getPID', 'api'))[1][0]),
  );
  expect(await call('killDaemon')).toEqual([null, { success: true }]);
  expect(home.processes()).toEqual([]);
});

test('the bus delivers events, messages and log lines, by name and by pattern', async () => {
  const home = await sandbox();
  const { call, api } = open(home);
  const [, bus, sock] = await call('launchBus');
  const heard = [];
  bus.on('process:event', (packet) => heard.push(['process:event', packet]));
  bus.on('log:*', (stream, packet) => heard.push([`log ${stream}`, packet]));
  bus.on('said:again', (packet) => heard.push(['said:again', packet]));
  const all = [];
  bus.on('*', (event) => all.push(event));
  const find = (word) => heard.filter(([event]) => event === word).map(([, packet]) => packet);

  await call('start', { name: 'api', script: home.place('has-actions'), namespace: 'n' });
  await home.waitFor('the first line', () => find('log out').length > 0);
  expect(find('log out')[0]).toEqual({
    process: { pm_id: 0, name: 'api', rev: null, namespace: 'n' },
    at: expect.any(Number),
    data: expect.stringMatching(/^has-actions \d+ runs\n$/),
  });
  expect(await call('sendDataToProcessId', 0, { type: 'process:msg', topic: 'say', data: { x: 1 } })).toEqual([
    null,
    { success: true, data: { id: 0, type: 'process:msg', topic: 'say', data: { x: 1 } } },
  ]);
  await home.waitFor('the answer of the app', () => find('said:again').length > 0);
  expect(find('said:again')[0]).toEqual({
    at: expect.any(Number),
    data: { x: 1 },
    process: { pm_id: 0, name: 'api', namespace: 'n' },
  });
  await call('restart', 'api');
  await home.waitFor('the restart event', () => find('process:event').some(({ event }) => event === 'restart'));
  expect(find('process:event').find(({ event }) => event === 'restart')).toMatchObject({
    event: 'restart',
    manually: true,
    at: expect.any(Number),
    process: { name: 'api', pm_id: 0, namespace: 'n', status: 'online', restart_time: 1, exec_mode: 'fork_mode' },
  });
  expect(all).toEqual(expect.arrayContaining(['process:event', 'log:out', 'said:again']));

  let closed = 0;
  sock.on('close', () => {
    closed += 1;
  });
  await call('killDaemon');
  await home.waitFor('the kill event and the close of the bus', () => closed === 1 && all.includes('pm2:kill'));
  bus.close();
  api.disconnect();
});

test('an error of a callback or a listener reaches uncaughtException and disturbs no other listener', async () => {
  const home = await sandbox();
  const { api, call } = open(home);
  const thrown = [];
  const caught = (error) => void thrown.push(error);
  const others = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException').on('uncaughtException', caught);
  onTestFinished(() => {
    process.removeAllListeners('uncaughtException');
    for (const one of others) process.on('uncaughtException', one);
  });
  api.list(() => {
    throw new Error('of the callback');
  });
  await home.waitFor('the error of the callback', () => thrown.length === 1);
  const [, bus] = await call('launchBus');
  let heard = 0;
  bus.on('process:event', () => {
    heard += 1;
    throw new Error('of the listener');
  });
  await call('start', { name: 'api', script: home.place('keeps-alive') });
  await home.waitFor('both events', () => heard >= 2);
  expect(thrown.map(({ message }) => message)).toEqual(['of the callback', ...Array(heard).fill('of the listener')]);
});

test('destroy() removes the home of an independent instance', async () => {
  const own = new pm2.custom({ independent: true });
  const { pm2_home: place } = await own.connect();
  expect(await own.list()).toEqual([]);
  await own.destroy();
  const { existsSync } = await import('node:fs');
  expect(existsSync(place)).toBe(false);
});

test('a call that is running when a program disconnects still completes', async () => {
  const home = await sandbox();
  const { api, call } = open(home);
  await call('connect');
  const started = call('start', { name: 'api', script: home.place('keeps-alive') });
  api.disconnect();
  expect(await started).toMatchObject([null, [{ name: 'api', status: 'online' }]]);
  expect(await call('list')).toMatchObject([null, [{ name: 'api' }]]);
});
