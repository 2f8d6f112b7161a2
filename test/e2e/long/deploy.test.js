import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSite } from '../../helpers/deployment.js';
import { pattern } from '../../helpers/pattern.js';
import { takePort } from '../../helpers/ports.js';
import { fetchOnce } from '../../helpers/sandbox-app.js';
import { sandbox } from '../../helpers/sandbox.js';

const isLink = (path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

const HOOK = (name) => `echo "$(pwd) $WORD" > "$HOME/${name}"`;

test('setup makes the first release current, update the next one, and hooks run in the right folder', async () => {
  const home = await sandbox();
  const site = createSite(home);
  const first = site.commit({ 'app.js': 'one', 'package.json': '{}' });
  site.configure({
    port: 2222,
    key: '~/.ssh/id',
    ssh_options: ['StrictHostKeyChecking=no', 'ForwardAgent=yes'],
    env: { WORD: "it's $HOME" },
    shared: ['.env', 'uploads/'],
    'pre-setup': HOOK('pre-setup'),
    'post-setup': HOOK('post-setup'),
    'pre-deploy': HOOK('pre-deploy'),
    'post-deploy': `${HOOK('post-deploy')}; echo "PWD is $PWD"`,
    'pre-deploy-local': 'echo "$WORD" > local.txt',
  });
  const hostHome = join(home.work, 'hosts/web1');
  const read = (name) => readFileSync(join(hostHome, name), 'utf8').trim();

  expect(await site.deploy('setup')).toMatchObject({
    exitStatus: 0,
    stdout: '',
    stderr: expect.stringContaining(`origin/main is ${first}`),
  });
  const [one] = site.releases();
  expect(one).toMatch(new RegExp(`^\\d{14}-${first.slice(0, 7)}$`));
  expect(site.current()).toBe(one);
  expect(readlinkSync(join(site.root(), 'source'))).toBe('current');
  expect(site.read('source/app.js')).toBe('one');
  expect([read('pre-setup'), read('post-setup')]).toEqual([
    `${hostHome} it's $HOME`,
    `${site.root()}/current it's $HOME`,
  ]);
  expect(existsSync(join(hostHome, 'post-deploy'))).toBe(false);
  expect(await site.deploy('setup')).toMatchObject({ exitStatus: 0, stderr: 'web1 is already set up.\n' });

  writeFileSync(join(site.root(), 'shared/.env'), 'SECRET=1');
  const second = site.commit({ 'app.js': 'two' });
  const result = await site.deploy();
  expect(result).toMatchObject({
    exitStatus: 0,
    stdout: `PWD is ${site.root()}/current\n`,
    stderr: expect.stringContaining('web1 runs '),
  });
  expect(site.releases()).toHaveLength(2);
  expect(site.current()).toContain(second.slice(0, 7));
  expect([site.read('current/app.js'), site.read('current/.env')]).toEqual(['two', 'SECRET=1']);
  expect(readlinkSync(join(site.root(), 'current/uploads'))).toBe(join(site.root(), 'shared/uploads'));
  expect([read('pre-deploy'), read('post-deploy')]).toEqual([
    `${site.root()}/releases/${site.current()} it's $HOME`,
    `${site.root()}/current it's $HOME`,
  ]);
  expect(readFileSync(join(home.work, 'local.txt'), 'utf8')).toBe("it's $HOME\n");
  for (const call of site.calls())
    expect(call.slice(0, -1)).toEqual([
      '-p',
      '2222',
      '-i',
      '~/.ssh/id',
      '-o',
      'StrictHostKeyChecking=no',
      '-o',
      'ForwardAgent=yes',
      'deploy@web1',
    ]);
});

test('a failing hook leaves or restores the previous release, and deploy exits 1', async () => {
  const home = await sandbox();
  const site = createSite(home);
  site.commit({ 'app.js': 'one' });
  site.configure();
  await site.deploy('setup');
  const before = site.current();
  site.commit({ 'app.js': 'two' });

  site.configure({ 'pre-deploy-local': 'echo no local build; exit 7', 'pre-deploy': 'touch "$HOME/touched"' });
  expect(await site.deploy()).toMatchObject({
    exitStatus: 1,
    stdout: 'no local build\n',
    stderr: expect.stringContaining('"pre-deploy-local" exited with 7. Nothing was changed'),
  });
  expect(existsSync(join(home.work, 'hosts/web1/touched'))).toBe(false);

  site.configure({ 'pre-deploy': 'echo no build >&2; exit 4', 'post-deploy': 'touch "$HOME/touched"' });
  expect(await site.deploy()).toMatchObject({
    exitStatus: 1,
    stdout: '',
    stderr: expect.stringMatching(
      /^no build$[^]*"pre-deploy" exited with 4\.\n {2}web1: nothing was switched; "current" leads to .*, as before\./m,
    ),
  });
  expect(site.current()).toBe(before);
  expect(existsSync(join(home.work, 'hosts/web1/touched'))).toBe(false);

  site.configure({ 'post-deploy': 'cat app.js; exit 5' });
  expect(await site.deploy()).toMatchObject({
    exitStatus: 1,
    stdout: 'two\n',
    stderr: expect.stringMatching(
      new RegExp(`"post-deploy" exited with 5\\.\n {2}web1: "current" leads to ${before} again`),
    ),
  });
  expect(site.current()).toBe(before);
  expect((await site.deploy('list')).stdout.trim().split('\n')).toHaveLength(1);

  site.configure({ 'post-deploy': 'no-such-program' });
  expect(await site.deploy()).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringMatching(/exited with 127[^]*next: A program was not found on web1/),
  });
  site.configure();
  expect(await site.deploy()).toMatchObject({ exitStatus: 0 });
  // This deploy has removed the failed releases, because they are not in the history.
  expect(site.releases()).toHaveLength(2);
});

test.each([
  ['fails', 'exit 1'],
  ['succeeds', 'exit 0'],
])('a host finishes the deployment when deploy is killed during a hook that %s', async (_how, end) => {
  const home = await sandbox();
  const site = createSite(home);
  const hostHome = join(home.work, 'hosts/web1');
  site.commit({ 'app.js': 'one' });
  site.configure();
  await site.deploy('setup');
  const before = site.current();
  site.commit({ 'app.js': 'two' });
  site.configure({ 'post-deploy': `touch "$HOME/begun"; while [ ! -e "$HOME/go" ]; do sleep 0.05; done; ${end}` });
  const command = site.follow();
  await home.waitFor('the hook to start', () => existsSync(join(hostHome, 'begun')));
  const after = site.current();
  expect(after).not.toBe(before);
  command.child.kill('SIGKILL');
  await command.done;
  writeFileSync(join(hostHome, 'go'), '');
  if (end === 'exit 1')
    await home.waitFor('the link to point to the previous release', () => site.current() === before);
  else await home.waitFor('the release to be in the list', () => site.read('.history').endsWith(`${after}\n`));
  await home.waitFor('the connection to close', () => home.processes().length === 0);
});

test('a setup whose last hook fails does not count, and the next setup starts again', async () => {
  const home = await sandbox();
  const site = createSite(home);
  site.commit({ 'app.js': 'one' });
  site.configure({ 'post-setup': 'exit 3' });
  expect(await site.deploy('setup')).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringContaining('"post-setup" exited with 3'),
  });
  expect(site.current()).toBe(null);
  site.configure({ 'post-setup': 'true' });
  expect(await site.deploy('setup')).toMatchObject({ exitStatus: 0 });
  expect(site.current()).not.toBe(null);
});

test('a second deployment to a locked host is refused, and the error names who holds the lock', async () => {
  const home = await sandbox();
  const site = createSite(home, { hosts: ['web1', 'web2'] });
  const hostHome = join(home.work, 'hosts/web2');
  site.commit({ 'app.js': '1' });
  site.configure();
  await site.deploy('setup');
  const before = site.current();
  site.commit({ 'app.js': '2' });
  site.configure({ 'pre-deploy': 'touch "$HOME/begun"; while [ ! -e "$HOME/go" ]; do sleep 0.05; done' });
  const first = site.follow('--parallel', { env: { USER: 'ann' } });
  await home.waitFor('the hook to start', () => existsSync(join(hostHome, 'begun')));

  site.configure();
  for (const words of [[], ['revert'], ['--parallel'], ['main']]) {
    const locked = await site.deploy(...words);
    expect(locked).toMatchObject({
      exitStatus: 1,
      stderr: expect.stringMatching(
        pattern(
          /failed on web1: it is locked by ann@\S+ since \d{4}-[^]*nothing was switched[^]*/,
          /If it no longer runs: nclust deploy production unlock/,
        ),
      ),
    });
  }
  expect([site.current('web1'), site.current('web2')]).toEqual([before, before]);
  expect((await site.deploy('list')).exitStatus).toBe(0);

  for (const host of ['web1', 'web2']) writeFileSync(join(home.work, 'hosts', host, 'go'), '');
  expect((await first.done).exitStatus).toBe(0);
  expect([site.read('current/app.js', 'web1'), site.read('current/app.js', 'web2')]).toEqual(['2', '2']);
  expect(await site.deploy('revert')).toMatchObject({ exitStatus: 0 });
});

test.each([
  ['Ctrl-C during a build', 'SIGINT', 'pre-deploy'],
  ['Ctrl-C during a switch that then finishes', 'SIGINT', 'post-deploy'],
  ['SIGKILL during a switch that then finishes', 'SIGKILL', 'post-deploy'],
])('the host is not locked after %s', async (_what, signal, hook) => {
  const home = await sandbox();
  const site = createSite(home);
  const hostHome = join(home.work, 'hosts/web1');
  site.commit({ 'app.js': '1' });
  site.configure();
  await site.deploy('setup');
  site.configure({ [hook]: 'touch "$HOME/begun"; while [ ! -e "$HOME/go" ]; do sleep 0.05; done' });
  const command = site.follow();
  await home.waitFor('the hook to start', () => existsSync(join(hostHome, 'begun')));
  command.child.kill(signal);
  expect((await command.done).exitStatus).toBe(signal === 'SIGINT' ? 1 : null);
  site.configure();
  if (hook === 'post-deploy')
    expect(await site.deploy()).toMatchObject({ exitStatus: 1, stderr: expect.stringContaining('it is locked by') });
  writeFileSync(join(hostHome, 'go'), '');
  await home.waitFor('the lock to be removed', () => !isLink(join(site.root(), '.lock')));
  expect(await site.deploy()).toMatchObject({ exitStatus: 0 });
  await home.waitFor('the connection to close', () => home.processes().length === 0);
});

test('unlock removes a lock that a killed deploy has left, and a failed deployment leaves none', async () => {
  const home = await sandbox();
  const site = createSite(home);
  site.commit({ 'app.js': '1' });
  site.configure();
  await site.deploy('setup');
  site.configure({ 'pre-deploy': 'touch "$HOME/begun"; while [ ! -e "$HOME/go" ]; do sleep 0.05; done' });
  const command = site.follow();
  await home.waitFor('the hook to start', () => existsSync(join(home.work, 'hosts/web1/begun')));
  command.child.kill('SIGKILL');
  await command.done;
  writeFileSync(join(home.work, 'hosts/web1/go'), '');
  site.configure({ 'post-deploy': 'exit 3' });
  expect(await site.deploy()).toMatchObject({ exitStatus: 1, stderr: expect.stringContaining('it is locked by') });
  expect(await site.deploy('unlock')).toMatchObject({
    exitStatus: 0,
    stderr: expect.stringMatching(/^web1 was locked by \S+@\S+ since .*\. It is unlocked now\.\n$/),
  });
  expect(await site.deploy('unlock')).toMatchObject({ exitStatus: 0, stderr: 'web1 was not locked.\n' });
  expect(await site.deploy()).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringContaining('"post-deploy" exited with 3'),
  });
  site.configure();
  expect(await site.deploy()).toMatchObject({ exitStatus: 0 });
  await home.waitFor('the first connection to close', () => home.processes().length === 0);
});

test('revert goes back, curr, prev and list show the releases, and exec runs in the current one', async () => {
  const home = await sandbox();
  const site = createSite(home);
  const commits = [site.commit({ 'app.js': '1' })];
  site.configure({ 'post-deploy': 'cat app.js; echo' });
  await site.deploy('setup');
  for (const word of ['2', '3', '4']) {
    commits.push(site.commit({ 'app.js': word }));
    await site.deploy('update');
  }
  expect(await site.deploy('curr')).toMatchObject({ exitStatus: 0, stdout: `${commits[3]} ${site.current()}\n` });
  expect((await site.deploy('prev')).stdout).toMatch(new RegExp(`^${commits[2]} `));

  expect(await site.deploy('revert')).toMatchObject({ exitStatus: 0, stdout: '3\n' });
  expect(site.read('current/app.js')).toBe('3');
  expect(await site.deploy('revert', '2')).toMatchObject({ exitStatus: 0, stdout: '1\n' });
  expect(await site.deploy('revert', '1')).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringContaining('There are only 0 releases before'),
  });
  expect(await site.deploy('prev')).toMatchObject({ exitStatus: 1 });
  expect(site.read('current/app.js')).toBe('1');

  // A release that `revert` has left does not count as the previous release of the next release.
  await site.deploy('update');
  expect((await site.deploy('list')).stdout).toMatch(
    new RegExp(
      `^\\* \\S+-${commits[3].slice(0, 7)} {2}Change app.js \\(Ann, \\d{4}-\\d\\d-\\d\\d\\)\n ` +
        `{2}\\S+-${commits[0].slice(0, 7)} `,
    ),
  );
  expect(await site.deploy('revert')).toMatchObject({ exitStatus: 0, stdout: '1\n' });

  expect(await site.deploy('exec', 'cat app.js; pwd')).toMatchObject({
    exitStatus: 0,
    stdout: `1${site.root()}/current\n`,
  });
  expect(await site.deploy('run', 'cat', 'app.js')).toMatchObject({ exitStatus: 0, stdout: '1\n' });
  expect(await site.deploy('run', 'cat app.js', '--json')).toMatchObject({
    exitStatus: 0,
    stdout: '{"host":"web1","text":"1"}\n',
  });
  expect(await site.deploy('exec', 'exit 42')).toMatchObject({
    exitStatus: 42,
    stderr: expect.stringContaining('"command" exited with 42'),
  });
  expect(await site.deploy('exec')).toMatchObject({ exitStatus: 2 });
  expect(await site.deploy('revert', '0')).toMatchObject({ exitStatus: 2 });
});

test('a revert whose hook fails keeps the current release', async () => {
  const home = await sandbox();
  const site = createSite(home);
  site.commit({ 'app.js': '1' });
  site.configure();
  await site.deploy('setup');
  site.commit({ 'app.js': '2' });
  await site.deploy();
  const before = site.current();
  site.configure({ 'post-deploy': 'exit 9' });
  expect(await site.deploy('revert')).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringContaining(`"current" leads to ${before} again`),
  });
  expect(site.current()).toBe(before);
  expect((await site.deploy('list')).stdout.trim().split('\n')).toHaveLength(2);
});

test('deploy takes a branch, a tag or a commit, and an unknown ref is refused before anything changes', async () => {
  const home = await sandbox();
  const site = createSite(home);
  const first = site.commit({ 'app.js': '1' });
  site.git('tag', 'v1');
  site.configure({ ref: 'main' });
  await site.deploy('setup');
  site.commit({ 'app.js': '2' });
  for (const [ref, word] of [
    [undefined, '2'],
    ['v1', '1'],
    ['origin/main', '2'],
    [first, '1'],
    [first.slice(0, 10), '1'],
    ['main', '2'],
  ]) {
    expect(await site.deploy(...(ref === undefined ? [] : [ref]))).toMatchObject({
      exitStatus: 0,
    });
    expect([ref, site.read('current/app.js')]).toEqual([ref, word]);
  }
  const releases = site.releases();
  expect(await site.deploy('nothing')).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringMatching(/There is no "nothing" in .*repo\./),
  });
  expect(await site.deploy('a..b')).toMatchObject({ exitStatus: 2 });
  expect(site.releases()).toEqual(releases);
  expect(releases).toHaveLength(5);
});

test('deploy keeps the configured number of releases, including the current one', async () => {
  const home = await sandbox();
  const site = createSite(home);
  site.commit({ 'app.js': '0' });
  site.configure({ releases: 2 });
  await site.deploy('setup');
  for (const word of ['1', '2', '3']) {
    site.commit({ 'app.js': word });
    expect(await site.deploy()).toMatchObject({ exitStatus: 0 });
  }
  expect(site.releases()).toHaveLength(2);
  // Releases of the same second sort by commit, so the current release may not be the last name.
  expect(site.releases()).toContain(site.current());
  expect(site.read('current/app.js')).toBe('3');
  expect((await site.deploy('list')).stdout.trim().split('\n')).toHaveLength(2);
});

test('a deployment that fails on the second of three hosts reports what each of them runs', async () => {
  const home = await sandbox();
  const site = createSite(home, { hosts: ['web1', 'web2', 'web3'] });
  site.commit({ 'app.js': '1' });
  site.configure();
  expect(await site.deploy('setup')).toMatchObject({ exitStatus: 0 });
  const before = site.current();
  const commit = site.commit({ 'app.js': '2' });
  const onSecond = (what) => `echo at $(basename "$HOME"); case $HOME in */web2) ${what} ;; esac`;

  site.configure({ 'pre-deploy': onSecond('exit 4') });
  expect(await site.deploy()).toMatchObject({
    exitStatus: 1,
    stdout: '[web1] at web1\n[web2] at web2\n',
    stderr: expect.stringMatching(
      pattern(
        /failed on web2: "pre-deploy" exited with 4\.\n/,
        / {2}web1: nothing was switched.*\n/,
        / {2}web2: nothing was switched.*\n/,
        / {2}web3: not started\./,
      ),
    ),
  });
  for (const host of ['web1', 'web2', 'web3']) expect(site.current(host)).toBe(before);

  site.configure({ 'post-deploy': onSecond('exit 5') });
  const result = await site.deploy();
  const after = site.current('web1');
  expect(after).toContain(commit.slice(0, 7));
  expect(result).toMatchObject({ exitStatus: 1, stdout: '[web1] at web1\n[web2] at web2\n' });
  expect(result.stderr).toMatch(
    new RegExp(
      `failed on web2: "post-deploy" exited with 5\\.\n {2}web1: runs ${after}\\.\n {2}web2: "current" leads ` +
        `to ${before} again.*\n {2}web3: not started; "current" leads to ${before}, as before\\.`,
    ),
  );
  expect([site.current('web2'), site.current('web3')]).toEqual([before, before]);

  site.configure({ 'post-deploy': onSecond('exit 5') });
  expect(await site.deploy('--parallel')).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringMatching(/web1: runs .*\n {2}web2: "current" leads to .* again.*\n {2}web3: runs /),
  });

  site.configure({ host: ['web1', 'nowhere'] });
  expect(await site.deploy()).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringMatching(/failed on nowhere: ssh exited with 255 at "connect"/),
  });
  for (const words of [['list'], ['exec', 'true']])
    expect(await site.deploy(...words)).toMatchObject({
      exitStatus: 1,
      stderr: expect.stringContaining('ssh exited with 255'),
    });
});

test('--parallel names the failed hosts in the order of the config, whichever fails first', async () => {
  const home = await sandbox();
  const site = createSite(home, { hosts: ['web1', 'web2'] });
  site.commit({ 'app.js': '1' });
  site.configure();
  await site.deploy('setup');
  // web1 waits until the shell of web2 has exited, so that web2 fails first.
  site.configure({
    'pre-deploy':
      'case $HOME in */web2) echo $$ > "$HOME/pid"; exit 5 ;; esac; for n in $(seq 200); do [ -s ' +
      '"$HOME/../web2/pid" ] && ! kill -0 "$(cat "$HOME/../web2/pid")" 2>/dev/null && exit 4; sleep 0.05; done; exit 3',
  });
  expect(await site.deploy('--parallel')).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringMatching(/failed on web1: "pre-deploy" exited with 4, on web2: "pre-deploy" exited with 5\./),
  });
});

test.each(['/bin/sh', '/bin/bash'])(
  'paths and values with special characters reach the host unchanged, with %s',
  async (shell) => {
    const home = await sandbox();
    const site = createSite(home, { hosts: ['web1'], path: `it's a "path"; $(touch broken) \`touch broken\` & *` });
    const env = { ODD: `a 'b' "c" $HOME \`x\` \\ ; & | * ~ \n end` };
    site.commit({ 'app.js': '1', 'dir with space/file': 'x' });
    site.configure({
      env,
      shared: ["sha'red file", 'dir with space/'],
      'post-deploy': `printf %s "$ODD" > odd.txt; echo 'single' "double" \\$HOME`,
    });
    const options = { env: { FAKE_SSH_SHELL: shell } };
    expect(await site.deploy('setup', options)).toMatchObject({ exitStatus: 0 });
    expect(await site.deploy(options)).toMatchObject({ exitStatus: 0, stdout: 'single double $HOME\n' });
    expect(site.read('current/odd.txt')).toBe(env.ODD);
    expect(readlinkSync(join(site.root(), "current/sha'red file"))).toBe(join(site.root(), "shared/sha'red file"));
    expect(await site.deploy('revert', options)).toMatchObject({ exitStatus: 0 });
    expect(existsSync(join(home.work, 'hosts/web1/broken'))).toBe(false);
  },
);

test('faults of the settings are reported at once, before any connection to a host', async () => {
  const home = await sandbox();
  const site = createSite(home);
  site.configure({
    host: undefined,
    ref: undefined,
    repo: undefined,
    path: undefined,
    port: 'ssh',
    'post-deploi': 'x',
  });
  const result = await site.deploy();
  expect(result).toMatchObject({ exitStatus: 2, stdout: '' });
  for (const key of ['host is missing', 'ref is missing', 'repo is missing', 'path is missing', 'port is "ssh"'])
    expect(result.stderr).toContain(`deploy.production.${key}; accepted: `);
  expect(await home.nclust('deploy', 'staging')).toMatchObject({
    exitStatus: 2,
    stderr: expect.stringContaining('no object deploy.staging; it has "production"'),
  });
  expect(await home.nclust('deploy')).toMatchObject({ exitStatus: 2 });
  expect(existsSync(join(home.work, 'hosts/calls'))).toBe(false);
});

test('each command before setup reports that the host is not set up', async () => {
  const home = await sandbox();
  const site = createSite(home);
  site.commit({ 'app.js': '1' });
  site.configure();
  for (const words of [[], ['revert'], ['curr'], ['list'], ['exec', 'true']])
    expect(await site.deploy(...words)).toMatchObject({
      exitStatus: 1,
      stderr: expect.stringContaining('is not set up'),
    });
});

test('setup takes over a PM2 deployment: it keeps the clone and replaces the link', async () => {
  const home = await sandbox();
  const site = createSite(home);
  site.commit({ 'app.js': '1' });
  mkdirSync(join(site.root(), 'source'), { recursive: true });
  writeFileSync(join(site.root(), 'source/app.js'), 'of PM2');
  symlinkSync(join(site.root(), 'source'), join(site.root(), 'current'));
  site.configure();
  expect(await site.deploy('setup')).toMatchObject({ exitStatus: 0 });
  expect(site.read('current/app.js')).toBe('1');
  expect(site.read('source/app.js')).toBe('of PM2');
  rmSync(join(site.root(), 'current'));
  mkdirSync(join(site.root(), 'current'));
  expect(await site.deploy()).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringContaining('is not a link; move it away'),
  });
});

test('deploy without a post-deploy hook starts the apps of the config, and reloads them the next time', async () => {
  const home = await sandbox();
  const site = createSite(home);
  const port = await takePort();
  const config =
    `module.exports = { apps: [{ name: 'api', script: 'app.js', env: { PORT: ${port} }, ` +
    `env_production: { WORD: 'production' } }] };\n`;
  const program = (word) =>
    `require('node:http').createServer((_, response) => response.end('${word} ' + ` +
    `process.env.WORD)).listen(process.env.PORT);\n`;
  site.commit({ 'ecosystem.config.cjs': config, 'app.js': program('one') });
  site.configure({ 'post-deploy': undefined });
  await site.deploy('setup');
  expect(await site.deploy()).toMatchObject({ exitStatus: 0, stdout: expect.stringContaining('api') });
  expect(await fetchOnce(`http://127.0.0.1:${port}`)).toBe('one production');
  const [{ pid }] = await home.list();

  site.commit({ 'app.js': program('two') });
  expect(await site.deploy()).toMatchObject({ exitStatus: 0 });
  expect(await fetchOnce(`http://127.0.0.1:${port}`)).toBe('two production');
  expect((await home.list())[0].pid).not.toBe(pid);

  const before = site.current();
  site.commit({ 'app.js': 'throw new Error("broken")' });
  expect(await site.deploy()).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringContaining('"post-deploy" exited with 1'),
  });
  expect(site.current()).toBe(before);
  expect(await fetchOnce(`http://127.0.0.1:${port}`)).toBe('two production');
  expect(await site.deploy('revert')).toMatchObject({ exitStatus: 0 });
  expect(await fetchOnce(`http://127.0.0.1:${port}`)).toBe('one production');
});
