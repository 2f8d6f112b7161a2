import { expect, onTestFinished, test } from 'vitest';
import { connect, NclustError } from '../../../lib/index.js';
import { sandbox } from '../../helpers/sandbox.js';
import { slowdown, within } from '../../helpers/wait-for.js';

const TIMEOUT_MS = 15_000 * slowdown();

const CALLS = {
  hello: (nclust) => nclust.hello(),
  ping: (nclust) => nclust.ping(),
  list: (nclust) => nclust.list(),
  describe: (nclust) => nclust.describe('api'),
  env: (nclust) => nclust.env('api'),
  get: (nclust) => nclust.get(),
  start: (nclust, script) => nclust.start({ name: 'new', script }),
  restart: (nclust) => nclust.restart('api'),
  reload: (nclust) => nclust.reload('api'),
  scale: (nclust) => nclust.scale('new', 2),
  apply: (nclust, script) => nclust.apply({ name: 'applied', script }),
  stop: (nclust) => nclust.stop('applied'),
  delete: (nclust) => nclust.delete('applied'),
  reset: (nclust) => nclust.reset('api'),
  signal: (nclust) => nclust.signal('api', 'SIGCONT'),
  send: (nclust) => nclust.send('api', 'line'),
  sendMessage: (nclust) => nclust.sendMessage('api', { a: 1 }),
  trigger: (nclust) => nclust.trigger('api', 'greet'),
  inspect: (nclust) => nclust.inspect('api'),
  save: (nclust) => nclust.save(),
  resurrect: (nclust) => nclust.resurrect(),
  flush: (nclust) => nclust.flush(),
  reloadLogs: (nclust) => nclust.reloadLogs(),
  set: (nclust) => nclust.set('logs.max_size', '7M'),
  unset: (nclust) => nclust.unset('logs.max_size'),
  request: (nclust) => nclust.request('list'),
  update: (nclust) => nclust.update(),
  kill: (nclust) => nclust.kill(),
};

async function open(home, o = {}) {
  const nclust = await connect({ home: home.home, timeoutMs: TIMEOUT_MS, ...o });
  onTestFinished(() => nclust.close());
  return nclust;
}

/** Stops control first, so that it receives the request but does not answer before the kill. */
async function killedMeanwhile(nclust, call, victims) {
  const pids = await nclust.hello();
  process.kill(pids.controlPid, 'SIGSTOP');
  const settled = call().then(
    () => 'resolved',
    (error) => (error instanceof NclustError ? error.code : `no NclustError: ${error}`),
  );
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  for (const pid of victims(pids)) process.kill(pid, 'SIGKILL');
  return settled;
}

test(
  'every call is answered even if control is killed during it',
  async () => {
    const home = await sandbox();
    const script = home.place('has-actions');
    const nclust = await open(home);
    await nclust.start({ name: 'api', script });
    const outcomes = {};
    for (const [name, call] of Object.entries(CALLS))
      outcomes[name] = await within(
        name,
        killedMeanwhile(
          nclust,
          () => call(nclust, script),
          ({ controlPid }) => [controlPid],
        ),
        20_000,
        home.logTail,
      );
    expect(outcomes).toEqual(Object.fromEntries(Object.keys(CALLS).map((name) => [name, 'resolved'])));
  },
  120_000 * slowdown(),
);

test('a change is made once, however often control is killed during it', async () => {
  const home = await sandbox();
  const script = home.place('keeps-alive');
  const nclust = await open(home);
  await nclust.start({ name: 'api', script });
  for (let round = 1; round <= 3; round += 1) {
    expect(
      await killedMeanwhile(
        nclust,
        () => nclust.restart('api'),
        ({ controlPid }) => [controlPid],
      ),
    ).toBe('resolved');
    expect(
      await killedMeanwhile(
        nclust,
        () => nclust.scale('api', '+1'),
        ({ controlPid }) => [controlPid],
      ),
    ).toBe('resolved');
    const slots = await nclust.list();
    expect([slots.length, slots[0].restarts]).toEqual([1 + round, round]);
  }
  const [{ restarts }] = await nclust.list();
  const { controlPid } = await nclust.hello();
  let isKilled = false;
  await nclust.restart('api', {
    onProgress() {
      if (!isKilled) process.kill(controlPid, 'SIGKILL');
      isKilled = true;
    },
  });
  expect([isKilled, (await nclust.list())[0].restarts]).toEqual([true, restarts + 1]);
});

test(
  'every call settles in time even if the whole manager is killed during it',
  async () => {
    const home = await sandbox();
    const script = home.place('has-actions');
    const outcomes = {};
    let longestMs = 0;
    for (const [name, call] of Object.entries(CALLS)) {
      const nclust = await open(home);
      // Calls apply(), which starts a manager and restores the apps, because a request that only
      // reads does not start a manager.
      await nclust.apply({ apps: ['api', 'new', 'applied'].map((app) => ({ name: app, script })) });
      const startedMono = performance.now();
      outcomes[name] = await within(
        name,
        killedMeanwhile(
          nclust,
          () => call(nclust, script),
          ({ controlPid, keeperPid }) => [keeperPid, controlPid],
        ),
        20_000,
        home.logTail,
      );
      longestMs = Math.max(longestMs, performance.now() - startedMono);
      await nclust.close();
    }
    expect(longestMs).toBeLessThan(TIMEOUT_MS + 1_000);
    const questions = ['hello', 'ping', 'list', 'describe', 'env', 'get', 'request'];
    for (const [name, outcome] of Object.entries(outcomes)) {
      if (questions.includes(name)) expect([name, outcome]).toEqual([name, 'ERR_NCLUST_DAEMON_NOT_RUNNING']);
      else expect([name, outcome]).toEqual([name, expect.stringMatching(/^(resolved|ERR_NCLUST_)/)]);
    }
    for (const name of ['start', 'restart', 'stop', 'delete', 'save', 'set', 'kill'])
      expect([name, outcomes[name]]).toEqual([name, 'resolved']);
  },
  240_000 * slowdown(),
);

test('a program with launch: false gets an error when the manager is killed', async () => {
  const home = await sandbox();
  await (await open(home)).close();
  const nclust = await open(home, { launch: false });
  expect(
    await killedMeanwhile(
      nclust,
      () => nclust.start({ name: 'api', script: home.place('keeps-alive') }),
      ({ controlPid, keeperPid }) => [keeperPid, controlPid],
    ),
  ).toBe('ERR_NCLUST_DAEMON_NOT_RUNNING');
  expect(home.processes()).toEqual([]);
  // Starts and ends a new manager, which removes the files of the killed manager.
  await (await open(home)).kill();
});

test('a call is answered even if the keeper is killed during it', async () => {
  const home = await sandbox();
  const nclust = await open(home);
  const script = home.place('http-echo');
  await nclust.start({ name: 'api', script, env: { PORT: '0' } });
  for (const call of ['list', 'restart', 'reload']) {
    const { keeperPid, controlPid } = await nclust.hello();
    process.kill(controlPid, 'SIGSTOP');
    const asked = nclust[call]('all');
    process.kill(keeperPid, 'SIGKILL');
    process.kill(controlPid, 'SIGCONT');
    expect([call, await asked]).toMatchObject([call, [{ name: 'api' }]]);
    await home.waitFor('the next keeper and its instance', async () => {
      const [{ status, pid }] = await nclust.list();
      return (
        (await nclust.hello()).keeperPid !== keeperPid &&
        status === 'online' &&
        home.processes().some((one) => one.role === 'keeper' && one.pid !== keeperPid) &&
        pid > 0
      );
    });
  }
});

test('events and followed lines survive a kill of control, and end with the manager', async () => {
  const home = await sandbox();
  const nclust = await open(home);
  const script = home.place('ticks');
  await nclust.start({ name: 'api', script: home.place('has-actions') });
  const missed = [];
  const events = [];
  const lines = [];
  const following = nclust.events({ onMissed: (count) => missed.push(count) });
  const reading = nclust.logs({ targets: 'api', follow: true });
  const ended = Promise.all([
    (async () => {
      for await (const event of following) events.push(event);
    })(),
    (async () => {
      for await (const { line } of reading) lines.push(line);
    })(),
  ]);
  await Promise.all([following.ready, reading.ready]);
  process.kill((await nclust.hello()).controlPid, 'SIGKILL');
  await home.waitFor('the events to continue', () => missed.length > 0);
  expect(missed).toEqual([null]);
  await nclust.start({ name: 'ticks', script });
  await nclust.send('api', 'afterwards');
  await home.waitFor(
    'the start event and the line',
    () =>
      events.some(({ event, process }) => event === 'start' && process.name === 'ticks') &&
      lines.some((line) => line.includes('afterwards')),
  );
  expect(lines.filter((line) => line.includes(' runs'))).toHaveLength(1);
  await nclust.kill();
  await within('their end', ended, 10_000);
});

test(
  '100 clients at once query and change apps, and each gets its own answers',
  async () => {
    const home = await sandbox();
    const first = await open(home);
    await first.start({ name: 'api', script: home.place('has-actions') });
    const clients = await Promise.all(Array.from({ length: 100 }, () => open(home)));
    const answers = await Promise.all(
      clients.map(async (nclust, at) => {
        const events = nclust.events({ types: ['said:again'] });
        await events.ready;
        const slots = await nclust.list();
        await nclust.set('logs.max_files', String(at + 1));
        return { nclust, events, names: slots.map(({ name }) => name) };
      }),
    );
    expect(new Set(answers.map(({ names }) => names.join()))).toEqual(new Set(['api']));
    await first.sendMessage('api', { topic: 'say', data: 'all' });
    const heard = await within('everybody to hear it', Promise.all(answers.map(({ events }) => events.next())), 20_000);
    expect(new Set(heard.map(({ value }) => value.data))).toEqual(new Set(['all']));

    const { controlPid } = await first.hello();
    process.kill(controlPid, 'SIGSTOP');
    const under = clients.map((nclust, at) =>
      at % 10 === 0 ? nclust.start({ name: `app-${at}`, script: home.place('keeps-alive') }) : nclust.describe('api'),
    );
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    process.kill(controlPid, 'SIGKILL');
    const settled = await Promise.allSettled(under);
    expect(settled.filter(({ status }) => status === 'rejected')).toEqual([]);
    expect(await first.list()).toHaveLength(11);
    await Promise.all(clients.map((nclust) => nclust.close()));
  },
  120_000 * slowdown(),
);
