import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { takePort } from '../../../helpers/ports.js';
import { isRunning } from '../../../helpers/processes.js';
import { sandbox } from '../../../helpers/sandbox.js';
import { askRaw } from '../../../helpers/static-server.js';
import { changed, printed, QUICK, refused, said } from './expected.js';

const textOf = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : '');

test('save and dump write the list, resurrect restores it, and kill ends everything', async () => {
  const home = await sandbox();
  const dump = join(home.home, 'dump.json');
  const script = home.place('keeps-alive');
  for (const name of ['runs', 'rests']) await home.nclust('start', script, '--name', name, ...QUICK);
  await home.nclust('stop', 'rests');
  const saved = { exitStatus: 0, stdout: `${dump}\n`, stderr: 'Saved 2 apps.\n' };
  for (const command of ['save', 'dump']) expect(await home.nclust(command)).toMatchObject(saved);
  expect(statSync(dump).mode & 0o777).toBe(0o600);
  const before = textOf(dump);

  await home.nclust('delete', 'all');
  expect(await home.nclust('save')).toMatchObject(refused(1, 'There is nothing to save: the list is empty.'));
  expect(textOf(dump)).toBe(before);
  expect(await home.nclust('resurrect')).toMatchObject(changed('Restored "runs", "rests".'));
  expect(await home.list()).toMatchObject([
    { name: 'runs', status: 'online' },
    { name: 'rests', status: 'stopped' },
  ]);
  expect(await home.nclust('resurrect')).toMatchObject(changed('Restored nothing.'));

  await home.nclust('delete', 'all');
  expect(await home.nclust('save', '--force')).toMatchObject({
    exitStatus: 0,
    stdout: `${dump}\n`,
    stderr: 'Saved 0 apps.\n',
  });
  await home.nclust('start', script, '--name', 'runs', ...QUICK);
  const [{ pid }] = await home.list();
  expect(await home.nclust('kill')).toMatchObject(said('All apps and the manager have exited.\n'));
  expect([isRunning(pid), home.processes()]).toEqual([false, []]);
  expect(await home.nclust('kill')).toMatchObject(said(`No nclust runs in ${home.home}; there is nothing to stop.\n`));
});

test('update and updatePM2 restart no worker', async () => {
  const home = await sandbox();
  await home.nclust('start', home.place('keeps-alive'), '--name', 'runs', ...QUICK);
  const [{ pid }] = await home.list();
  for (const command of ['update', 'updatePM2'])
    expect(await home.nclust(command)).toMatchObject(said(/^nclust \S+ runs already; nothing was replaced\.\n$/));
  expect(await home.list()).toMatchObject([{ pid, status: 'online' }]);
});

test('flush empties log files, and reloadLogs reopens them', async () => {
  const home = await sandbox();
  const script = home.place('runs-code');
  const env = { CODE: 'let n = 0; process.on("SIGUSR2", () => say(++n)); say("there"); setInterval(() => {}, 1e6);' };
  for (const name of ['one', 'two']) await home.nclust('start', script, '--name', name, ...QUICK, { env });
  const [one, two] = await home.list();
  await home.waitFor('the first line of both apps', () =>
    [one, two].every(({ outFile }) => textOf(outFile) === 'runs-code there\n'),
  );

  expect(await home.nclust('flush', 'one')).toMatchObject(printed(new RegExp(`^Flushed ${one.outFile} \\(16b\\)\n$`)));
  expect([textOf(one.outFile), textOf(two.outFile)]).toEqual(['', 'runs-code there\n']);
  const all = await home.nclust('flush');
  expect(all).toMatchObject(printed(/^Flushed .*Flushed .*nclust\.log/s));
  expect(textOf(two.outFile)).toBe('');

  renameSync(two.outFile, `${two.outFile}.1`);
  expect(await home.nclust('reloadLogs')).toMatchObject(said('All log files were reopened.\n'));
  await home.nclust('sendSignal', 'SIGUSR2', 'two');
  await home.waitFor('a line in the new file', () => textOf(two.outFile) === 'runs-code 1\n');
  expect(textOf(`${two.outFile}.1`)).toBe('');
});

test('init and ecosystem write a config file, simple or full', async () => {
  const home = await sandbox();
  const file = join(home.work, 'ecosystem.config.js');
  const written = (path) => ({
    exitStatus: 0,
    stdout: `${path}\n`,
    stderr: expect.stringContaining('then: nclust start\n'),
  });
  expect(await home.nclust('init', 'simple')).toMatchObject(written(file));
  expect(textOf(file).split('\n').length).toBeLessThan(12);
  expect(await home.nclust('ecosystem')).toMatchObject(refused(1, 'it was not changed'));
  mkdirSync(join(home.work, 'sub'));
  expect(await home.nclust('ecosystem', { cwd: join(home.work, 'sub') })).toMatchObject(
    written(join(home.work, 'sub/ecosystem.config.js')),
  );
  expect(textOf(join(home.work, 'sub/ecosystem.config.js'))).toMatch(/deploy/);
});

test('completion install adds completion to the shell, and uninstall removes it', async () => {
  const home = await sandbox();
  const file = join(String(home.env.HOME), '.bashrc');
  writeFileSync(file, 'alias ll="ls -l"\n');
  expect(await home.nclust('completion', 'install', 'bash')).toMatchObject(
    printed(`Written to ${file}; completion works in every new bash.\n`),
  );
  expect(textOf(file)).toMatch(/^alias ll="ls -l"\n[^]*nclust/);
  expect(await home.nclust('completion', 'uninstall', 'bash')).toMatchObject(printed(`Removed from ${file}\n`));
  expect(textOf(file)).toBe('alias ll="ls -l"\n');
});

test('startup and unstartup take --user, --hp, --service-name and --wait-ip', async () => {
  const home = await sandbox();
  const shown = await home.nclust(
    'startup',
    'systemd',
    '-u',
    'root',
    '--hp',
    '/srv/deploy',
    '--service-name',
    'web',
    '--wait-ip',
    '--print',
  );
  expect(shown).toMatchObject(printed(/^# \/etc\/systemd\/system\/web\.service$/m));
  expect(shown.stdout).toMatch(/^User=root$.*^ExecStart=\/bin\/sh \/srv\/deploy\/\.nclust\/launcher\.sh daemon$/ms);
  expect(shown.stdout).toMatch(/^After=network-online\.target$/m);
  expect(
    await home.nclust('unstartup', 'systemd', '-u', 'root', '--hp', '/srv/deploy', '--service-name', 'web', '--print'),
  ).toMatchObject(printed(/systemctl disable web/));
  expect(await home.nclust('startup', 'no-such-platform', '--print')).toMatchObject(refused(2, 'no-such-platform'));
  expect(existsSync(home.home)).toBe(false);
});

test('serve and expose take --port, --spa, --ftp, --monitor and the two --basic-auth options', async () => {
  const home = await sandbox();
  mkdirSync(join(home.work, 'dist/files'), { recursive: true });
  writeFileSync(join(home.work, 'dist/index.html'), 'home');
  const [one, two] = [await takePort(), await takePort()];
  const served = (port, name) =>
    changed(`${join(home.work, 'dist')} is served on http://0.0.0.0:${port}\nStarted "${name}".`);
  expect(await home.nclust('serve', 'dist', String(one), '--spa')).toMatchObject(
    served(one, `static-page-server-${one}`),
  );
  expect(await askRaw(one, '/any/page', { headers: { accept: 'text/html' } })).toMatchObject({
    status: 200,
    body: 'home',
  });
  const result = await home.nclust(
    'expose',
    'dist',
    '--port',
    String(two),
    '--ftp',
    '--basic-auth-username',
    'ann',
    '--basic-auth-password',
    'secret',
    '-n',
    'site',
    '--monitor',
  );
  expect(result).toMatchObject({
    exitStatus: 0,
    stdout: expect.stringContaining('site'),
    stderr: expect.stringMatching(/--monitor has no effect.*Started "site"\.\n$/s),
  });
  expect(await askRaw(two, '/')).toMatchObject({ status: 401 });
  expect(
    await askRaw(two, '/files/', {
      headers: { authorization: `Basic ${Buffer.from('ann:secret').toString('base64')}` },
    }),
  ).toMatchObject({ status: 200 });
});
