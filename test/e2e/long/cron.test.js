import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sandbox } from '../../helpers/sandbox.js';
import { detailOf, triggered, untilTriggered } from '../../helpers/triggers.js';

const EVERY_SECOND = '* * * * * *';

test('cron replaces all instances each second, and describe shows the next time', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { instances: 2, flags: ['--min-uptime', '100', '--cron', EVERY_SECOND] });
  await home.waitFor('three cron reloads', () => triggered(home).length >= 3, { deadlineMs: 20_000 });
  expect(new Set(triggered(home))).toEqual(new Set([`cron: ${EVERY_SECOND}`]));
  const deaths = (await detailOf(home, app.name)).deaths ?? [];
  expect(deaths.length).toBeGreaterThan(0);
  expect(deaths).toEqual(deaths.map(() => expect.objectContaining({ cause: 'reload', by: `cron: ${EVERY_SECOND}` })));
  expect((await home.nclust('describe', app.name)).stdout).toMatch(
    /cron restart +│ \* \* \* \* \* \*, next \d\d:\d\d:\d\d /,
  );
  expect(JSON.parse((await home.nclust('jlist')).stdout)[0].pm2_env.cron_restart).toBe(EVERY_SECOND);
});

test('--cron 0 ends it, and a stopped app stays stopped at its cron time', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo', { flags: ['--min-uptime', '100', '--cron-restart', EVERY_SECOND] });
  await home.waitFor('the first cron reload', () => triggered(home).length >= 1);
  expect(await home.nclust('stop', app.name)).toMatchObject({ exitStatus: 0 });
  home.place('keeps-alive');
  expect(await home.nclust('start', 'keeps-alive.js', '--cron', EVERY_SECOND)).toMatchObject({ exitStatus: 0 });
  await untilTriggered(home, 'keeps-alive', /cron/);
  expect(await app.instances()).toMatchObject([{ status: 'stopped', pid: 0 }]);
  expect(await home.nclust('restart', app.name, '--cron', '0')).toMatchObject({ exitStatus: 0 });
  expect((await detailOf(home, app.name)).triggers.nextRunMs).toBeNull();
});

test('a job with --no-autorestart runs again at each cron time', async () => {
  const home = await sandbox();
  const script = join(home.work, 'job.js');
  writeFileSync(script, 'console.log("job")');
  expect(await home.nclust('start', script, '--no-autorestart', '--cron', EVERY_SECOND)).toMatchObject({
    exitStatus: 0,
  });
  const [{ outFile }] = await home.list();
  const runs = () => readFileSync(outFile, 'utf8').split('\n').length - 1;
  await home.waitFor('three runs', () => runs() >= 3, { deadlineMs: 20_000 });
  expect((await home.list())[0].restarts).toBe(0);
  expect(await home.nclust('stop', 'job')).toMatchObject({ exitStatus: 0 });
});

test.each([
  ['99 * * * *', 'Invalid value for minute: 99'],
  ['every day', 'five, six, or seven'],
  ['0 0 30 2 *', 'no date matches it'],
])('the pattern %j is refused with what is wrong', async (pattern, why) => {
  const home = await sandbox();
  home.place('keeps-alive');
  const result = await home.nclust('start', 'keeps-alive.js', '--cron', pattern);
  expect(result).toMatchObject({ exitStatus: 2, stderr: expect.stringContaining(why) });
});
