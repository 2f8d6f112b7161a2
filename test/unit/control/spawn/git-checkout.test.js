import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readVersioning, stripCredentials } from '../../../../daemon/control/spawn/git-checkout.js';
import { isRoot, NOBODY } from '../../../helpers/other-user.js';
import { createRig, watch } from '../control-rig.js';
import { makeSpec } from '../make-spec.js';

describe('the versioning of an app', () => {
  let root;

  beforeEach(() => {
    root = join(realpathSync(mkdtempSync(join(tmpdir(), 'nclust-git-'))), 'api');
    mkdirSync(join(root, 'src'), { recursive: true });
    git('init', '-q', '-b', 'main');
    writeFileSync(join(root, 'src', 'app.js'), '1');
    git('add', '.');
    git('commit', '-q', '-m', 'The first one\n\nand why');
    git('remote', 'add', 'origin', 'https://deploy:s3cret@example.com/shop/api.git?token=abc');
  });
  afterEach(() => rmSync(join(root, '..'), { recursive: true, force: true }));

  function git(...args) {
    return execFileSync('git', ['-C', root, '-c', 'user.name=A', '-c', 'user.email=a@example.com', ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  }

  const specIn = (folder, fields = {}) => makeSpec({ script: join(folder, 'app.js'), cwd: folder, ...fields });
  const versioningIn = async (folder, fields) => (await readVersioning([specIn(folder, fields)]))[0];

  test('the versioning of an app has the keys of PM2, and no password', async () => {
    expect(await versioningIn(join(root, 'src'))).toEqual({
      type: 'git',
      url: 'https://example.com/shop/api.git',
      revision: git('rev-parse', 'HEAD'),
      comment: 'The first one\n\nand why',
      unstaged: false,
      branch: 'main',
      remotes: ['origin'],
      remote: 'origin',
      branch_exists_on_remote: false,
      ahead: false,
      next_rev: null,
      prev_rev: null,
      update_time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/),
      repo_path: root,
    });
    writeFileSync(join(root, 'src', 'app.js'), '2');
    expect(await versioningIn(join(root, 'src'))).toMatchObject({ unstaged: true });
  });

  test('the versioning keeps no text that is too long or has control characters, as it is in each list', async () => {
    const url = 'https://example.com/api.git';
    for (let at = 0; at < 100; at += 1) git('config', `remote.r${at}.url`, url);
    git('config', `remote.${'x'.repeat(300)}.url`, url);
    git('config', 'remote.origin.url', `https://example.com/${'x'.repeat(2_000)}`);
    const { remotes, remote, url: shown } = (await versioningIn(root)) ?? {};
    expect([remotes.length, remotes.filter((name) => name.length > 255), remote, shown]).toEqual([
      64,
      [],
      'origin',
      null,
    ]);
    git('config', 'remote.origin.url', 'https://example.com/\u0007api');
    expect(await versioningIn(root)).toMatchObject({ url: null });
  });

  test('the versioning comes from the folder of the script or, without a checkout there, of the app', async () => {
    expect(await versioningIn(root, { script: '/usr/bin/npm' })).toMatchObject({ repo_path: root });
    expect(await versioningIn('/', { script: join(root, 'src/app.js') })).toMatchObject({ repo_path: root });
  });

  test('the versioning does not need a branch or a reflog, and is read in a worktree', async () => {
    const revision = git('rev-parse', 'HEAD');
    const tree = join(root, '..', 'tree');
    git('worktree', 'add', '-q', '-b', 'topic', tree);
    expect(await versioningIn(tree)).toMatchObject({
      branch: 'topic',
      revision,
      url: 'https://example.com/shop/api.git',
      repo_path: tree,
    });
    git('checkout', '-q', '--detach');
    rmSync(join(root, '.git/logs'), { recursive: true });
    expect(await versioningIn(root)).toMatchObject({
      branch: 'HEAD',
      revision,
      comment: 'The first one\n\nand why',
      update_time: expect.stringMatching(/Z$/),
    });
  });

  test('the versioning shows that the branch has commits which its remote does not have', async () => {
    const bare = join(root, '..', 'bare.git');
    git('init', '-q', '--bare', bare);
    git('remote', 'add', 'own', bare);
    expect(await versioningIn(root)).toMatchObject({ remotes: ['origin', 'own'], remote: 'origin' });
    git('push', '-q', '-u', 'own', 'main');
    expect(await versioningIn(root)).toMatchObject({ remote: 'own', branch_exists_on_remote: true, ahead: false });
    git('commit', '-q', '--allow-empty', '-m', 'more');
    expect(await versioningIn(root)).toMatchObject({ branch_exists_on_remote: true, ahead: true, comment: 'more' });
  });

  test('the versioning is null outside of a checkout, for a broken one, and without git', async () => {
    expect(await versioningIn(join(root, '..'))).toBeNull();
    expect(await versioningIn(root, { env: { PATH: '/nowhere' } })).toMatchObject({ branch: 'main' });
    const { PATH } = process.env;
    process.env.PATH = '/nowhere';
    try {
      expect(await versioningIn(root)).toBeNull();
    } finally {
      process.env.PATH = PATH;
    }
    rmSync(join(root, '.git', 'HEAD'));
    expect(await versioningIn(root)).toBeNull();
  });

  test('the versioning is read once for all apps of a checkout and a user', async () => {
    const specs = [specIn(root), specIn(join(root, 'src')), specIn(join(root, '..'))];
    const [first, second, third] = await readVersioning(specs);
    expect(first).toMatchObject({ branch: 'main' });
    expect(second).toBe(first);
    expect(third).toBeNull();
  });

  test.runIf(isRoot)('the versioning runs git as the user of the app, who can make git run programs', async () => {
    writeFileSync(join(root, '.gitattributes'), '*.js filter=own\n');
    git('config', 'filter.own.clean', '/usr/bin/id -u > ../filter; cat');
    writeFileSync(join(root, 'src', 'app.js'), '2');
    chmodSync(join(root, '..'), 0o755);
    execFileSync('chown', ['-R', `${NOBODY.uid}:${NOBODY.gid}`, join(root, '..')]);
    expect(await versioningIn(join(root, 'src'), NOBODY)).toMatchObject({ branch: 'main', unstaged: true });
    expect(readFileSync(join(root, '..', 'filter'), 'utf8')).toBe(`${NOBODY.uid}\n`);
    // Git refuses the checkout of another user, because it would run the programs of this user.
    expect(await versioningIn(root)).toBeNull();
  });
});

describe('a request that starts an app', () => {
  let rig;

  beforeEach(async () => {
    rig = createRig();
    await rig.boot();
  });

  const at = (revision) => async (specs) => specs.map(() => ({ type: 'git', revision }));
  const shown = () => rig.control.registry.desired.apps[0].spec.versioning;
  const done = async (request) => {
    const seen = watch(request);
    await rig.turn(30_000);
    expect(seen.state).toBe('done');
  };

  test.each([['start'], ['restart'], ['reload']])('%s shows the revision that starts, and saves it', async (method) => {
    rig.readVersioning = at('old');
    await done(rig.start());
    expect(shown()).toEqual({ type: 'git', revision: 'old' });
    rig.readVersioning = at('new');
    if (method === 'start') await done(rig.call('stop', { targets: ['api'] }));
    await done(rig.call(method, { targets: ['api'] }));
    expect(shown()).toEqual({ type: 'git', revision: 'new' });
    await rig.boot();
    expect(shown()).toEqual({ type: 'git', revision: 'new' });
  });

  test('a request that starts an app does not wait for git, and the last request decides what is shown', async () => {
    const answers = [];
    rig.readVersioning = (specs) =>
      new Promise((resolve) => answers.push((revision) => resolve(specs.map(() => ({ type: 'git', revision })))));
    await done(rig.start());
    await done(rig.call('restart', { targets: ['api'] }));
    expect([shown(), answers.length]).toEqual([null, 1]);
    answers[0]('first');
    await rig.turn();
    answers[1]('second');
    await rig.turn();
    expect(shown()).toMatchObject({ revision: 'second' });
  });

  test('a start asks git nothing about an app with vizion off, nor does a stop', async () => {
    const asked = [];
    rig.readVersioning = async (specs) => (asked.push(...specs.map(({ name }) => name)), specs.map(() => null));
    await done(rig.start({ vizion: false }));
    await done(rig.start({ name: 'other' }));
    await done(rig.call('stop', { targets: ['other'] }));
    expect(asked).toEqual(['other']);
  });

  test('an app keeps the revision of the old code if its reload fails before git has answered', async () => {
    rig.readVersioning = at('old');
    await done(rig.start({ instances: 2 }));
    let answer = () => {};
    rig.readVersioning = (specs) =>
      new Promise((resolve) => {
        answer = () => resolve(specs.map(() => ({ type: 'git', revision: 'new' })));
      });
    rig.keeper.behave = () => ({ exit: { code: 1, signal: null } });
    const reload = watch(rig.call('reload', { targets: ['api'] }));
    await rig.turn(60_000);
    expect(reload.state).toBe('failed');
    answer();
    await rig.turn();
    expect(shown()).toMatchObject({ revision: 'old' });
  });
});

test.each([
  ['https://user:pass@example.com/x.git', 'https://example.com/x.git'],
  ['https://token@example.com/x.git', 'https://example.com/x.git'],
  ['https://a:p@ss@example.com/x.git?private_token=t#f', 'https://example.com/x.git'],
  ['ssh://git:pass@example.com:22/x.git', 'ssh://git@example.com:22/x.git'],
  ['git@example.com:x.git', 'git@example.com:x.git'],
  ['/srv/x@y:z.git', '/srv/x@y:z.git'],
])('the address %s is shown as %s', (url, shown) => {
  expect(stripCredentials(url)).toBe(shown);
});
