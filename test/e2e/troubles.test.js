import { expect, test } from 'vitest';
import { sandbox } from '../helpers/sandbox.js';
import { takePort } from '../helpers/ports.js';

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
