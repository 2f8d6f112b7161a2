import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { readGitFolder, stripCredentials } from '../../../../../lib/shared/host/git-folder.js';
import { isRoot, NOBODY, userFolders } from '../../../../helpers/other-user.js';
import { addVersioning } from '../../../../../lib/config/spec/git.js';
import { checkSpec } from '../../../../../lib/shared/spec/spec.js';

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
  return execFileSync(
    'git',
    ['-C', root, '-c', 'user.name=A', '-c', 'user.email=a@example.com', '-c', 'protocol.file.allow=always', ...args],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  ).trim();
}

const specIn = (folder, fields = {}) =>
  checkSpec({
    name: 'api',
    kind: 'node',
    file: '/usr/bin/node',
    script: join(folder, 'app.js'),
    cwd: folder,
    ...fields,
  });
const versioningIn = async (folder, fields) => (await addVersioning([specIn(folder, fields)]))[0].versioning;

describe('the versioning of a script', () => {
  test.runIf(process.getuid?.() === 0)(
    'comes from git as the user of the app, who can make git run programs',
    async () => {
      const before = git('rev-parse', 'HEAD');
      writeFileSync(join(root, '.gitattributes'), '*.js filter=own\n');
      git('config', 'filter.own.clean', '/usr/bin/id -u > ../filter; cat');
      writeFileSync(join(root, 'src', 'app.js'), '2');
      chmodSync(join(root, '..'), 0o755);
      execFileSync('chown', ['-R', '65534:65534', join(root, '..')]);
      expect(await versioningIn(join(root, 'src'), { uid: 65_534, gid: 65_534 })).toMatchObject({
        revision: before,
        comment: 'The first one\n\nand why',
        unstaged: true,
      });
      expect(readFileSync(join(root, '..', 'filter'), 'utf8')).toBe('65534\n');
    },
  );

  test('has the keys of PM2, and no password', async () => {
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
      update_time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      repo_path: root,
    });
    writeFileSync(join(root, 'src', 'app.js'), '2');
    expect(await versioningIn(join(root, 'src'))).toMatchObject({ unstaged: true });
  });

  test.runIf(existsSync('/dev/shm'))('has the epoch in place of a time that is not a date', async () => {
    const folder = mkdtempSync('/dev/shm/nclust-git-');
    onTestFinished(() => rmSync(folder, { recursive: true }));
    cpSync(join(root, '.git'), folder, { recursive: true });
    rmSync(join(root, '.git'), { recursive: true });
    writeFileSync(join(root, '.git'), `gitdir: ${folder}\n`);
    utimesSync(join(folder, 'logs/HEAD'), 99_999_999_999_999, 99_999_999_999_999);
    expect(await versioningIn(root)).toMatchObject({ branch: 'main', update_time: '1970-01-01T00:00:00.000Z' });
  });

  test('is read from packed refs, without a branch, and in a worktree', async () => {
    git('pack-refs', '--all');
    const revision = git('rev-parse', 'HEAD');
    expect(await readGitFolder(root, null)).toMatchObject({ branch: 'main', revision });
    const tree = join(root, '..', 'tree');
    git('worktree', 'add', '-q', '-b', 'topic', tree);
    expect(await versioningIn(tree)).toMatchObject({
      branch: 'topic',
      revision,
      url: 'https://example.com/shop/api.git',
      repo_path: tree,
    });
    git('checkout', '-q', '--detach');
    expect(await readGitFolder(root, null)).toMatchObject({ branch: 'HEAD', revision });
  });

  test('shows that the branch has commits which its remote does not have', async () => {
    const bare = join(root, '..', 'bare.git');
    git('init', '-q', '--bare', bare);
    git('remote', 'set-url', 'origin', bare);
    git('push', '-q', '-u', 'origin', 'main');
    expect(await versioningIn(root)).toMatchObject({ branch_exists_on_remote: true, ahead: false });
    git('commit', '-q', '--allow-empty', '-m', 'more');
    expect(await versioningIn(root)).toMatchObject({ branch_exists_on_remote: true, ahead: true, comment: 'more' });
  });

  test('is null outside of a checkout, with vizion: false, and for a broken folder', async () => {
    expect(await versioningIn(join(root, '..'))).toBeNull();
    expect(await versioningIn(root, { vizion: false })).toBeNull();
    rmSync(join(root, '.git', 'HEAD'));
    expect(await versioningIn(root)).toBeNull();
    rmSync(join(root, '.git'), { recursive: true });
    symlinkSync('.git', join(root, '.git'));
    expect(await versioningIn(root)).toBeNull();
  });

  test('never comes from a file outside of the git folder', async () => {
    const secret = join(root, '..', 'secret');
    writeFileSync(secret, 'password');
    writeFileSync(join(root, '.git', 'config'), `[x]\n${'1'.repeat(40)}`);
    for (const head of [
      'ref: refs/../../../secret',
      'ref: refs/../config',
      'ref: refs/heads/../../config',
      'password',
    ]) {
      writeFileSync(join(root, '.git', 'HEAD'), `${head}\n`);
      expect([head, await readGitFolder(root, null)]).toEqual([head, null]);
    }
    writeFileSync(join(root, '.git', 'HEAD'), 'ref: refs/heads/main\n');
    rmSync(join(root, '.git', 'refs', 'heads', 'main'));
    symlinkSync(secret, join(root, '.git', 'refs', 'heads', 'main'));
    expect(await readGitFolder(root, null)).toMatchObject({ branch: 'main', revision: null });
    // A remote may have any name, but no file above its folder is read.
    writeFileSync(join(root, '.git', 'main'), `${'1'.repeat(40)}\n`);
    writeFileSync(join(root, '.git', 'config'), '[remote "../.."]\n  url = x\n');
    expect(await readGitFolder(root, null)).toMatchObject({ remote: '../..', isOnRemote: false });
  });

  test('has a limited number of remotes, and no name or address that a list cannot show', async () => {
    const remotes = Array.from({ length: 100 }, (_, at) => `[remote "r${at}"]`);
    const config = [
      `[remote "${'x'.repeat(300)}"]`,
      '[remote "a\u001b]52;c;x\u0007"]',
      ...remotes,
      `  url = ${'u'.repeat(3_000)}`,
    ];
    writeFileSync(join(root, '.git', 'config'), config.join('\n'));
    const found = await readGitFolder(root, null);
    expect([found?.remotes.length, found?.remote]).toEqual([64, 'r0']);
    writeFileSync(join(root, '.git', 'config'), ['[remote "origin"]', `  url = ${'u'.repeat(3_000)}`].join('\n'));
    expect(await readGitFolder(root, null)).toMatchObject({ remote: 'origin', url: null });
    for (const name of ['x'.repeat(300), 'a\u009bb']) {
      writeFileSync(join(root, '.git', 'HEAD'), `ref: refs/heads/${name}\n`);
      expect(await readGitFolder(root, null)).toBeNull();
    }
  });

  test('shows that the remote has the revision, even without a branch', async () => {
    const copy = join(root, '..', 'copy');
    execFileSync('git', ['clone', '-q', root, copy]);
    execFileSync('git', ['-C', copy, 'checkout', '-q', '--detach']);
    expect(await readGitFolder(copy, null)).toMatchObject({ branch: 'HEAD', isOnRemote: true });
  });

  test('is null if a file is too large, and never read in part', async () => {
    git('pack-refs', '--all');
    const packed = join(root, '.git', 'packed-refs');
    const text = readFileSync(packed, 'utf8');
    const line = (at) => `${'2'.repeat(40)} refs/tags/${String(at).padStart(9, '0')}\n`;
    const many = (count) => Array.from({ length: count }, (_, at) => line(at)).join('');
    writeFileSync(packed, many(60_000) + text);
    const startedMono = performance.now();
    expect(await readGitFolder(root, null)).toMatchObject({ branch: 'main', revision: git('rev-parse', 'HEAD') });
    expect(performance.now() - startedMono).toBeLessThan(1_000);
    writeFileSync(packed, many(80_000) + text);
    expect(await readGitFolder(root, null)).toBeNull();
    writeFileSync(packed, text);
    writeFileSync(join(root, '.git', 'config'), '#'.repeat(2 * 1024 * 1024));
    expect(await readGitFolder(root, null)).toBeNull();
  });

  test.each(['a\n', '\n', ' \n', '[\n'])(
    'does not wait for a named pipe, nor take long for a config that repeats %j',
    async (line) => {
      writeFileSync(join(root, '.git', 'config'), line.repeat(200_000 / line.length));
      const startedMono = performance.now();
      expect(await readGitFolder(root, null)).toMatchObject({ branch: 'main', remotes: [] });
      expect(performance.now() - startedMono).toBeLessThan(2_000);
      rmSync(join(root, '.git', 'HEAD'));
      execFileSync('mkfifo', [join(root, '.git', 'HEAD')]);
      expect(await readGitFolder(root, null)).toBeNull();
    },
  );
});

describe.runIf(isRoot)('the checkout of another user', () => {
  const OLD = '1'.repeat(40);

  function checkout(folder) {
    mkdirSync(join(folder, '.git/refs/heads'), { recursive: true });
    writeFileSync(join(folder, '.git/HEAD'), 'ref: refs/heads/main\n');
    writeFileSync(join(folder, '.git/refs/heads/main'), `${OLD}\n`);
  }

  test('is read as this user, and as root if only root can change it', async () => {
    const { own, closed } = userFolders();
    for (const folder of [own, closed]) checkout(folder);
    for (const folder of [own, closed])
      expect(await readGitFolder(folder, NOBODY)).toMatchObject({ branch: 'main', revision: OLD });
  });

  test('is read as this user if it is a worktree', async () => {
    const { own, plant } = userFolders();
    checkout(join(own, 'main'));
    plant('tree', (path) => mkdirSync(path));
    plant('tree/.git', (path) => writeFileSync(path, `gitdir: ${own}/main/.git\n`));
    expect(await readGitFolder(join(own, 'tree'), NOBODY)).toMatchObject({ branch: 'main', revision: OLD });
  });

  test.each([
    ['.git', (own, closed) => symlinkSync(join(closed, '.git'), own)],
    ['.git', (own, closed) => writeFileSync(own, `gitdir: ${closed}/.git\n`)],
    ['.git/HEAD', (own, closed) => symlinkSync(join(closed, '.git/HEAD'), own)],
    ['.git/refs/heads/main', (own, closed) => symlinkSync(join(closed, '.git/refs/heads/main'), own), null],
    ['.git/commondir', (own, closed) => writeFileSync(own, join(closed, '.git'))],
    ['.git/commondir', (own) => writeFileSync(own, '../../closed/.git')],
  ])('does not reveal through %s what only root may read', async (name, make, revision) => {
    const { own, closed } = userFolders();
    for (const folder of [own, closed]) checkout(folder);
    writeFileSync(join(closed, '.git/config'), '[remote "origin"]\n\turl = https://closed.test\n');
    writeFileSync(join(closed, '.git/refs/heads/main'), `${'2'.repeat(40)}\n`);
    rmSync(join(own, name), { recursive: true, force: true });
    make(join(own, name), closed);
    const found = await readGitFolder(own, NOBODY);
    if (revision === undefined) expect(found).toBeNull();
    else expect(found).toMatchObject({ revision, url: null });
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
