import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sandbox } from '../helpers/sandbox.js';
import { loopbackPorts, takePort } from '../helpers/ports.js';

test('why without an app names each sick app with its cause and the next command, until it is cured', async () => {
  const home = await sandbox();
  const healthy = await home.app('http-echo', { name: 'healthy' });
  const start = (fixture, name, env) =>
    home.nclust('start', home.place(fixture), '--name', name, '--no-wait', { env: { ...env } });
  await start('crashes-after', 'crashes', { AFTER_MS: '300' });
  await start('loops-after-listening', 'blocks', { PORT: String(await takePort()) });
  await start('swallows-listen-errors', 'port', { PORT: String(healthy.port), STAYS: '1' });
  const kinds = async () => (await home.nclust('why', '--json')).json().map(({ app, kind }) => `${app}: ${kind}`);
  const sick = ['blocks: loop-blocked', 'crashes: crash-loop', 'port: port-taken'];
  await home.waitFor('the troubles', async () => (await kinds()).sort().join() === sick.join());
  const { stdout, exitStatus } = await home.nclust('why');
  expect(exitStatus).toBe(1);
  expect(stdout).toMatch(/^bad +blocks +does not answer: its event loop has been blocked for \d+s/m);
  expect(stdout).toMatch(/^ +nclust stack blocks$/m);
  expect(stdout).toMatch(/^bad +crashes +crashed \d+ times within .*exited with code 1.*crashes now"/m);
  expect(stdout).toMatch(/^bad +port +could not listen on port \d+, which the app "healthy" holds/m);
  const list = await home.nclust('list');
  expect(list.stdout).toMatch(/\n3 apps need attention: nclust why\n$/);
  expect(list.stdout.split('\n').filter((line) => line.includes(' ! '))).toHaveLength(3);
  expect((await home.nclust('doctor', '--json')).json().findings.filter(({ level }) => level === 'bad')).toHaveLength(
    3,
  );
  await home.nclust('delete', 'crashes', 'blocks', 'port');
  expect(await home.nclust('why')).toMatchObject({ exitStatus: 0, stdout: 'Nothing needs attention.\n' });
  const types = (await home.nclust('events', '--nostream', '--json', '--type', 'trouble:*')).stdout;
  expect(types.match(/trouble:began/g)).toHaveLength(3);
  expect(types.match(/trouble:ended/g)).toHaveLength(3);
});

test('a signal from outside is not a crash, and each screen shows it at the same local time', async () => {
  const home = await sandbox({ env: { TZ: 'Asia/Kolkata' } });
  const app = await home.app('http-echo', { name: 'api' });
  const kill = async (signal) => {
    const [{ pid, restarts }] = await home.list();
    process.kill(pid, signal);
    await home.waitFor('the restart', async () => {
      const [slot] = await home.list();
      return slot.restarts > restarts && slot.status === 'online';
    });
  };
  await kill('SIGTERM');
  await kill('SIGKILL');
  await kill('SIGTERM');
  const [{ lastDeath, onlineSinceMs, ...slot }] = await home.list();
  expect(slot).toMatchObject({ restarts: 3, crashes: 0, unstableRestarts: expect.any(Number), troubles: [] });
  const clock = (atMs) => new Date(atMs).toLocaleTimeString('en-GB', { timeZone: 'Asia/Kolkata' });
  const ended = 'was ended by SIGTERM from outside after';
  for (const words of [
    ['describe', 'api'],
    ['why', 'api'],
    ['events', 'api', '--nostream'],
  ]) {
    const { stdout } = await home.nclust(...words);
    expect(stdout, words.join(' ')).toContain(ended);
    expect(stdout, words.join(' ')).toContain(clock(lastDeath.atMs));
    expect(stdout, words.join(' ')).not.toMatch(/crashed|crashing|T\d\d:\d\d:\d\d/);
  }
  expect((await home.nclust('why', 'api')).stdout).toContain(`online since ${clock(onlineSinceMs)}`);
  expect((await home.nclust('describe', 'api')).stdout).toMatch(/; 3 restarts, 0 crashes\..*│ crashes +│ 0 /s);
  expect((await home.nclust('list')).stdout).not.toContain('attention');
  expect((await home.nclust('why')).stdout).toBe('Nothing needs attention.\n');
  await home.nclust('sendSignal', 'SIGTERM', 'api');
  await home.waitFor('the restart', async () => (await home.list())[0].restarts === 4);
  expect((await home.nclust('why', 'api')).stdout).toContain('was ended by SIGTERM, which nclust sendSignal sent');
  expect((await home.list())[0]).toMatchObject({ crashes: 0, troubles: [] });
  await app.get();
});

test.runIf(process.platform === 'linux')(
  'why and events name the code that blocked a loop, also when the loop turns again',
  async () => {
    const home = await sandbox();
    const until = join(home.work, 'until');
    const app = await home.app('spins', { name: 'api', env: { UNTIL: until } });
    const [pid] = await app.pids();
    // The report shows that the app does not handle SIGUSR1.
    const readWorker = async () => (await home.nclust('monit', '--json')).json().workers[0];
    await home.waitFor('a report', async () => (await readWorker()).heapUsedBytes !== null);
    await app.get('/spin');
    const findFrame = async () => (await home.nclust('why', '--json')).json()[0]?.evidence.frame;
    await home.waitFor('the frame', findFrame, { deadlineMs: 30_000 });
    const [{ evidence }] = (await home.nclust('why', '--json')).json();
    const { where, isEarlier, stack } = evidence.frame;
    expect(isEarlier).toBe(false);
    expect(where).toMatch(/^spin(?:UntilThere)? \(spins\.js:\d+\)$/);
    const line =
      readFileSync(app.script, 'utf8')
        .split('\n')
        .findIndex((one) => one.includes('while (!fs.exists')) + 1;
    expect(stack.join('\n')).toContain(`spinUntilThere (${app.script}:${line}:`);
    const { stdout } = await home.nclust('why');
    expect(stdout).toContain(`its event loop has been blocked for`);
    expect(stdout).toContain(`, in ${where}`);
    writeFileSync(until, '');
    expect(await app.get()).toEqual({ pid });
    const events = async () => (await home.nclust('events', '--nostream', '--type', 'trouble:ended')).stdout;
    await home.waitFor('the end of the trouble', async () => (await events()) !== '');
    expect(await events()).toContain(`it had a blocked event loop, in ${where}`);
    // Because of the signal, Node.js opens its inspector once more when the event loop runs again.
    await home.waitFor('the inspector to be closed', () => loopbackPorts(pid).every((port) => port === app.port));
    expect((await home.nclust('logs', 'api', '--nostream')).stdout).not.toMatch(/Debugger|For help/);
  },
);

test.runIf(process.platform === 'linux')(
  'an app that handles SIGUSR1 gets no signal when its loop blocks',
  async () => {
    const home = await sandbox();
    const until = join(home.work, 'until');
    const code = `
    process.on('SIGUSR1', () => console.log('it got SIGUSR1'));
    const { existsSync } = require('node:fs');
    setTimeout(() => { while (!existsSync(process.env.UNTIL)); console.log('it is free'); }, 3_000);
    setInterval(() => {}, 1_000_000);`;
    await home.nclust('start', home.place('runs-code'), '--name', 'own', { env: { CODE: code, UNTIL: until } });
    const managerLog = () => readFileSync(join(home.home, 'nclust.log'), 'utf8');
    await home.waitFor('the refusal', () => managerLog().includes('handles SIGUSR1 itself'), {
      deadlineMs: 30_000,
    });
    writeFileSync(until, '');
    const output = async () => (await home.nclust('logs', 'own', '--nostream')).stdout;
    await home.waitFor('the end of the block', async () => (await output()).includes('it is free'));
    expect(await output()).not.toContain('it got SIGUSR1');
  },
);
