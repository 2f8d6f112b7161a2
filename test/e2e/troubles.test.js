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
