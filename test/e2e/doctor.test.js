import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ELSEWHERE } from '../../lib/cli/table/home.js';
import { pattern } from '../helpers/pattern.js';
import { sandbox } from '../helpers/sandbox.js';

test('doctor starts no manager and creates no home', async () => {
  const home = await sandbox();
  const result = await home.nclust('doctor', '--json');
  expect(result).toMatchObject({ exitStatus: 0, stderr: '' });
  expect(result.json()).toMatchObject({ facts: { home: home.home, manager: null }, findings: expect.any(Array) });
  expect(existsSync(home.home)).toBe(false);
});

test('doctor reports an app that was given up, prints the next command, and exits 1', async () => {
  const home = await sandbox();
  await home.nclust('start', home.place('crashes-at-boot'), '--name', 'shop', '--max-restarts', '0', '--no-wait');
  await home.waitFor('shop to be given up', async () => (await home.list())[0]?.status === 'errored');
  const result = await home.nclust('doctor');
  expect(result).toMatchObject({ exitStatus: 1, stderr: '' });
  expect(result.stdout).toMatch(
    /bad {3}"shop" is down and is no longer restarted: it exited .*\n {6}nclust logs shop --err; then: /,
  );
});

test('doctor does not mistake another process with the pid of PM2 for a running PM2', async () => {
  const home = await sandbox();
  const pm2 = join(home.work, 'pm2-home');
  mkdirSync(pm2);
  writeFileSync(join(pm2, 'pm2.pid'), String(process.pid));
  expect((await home.nclust('doctor', '--json', { env: { PM2_HOME: pm2 } })).json().facts.pm2Pid).toBeNull();
});

test('report shows the machine, the apps and the end of the log, but no variables of an app', async () => {
  const home = await sandbox();
  await home.app('http-echo', { name: 'shop', env: { API_KEY: 'hunter2' } });
  const { stdout, exitStatus } = await home.nclust('report');
  expect(exitStatus).toBe(0);
  expect(stdout).toMatch(
    pattern(
      /--- nclust\ncommand [^]*/,
      /--- apps\n0 shop fork online restarts 0[^]*/,
      /--- doctor\n[^]*/,
      /--- the last lines of nclust\.log\n[^]*control-ready/,
    ),
  );
  expect(stdout).not.toContain('hunter2');
  expect(JSON.stringify((await home.nclust('report', '--json')).json())).not.toContain('hunter2');
});

test('slist prints facts of the machine as JSON', async () => {
  const home = await sandbox();
  expect((await home.nclust('slist')).json()).toMatchObject({
    cpus: expect.any(Number),
    memory: { totalBytes: expect.any(Number) },
  });
  expect((await home.nclust('sysinfos', '--tree')).stdout).toMatch(/^memory:\n {2}freeBytes: \d+$/m);
});

test('every command that examples prints exists', async () => {
  const home = await sandbox();
  const { stdout } = await home.nclust('examples');
  const { stdout: help } = await home.nclust('--help');
  const words = [...stdout.matchAll(/^ {2}nclust (\w+)/gm)].map(([, word]) => word);
  expect(words.length).toBeGreaterThan(10);
  for (const word of words) expect(help).toMatch(new RegExp(`^ {2}${word}\\b`, 'm'));
});

test('a PM2 command that nclust does not have names the alternative', async () => {
  const home = await sandbox();
  for (const name of ['link', 'module:install', 'deepUpdate']) {
    expect(await home.nclust(name, 'a', 'b')).toMatchObject({
      exitStatus: 1,
      stdout: '',
      stderr: `nclust: "${name}" is a command of PM2 that nclust does not have.\nnext: ${ELSEWHERE[name]}\n`,
    });
  }
  expect((await home.nclust('--help')).stdout).not.toMatch(/\blink\b/);
});
