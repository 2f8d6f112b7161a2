import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fixturePath } from '../../helpers/fixtures.js';
import { takePort } from '../../helpers/ports.js';
import { environmentOf } from '../../helpers/processes.js';
import { sandbox } from '../../helpers/sandbox.js';

/** A home of PM2. The programs in its list exist, and their ports are free. */
async function pm2Home(home) {
  const folder = join(home.work, '.pm2');
  mkdirSync(folder);
  mkdirSync(join(home.work, 'site'));
  writeFileSync(join(home.work, 'site/index.html'), 'hello');
  home.place('http-echo.js', 'api.js');
  home.place('ticks.js', 'tick.js');
  writeFileSync(join(home.work, 'worker.py'), 'import time\nwhile True: time.sleep(1)\n');
  const port = await takePort();
  const sitePort = await takePort();
  const place = (name) =>
    readFileSync(fixturePath(`pm2/${name}`), 'utf8')
      .replaceAll('/srv/apps', home.work)
      .replaceAll('34561', String(port))
      .replaceAll('34577', String(sitePort))
      .replaceAll(/"PATH": ?"[^"]*"/g, `"PATH":${JSON.stringify(process.env.PATH)}`)
      .replaceAll('"HOME": "/home/deploy"', `"HOME": ${JSON.stringify(home.env.HOME)}`);
  writeFileSync(join(folder, 'dump.pm2'), place('dump.pm2'));
  home.env.PM2_HOME = folder;
  return { folder, port, sitePort, place };
}

const FOUND = ['api', 'bin', 'old', 'shell', 'site', 'tick', 'twin', 'twin-2', 'worker'];

test('import pm2 --dry-run lists the apps without their secrets, and starts nothing', async () => {
  const home = await sandbox();
  await pm2Home(home);
  const result = await home.nclust('import', 'pm2', '--dry-run');
  expect(result.exitStatus).toBe(0);
  expect(
    result.stdout
      .trim()
      .split('\n')
      .map((line) => line.split(' ')[0])
      .sort(),
  ).toEqual(FOUND);
  expect(result.stdout).toMatch(/^api \(cluster, 2 instances\): .*DB_PASSWORD/m);
  expect(result.stdout).toMatch(/^old \(fork, stopped\)/m);
  expect(result.stdout + result.stderr).not.toContain('s3cret');
  expect(home.processes()).toEqual([]);
});

test('import pm2 takes over running and stopped apps of the saved list, and does nothing the second time', async () => {
  const home = await sandbox();
  const { port } = await pm2Home(home);
  const result = await home.nclust('import', 'pm2');
  expect(result, result.stderr).toMatchObject({ exitStatus: 0 });
  const list = await home.list();
  expect([...new Set(list.map(({ name }) => name))].sort()).toEqual(FOUND);
  expect(
    list
      .filter(({ status }) => status === 'stopped')
      .map(({ name }) => name)
      .sort(),
  ).toEqual(['bin', 'old', 'shell']);
  expect(list.filter(({ status }) => status === 'online')).toHaveLength(7);
  const api = list.filter(({ name }) => name === 'api');
  expect(api).toMatchObject([
    { mode: 'cluster', addresses: [{ port }] },
    { mode: 'cluster', addresses: [{ port }] },
  ]);
  const env = environmentOf(api[0].pid);
  expect(env).toMatchObject({
    DB_PASSWORD: 's3cret=with "quotes"',
    NESTED: '{"a":1}',
    PM2_HOME: home.home,
    NODE_APP_INSTANCE: '0',
  });
  expect(Object.keys(env).filter((name) => /^(PM2_(?!HOME)|unique_id|api$|axm_|pm_(?!id))/.test(name))).toEqual([]);

  const again = await home.nclust('import', 'pm2');
  expect(again).toMatchObject({ exitStatus: 0, stdout: '' });
  expect(again.stderr).toMatch(/"api" is in the list already.*There is nothing to take over/s);
  expect(await home.list()).toMatchObject(list.map(({ name, pid }) => ({ name, pid })));
});

test('import pm2 --live asks the running PM2, names the command that ends it, and leaves it running', async () => {
  const home = await sandbox();
  const { folder, place } = await pm2Home(home);
  const list = place('jlist.json');
  mkdirSync(join(home.work, 'bin'));
  writeFileSync(join(home.work, 'live.json'), list);
  writeFileSync(
    join(home.work, 'bin/pm2'),
    `#!/bin/sh\necho "$@" >> ${home.work}/pm2.told\nprintf '[PM2] Spawning\\n\\n'\ncat ${home.work}/live.json\n`,
    { mode: 0o755 },
  );
  home.env.PATH = `${home.work}/bin:${home.env.PATH}`;
  const idle = await home.nclust('import', 'pm2', '--live', '--dry-run');
  expect(idle).toMatchObject({ exitStatus: 1, stdout: '' });
  expect(idle.stderr).toMatch(/PM2 does not run/);

  writeFileSync(join(folder, 'pm2.pid'), String(process.pid));
  const result = await home.nclust('import', 'pm2', '--live');
  expect(result, result.stderr).toMatchObject({ exitStatus: 0 });
  expect(result.stderr).toMatch(/PM2 still runs.*pm2 kill/);
  expect(readFileSync(join(home.work, 'pm2.told'), 'utf8')).toBe('jlist\n');
  expect([...new Set((await home.list()).map(({ name }) => name))].sort()).toEqual(FOUND);
});

test('import pm2 with a missing program takes over the other apps, names the missing one, and exits 1', async () => {
  const home = await sandbox();
  await pm2Home(home);
  const list = JSON.parse(readFileSync(join(home.work, '.pm2/dump.pm2'), 'utf8')).filter((one) =>
    ['old', 'worker'].includes(one.name),
  );
  list[0].pm_exec_path = '/srv/gone.py';
  writeFileSync(join(home.work, 'list.json'), JSON.stringify(list));
  const result = await home.nclust('import', 'pm2', 'list.json');
  expect(result.exitStatus).toBe(1);
  expect(result.stderr).toMatch(/"worker" cannot be taken over: .*\/srv\/gone\.py/);
  expect((await home.list()).map(({ name, status }) => `${name} ${status}`)).toEqual(['old stopped']);
});

test.each([
  [['import', 'systemd'], 2, /accepted: pm2/],
  [['import', 'pm2', 'x.json', '--live'], 2, /accepted: one of the two/],
  [['import', 'pm2', 'nothing.json'], 1, /does not exist.*--live/s],
])('the command %j is refused', async (words, exitStatus, said) => {
  const home = await sandbox();
  const result = await home.nclust(...words);
  expect(result).toMatchObject({ exitStatus, stdout: '' });
  expect(result.stderr).toMatch(said);
});
