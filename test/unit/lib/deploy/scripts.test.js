import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runRemote } from '../../../../lib/deploy/remote.js';
import { shareLine } from '../../../../lib/deploy/script-parts.js';
import { activateScript } from '../../../../lib/deploy/scripts.js';

/** Names that the scripts have used for their own variables. */
const NAMES = ['root', 'repo', 'mark', 'link', 'name', 'old', 'status', 'owner', 'one', 'release'];
const LOCK = { token: 'token', owner: 'ann' };

/** Creates a fake host, whose `ssh` is a shell on this machine. */
function createHost() {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-deploy-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'ssh'), '#!/bin/sh\nshift\nexec sh -c "$*"\n', { mode: 0o755 });
  mkdirSync(join(folder, 'app/releases/two'), { recursive: true });
  execFileSync('git', ['init', '--quiet', '--bare', join(folder, 'app/repo.git')]);
  symlinkSync(`${LOCK.token} ${LOCK.owner}`, join(folder, 'app/.lock'));
  return folder;
}

test('variables of the deployment reach the hook, and do not overwrite those of the script', async () => {
  const folder = createHost();
  const env = Object.fromEntries(NAMES.map((name) => [name, `/nowhere/${name}`]));
  const deployment = {
    ...{ name: 'production', user: null, hosts: ['web1'], port: null, key: null, sshOptions: [], ref: 'main' },
    ...{ repo: 'r', path: join(folder, 'app'), env, shared: [], releases: 5 },
    hooks: { 'post-deploy': `echo ${NAMES.map((name) => `$${name}`).join(' ')} > ../../seen` },
  };
  const script = activateScript(deployment, { release: 'two', hookName: 'post-deploy', lock: LOCK });
  const ended = await runRemote(deployment, 'web1', script, {
    env: { ...process.env, PATH: `${folder}:${process.env.PATH}` },
    signal: new AbortController().signal,
    onLine: () => {},
  });
  expect(ended).toMatchObject({ code: 0, reports: { active: 'two' } });
  expect(readlinkSync(join(folder, 'app/current'))).toBe('releases/two');
  expect(readFileSync(join(folder, 'app/seen'), 'utf8')).toBe(`${Object.values(env).join(' ')}\n`);
});

test.each(['config/.env', 'config/deep/.env'])(
  'a shared path is not removed through a link of the repository (%s)',
  (path) => {
    const folder = createHost();
    const [root, release] = [join(folder, 'app'), join(folder, 'app/releases/two')];
    mkdirSync(join(root, 'shared/config/deep'), { recursive: true });
    writeFileSync(join(root, 'shared', path), 'SECRET=1');
    const share = () =>
      spawnSync('sh', ['-euc', shareLine(path)], {
        env: { ...process.env, nclust_root: root, nclust_release: release },
        encoding: 'utf8',
      });
    symlinkSync('../../shared/config', join(release, 'config'));
    expect(share()).toMatchObject({ status: 1, stderr: expect.stringContaining('leads out of the release') });
    expect(readFileSync(join(root, 'shared', path), 'utf8')).toBe('SECRET=1');
    rmSync(join(release, 'config'));
    expect(share()).toMatchObject({ status: 0, stderr: '' });
    expect(readFileSync(join(release, path), 'utf8')).toBe('SECRET=1');
  },
);
