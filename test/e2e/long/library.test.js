import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { connect, NclustError } from '../../../lib/index.js';
import { sandbox } from '../../helpers/sandbox.js';
import { within } from '../../helpers/wait-for.js';

async function open(home, o = {}) {
  const nclust = await connect({ home: home.home, ...o });
  onTestFinished(() => nclust.close());
  return nclust;
}

const codeOf = (call) =>
  call.then(
    () => 'no error',
    (error) => (error instanceof NclustError ? error.code : error),
  );

test('start takes a script, an object, a list or a file, and list shows the apps', async () => {
  const home = await sandbox();
  const nclust = await open(home);
  const script = home.place('has-actions');
  const seen = [];
  expect(
    await nclust.start(script, {
      name: 'api',
      instances: 2,
      env: { A: '1' },
      onProgress: ({ done, total }) => seen.push(`${done}/${total}`),
    }),
  ).toMatchObject([{ id: 0, name: 'api', status: 'online', mode: 'cluster' }, { id: 1 }]);
  expect(seen).toContain('0/2');
  expect(await nclust.start({ name: 'one', script })).toMatchObject([{ id: 2, name: 'one' }]);
  expect(
    await nclust.start([
      { name: 'two', script, namespace: 'n' },
      { name: 'three', script, autostart: false },
    ]),
  ).toMatchObject([{ name: 'two' }, { name: 'three', status: 'stopped' }]);
  writeFileSync(
    join(home.work, 'x.config.cjs'),
    `module.exports = { apps: [{ name: 'filed', script: ${JSON.stringify(script)}, env_production: { P: ` +
      `'yes' } }, { name: 'left', script: 'no.js' }] }`,
  );
  expect(await nclust.start(join(home.work, 'x.config.cjs'), { env: 'production', only: 'filed' })).toMatchObject([
    { name: 'filed' },
  ]);
  expect(await nclust.env('filed')).toMatchObject({ P: 'yes' });
  expect((await nclust.list()).map(({ name }) => name).sort()).toEqual(['api', 'api', 'filed', 'one', 'three', 'two']);
  expect(await nclust.list('n')).toMatchObject([{ name: 'two' }]);
  const [{ effectiveEnv, spec, deaths }] = await nclust.describe('api');
  expect([effectiveEnv.A, spec.name, deaths]).toEqual(['1', 'api', []]);

  expect(await codeOf(nclust.start(script, { name: 'api' }))).toBe('ERR_NCLUST_APP_EXISTS');
  expect(await nclust.start('three')).toMatchObject([{ name: 'three', status: 'online' }]);
  expect(await nclust.start({ name: 'one', script })).toMatchObject([{ name: 'one', restarts: 1 }]);
  expect(await codeOf(nclust.start({ name: 'x', instances: 'many' }))).toBe('ERR_NCLUST_BAD_CONFIG');
  expect(await codeOf(nclust.start('no-such-thing.js'))).toBe('ERR_NCLUST_BAD_CONFIG');
  expect(await codeOf(nclust.start(undefined))).toBe('ERR_NCLUST_USAGE');
  expect(await codeOf(nclust.start({ apps: [] }))).toBe('ERR_NCLUST_APP_NOT_FOUND');
});

test('an unknown attribute of a config causes a warning that suggests the right one', async () => {
  const home = await sandbox();
  const warnings = [];
  const nclust = await open(home, { onWarning: (sentence) => warnings.push(sentence) });
  await nclust.start({ name: 'api', script: home.place('keeps-alive'), max_memory_restrat: '1G' });
  expect(warnings).toEqual(['"max_memory_restrat" is unknown and ignored; did you mean "max_memory_restart"?']);
});

test('apps are restarted, reloaded, scaled, stopped and deleted by name and by config', async () => {
  const home = await sandbox();
  const nclust = await open(home);
  const script = home.place('has-actions');
  const config = {
    apps: [
      { name: 'a', script },
      { name: 'b', script },
    ],
  };
  await nclust.start(config);
  expect(await nclust.restart('a')).toMatchObject([{ name: 'a', restarts: 1, generation: 2 }]);
  expect(await nclust.reload(['a', 1])).toMatchObject([
    { name: 'a', generation: 3 },
    { name: 'b', generation: 2 },
  ]);
  expect(await nclust.scale('a', '+1')).toHaveLength(2);
  expect(await nclust.scale('a', 1)).toHaveLength(1);
  expect(await nclust.reset('all')).toMatchObject([{ restarts: 0 }, { restarts: 0 }]);
  expect(await nclust.stop(config, { only: 'b' })).toMatchObject([{ name: 'b', status: 'stopped' }]);
  process.env.NCLUST_LIBRARY_TEST = 'new';
  onTestFinished(() => void delete process.env.NCLUST_LIBRARY_TEST);
  await nclust.restart('a', { updateEnv: true });
  expect(await nclust.env('a')).toMatchObject({ NCLUST_LIBRARY_TEST: 'new' });

  const { plan } = await nclust.apply(
    {
      apps: [
        { name: 'a', script, kill_timeout: 500 },
        { name: 'c', script },
      ],
    },
    { dryRun: true },
  );
  expect(plan).toMatchObject([
    { name: 'a', action: 'live' },
    { name: 'c', action: 'start' },
  ]);
  expect(
    await nclust.apply({
      apps: [
        { name: 'a', script, kill_timeout: 500 },
        { name: 'c', script },
      ],
    }),
  ).toMatchObject({ plan: [{ name: 'a' }, { name: 'c' }] });
  expect(
    await nclust.delete({
      apps: [
        { name: 'c', script },
        { name: 'unknown', script },
      ],
    }),
  ).toMatchObject([{ name: 'c' }]);
  expect(await nclust.delete('all')).toHaveLength(2);
  expect(await nclust.list()).toEqual([]);
  for (const call of ['stop', 'delete', 'restart', 'reload', 'describe', 'env', 'reset'])
    expect([call, await codeOf(nclust[call]('nobody'))]).toEqual([call, 'ERR_NCLUST_APP_NOT_FOUND']);
  expect(await codeOf(nclust.stop([]))).toBe('ERR_NCLUST_USAGE');
});

test('messages, actions, logs, the inspector, signals and settings work through the library', async () => {
  const home = await sandbox();
  const nclust = await open(home);
  await nclust.start({ name: 'api', script: home.place('has-actions') });
  const events = nclust.events({ types: ['said:*'] });
  await events.ready;
  expect(await nclust.sendMessage('api', { topic: 'say', data: { x: 1 } })).toMatchObject([{ id: 0, name: 'api' }]);
  expect(await events.next()).toMatchObject({
    done: false,
    value: { type: 'said:again', data: { x: 1 }, process: { name: 'api' } },
  });
  expect(await nclust.trigger('api', 'greet', 'you')).toMatchObject([{ outcome: 'replied', reply: { hello: 'you' } }]);
  expect(await nclust.trigger('api', 'sulk', undefined, { replyMs: 10 })).toMatchObject([{ outcome: 'silent' }]);
  await nclust.send('api', 'a line');
  const logs = nclust.logs({ targets: ['api'], follow: true, grep: /READ/i });
  for await (const { line, name, stream } of logs) {
    expect([name, stream, line]).toEqual(['api', 'out', 'has-actions read "a line\\n"']);
    break;
  }
  expect(await logs.next()).toEqual({ done: true, value: undefined });
  const lines = [];
  for await (const { line } of nclust.logs({ since: '1h' })) lines.push(line);
  expect(lines.length).toBeGreaterThan(3);
  const { url } = await nclust.inspect('api');
  expect(url).toMatch(/^ws:/);
  expect(await nclust.inspect('api', { stop: true })).toMatchObject({ url: null, was: url });
  expect(await nclust.flush('api')).toContainEqual({
    path: expect.stringContaining('api-out.log'),
    bytes: expect.any(Number),
  });
  await nclust.reloadLogs();
  const [{ pid }] = await nclust.signal('api', 'SIGTERM');
  await home.waitFor(
    'the next process to be online',
    async () => (await nclust.list())[0].pid !== pid && (await nclust.list())[0].status === 'online',
  );

  expect(await nclust.set('logs.max_size', '7M')).toMatchObject([{ key: 'logs.max_size', value: '7M', isSet: true }]);
  expect(await nclust.get('logs.max_size')).toMatchObject([{ value: '7M' }]);
  expect(await nclust.unset('logs.max_size')).toMatchObject([{ isSet: false }]);
  expect((await nclust.get()).length).toBeGreaterThan(3);
  expect(await codeOf(nclust.get('nothing'))).toBe('ERR_NCLUST_BAD_SETTING');
});

test('save, resurrect, update and kill work through the library', async () => {
  const home = await sandbox();
  const nclust = await open(home);
  const { version, home: reportedHome } = await nclust.hello();
  expect([reportedHome, nclust.home, version]).toEqual([home.home, home.home, expect.stringMatching(/^\d/)]);
  expect(await nclust.ping()).toBeGreaterThan(0);
  expect(await codeOf(nclust.save())).toBe('ERR_NCLUST_EMPTY_LIST');
  await nclust.start({ name: 'api', script: home.place('keeps-alive') });
  expect(await nclust.save()).toEqual({ file: join(home.home, 'dump.json'), apps: 1 });
  await nclust.delete('api');
  expect(await nclust.resurrect()).toMatchObject([{ name: 'api', status: 'online' }]);
  expect((await nclust.update()).manager).toMatchObject({ version, home: home.home });
  expect(await nclust.request('list', { brief: true })).toMatchObject({ slots: [{ name: 'api' }] });

  const events = nclust.events();
  await events.ready;
  expect(await nclust.kill()).toEqual({ wasRunning: true });
  expect(home.processes()).toEqual([]);
  const rest = [];
  for await (const event of events) rest.push(event.event);
  expect(rest).toContain('exit');
  // A request that only reads does not start a manager. A change starts a manager.
  expect(await codeOf(nclust.list())).toBe('ERR_NCLUST_DAEMON_NOT_RUNNING');
  expect(await nclust.kill()).toEqual({ wasRunning: false });
  expect(home.processes()).toEqual([]);
  expect(await nclust.start({ name: 'again', script: home.place('keeps-alive') })).toMatchObject([
    { name: 'again', status: 'online' },
  ]);
});

test('a program with launch: false gets an error if no manager is running', async () => {
  const home = await sandbox();
  expect(await codeOf(connect({ home: home.home, launch: false }))).toBe('ERR_NCLUST_DAEMON_NOT_RUNNING');
  expect(home.processes()).toEqual([]);
});

test('a call ends at its timeout, its signal or its connection, while the change continues', async () => {
  const home = await sandbox();
  const nclust = await open(home);
  const script = home.place('never-ready');
  const start = (name, o = {}) => nclust.start({ name, script, wait_ready: true, listen_timeout: 60_000 }, o);
  expect(await codeOf(start('late', { timeoutMs: 300 }))).toBe('ERR_NCLUST_TIMEOUT');
  expect(await nclust.list('late')).toMatchObject([{ status: 'launching' }]);
  const stop = new AbortController();
  const started = start('given-up', { signal: stop.signal });
  await home.waitFor('the second app to be listed', async () => (await nclust.list()).length === 2);
  stop.abort(new Error('enough'));
  await expect(started).rejects.toMatchObject({ code: 'ERR_NCLUST_INTERRUPTED', cause: { message: 'enough' } });
  expect(await codeOf(nclust.list(undefined, { signal: AbortSignal.abort() }))).toBe('ERR_NCLUST_INTERRUPTED');
  expect(await codeOf(nclust.list(undefined, { timeoutMs: -1 }))).toBe('ERR_NCLUST_USAGE');
  expect(await nclust.start({ name: 'unwaited', script, wait_ready: true }, { wait: false })).toMatchObject([
    { status: 'launching' },
  ]);

  const under = start('cut-off');
  await home.waitFor('the fourth app to be listed', async () => (await nclust.list()).length === 4);
  const events = nclust.events();
  await events.ready;
  await Promise.all([nclust.close(), nclust.close()]);
  expect(await codeOf(under)).toBe('ERR_NCLUST_CLOSED');
  expect(await codeOf(nclust.list())).toBe('ERR_NCLUST_CLOSED');
  expect(
    await within(
      'the end of the events',
      (async () => {
        for await (const event of events) void event;
        return 'over';
      })(),
      5_000,
    ),
  ).toBe('over');
});

test('a manager that hangs makes a call time out and does no other harm', async () => {
  const home = await sandbox();
  const nclust = await open(home);
  const { controlPid } = await nclust.hello();
  process.kill(controlPid, 'SIGSTOP');
  onTestFinished(() => void process.kill(controlPid, 'SIGCONT'));
  expect(await codeOf(nclust.list(undefined, { timeoutMs: 200 }))).toBe('ERR_NCLUST_TIMEOUT');
  expect(await codeOf(nclust.restart('all', { timeoutMs: 200 }))).toBe('ERR_NCLUST_TIMEOUT');
  expect(await codeOf(connect({ home: home.home, timeoutMs: 200 }))).toBe('ERR_NCLUST_TIMEOUT');
  process.kill(controlPid, 'SIGCONT');
  expect(await nclust.list()).toEqual([]);
});

test('a program gets the troubles of apps, and hears when one begins and ends', async () => {
  const home = await sandbox();
  const nclust = await open(home);
  const events = nclust.events({ types: ['trouble'] });
  await events.ready;
  const app = { name: 'api', script: home.place('crashes-after'), env: { AFTER_MS: '50' } };
  await nclust.start(app, { wait: false });
  const about = { kind: 'crash-loop', level: 'bad', app: 'api', slots: [0] };
  expect((await events.next()).value).toMatchObject({ type: 'trouble', hasBegun: true, ...about });
  const [trouble] = await nclust.troubles('api');
  expect(trouble).toMatchObject({ ...about, evidence: { last: { code: 1 } } });
  await nclust.delete('api');
  expect((await events.next()).value).toMatchObject({ type: 'trouble', hasBegun: false, id: trouble.id });
  expect(await nclust.troubles()).toEqual([]);
});

test('events end by break, by return() while next() waits, and by a signal', async () => {
  const home = await sandbox();
  const nclust = await open(home);
  const waiting = nclust.events();
  const next = waiting.next();
  await waiting.ready;
  expect(await waiting.return()).toEqual({ done: true, value: undefined });
  expect(await within('next()', next, 5_000)).toEqual({ done: true, value: undefined });
  const stop = new AbortController();
  const signalled = nclust.logs({ follow: true, signal: stop.signal });
  await signalled.ready;
  stop.abort();
  const lines = [];
  for await (const line of signalled) lines.push(line);
  expect(lines).toEqual([]);
  await expect(nclust.logs({ targets: 'nobody' }).next()).rejects.toMatchObject({ code: 'ERR_NCLUST_APP_NOT_FOUND' });
});

test('a slow reader of events gets the number of dropped events', async () => {
  const home = await sandbox();
  const missed = [];
  const nclust = await open(home);
  const events = nclust.events({ types: ['flood'], onMissed: (count) => missed.push(count) });
  await events.ready;
  // All buffers must become full. A process may send only 1 MiB a second, so each of six instances
  // sends a burst every second.
  await nclust.start({
    name: 'flood',
    instances: 6,
    script: home.place('runs-code'),
    env: {
      CODE:
        'setInterval(() => { for (let i = 0; i < 9; i += 1) process.send({ type: "flood", data: ' +
        '"x".repeat(100_000) }); }, 1_000)',
    },
  });
  const before = (await nclust.describe('flood')).length;
  expect(before).toBe(6);
  const seen = await home.waitFor(
    'events to be dropped',
    async () => {
      const { value } = await events.next();
      return missed.length > 0 && value;
    },
    { deadlineMs: 40_000 },
  );
  expect(seen).toMatchObject({ type: 'flood' });
  expect(missed[0]).toBeGreaterThan(0);
});
