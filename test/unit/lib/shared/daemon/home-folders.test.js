import { chmodSync, chownSync, lchownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { findHomeFault } from '../../../../../lib/shared/daemon/home-folders.js';

const OWN = process.geteuid?.() ?? 0;
const ANN = 1001;
const NOBODY = 65_534;
const GROUPS = { root: 0, deploy: 1000, ann: ANN, staff: 50, web: 33, admin: 80 };

let root;
let folder;
let home;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'nclust-folders-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  folder = join(root, 'folder');
  home = join(folder, 'home');
  mkdirSync(home, { recursive: true, mode: 0o700 });
});

const accounts = {
  hasOwn: () => true,
  isOutside: () => false,
  passwd: () =>
    [
      'root:x:0:0:root:/root:/bin/sh',
      `deploy:x:1000:1000::/home/deploy:/bin/sh`,
      `ann:x:${ANN}:${ANN}::/home/ann:/bin/sh`,
      'www:x:33:33::/var/www:/bin/false',
    ].join('\n'),
  group: () =>
    [
      ...['root:x:0:', 'deploy:x:1000:', `ann:x:${ANN}:`, 'web:x:33:', 'admin:x:80:ann'],
      ...['staff:x:50:deploy,ann', 'gone:x:60:removed', 'both:x:70:root,ann'],
    ].join('\n'),
};
const fault = (o = {}) => findHomeFault(home, { uid: OWN, accounts, platform: 'linux', ...o });

test('a home in a folder of the user is safe, even before it exists', () => {
  expect(fault()).toBeNull();
  rmSync(folder, { recursive: true });
  expect(fault()).toBeNull();
});

test('a folder that every user may write to is reported, with its mode and a command that fixes it', () => {
  chmodSync(folder, 0o777);
  expect(fault()).toEqual({
    message:
      `The nclust home "${home}" is not safe: "${folder}" can be written to by every user (mode 0777), ` +
      'so another user could put another folder in its place.',
    hint: `Run: chmod o-w "${folder}", or point NCLUST_HOME at a folder of your own.`,
    data: { folder, uid: OWN, gid: expect.any(Number), mode: '0777' },
  });
});

test('a sticky folder is safe, as /tmp is', () => {
  chmodSync(folder, 0o1777);
  expect(fault()).toBeNull();
});

test('the home itself and every folder above it are checked', () => {
  for (const one of [home, folder, root]) {
    chmodSync(one, 0o777);
    expect(fault()?.data.folder).toBe(one);
    chmodSync(one, 0o755);
  }
});

test('folders are not checked for a user without an account, as in containers', () => {
  chmodSync(folder, 0o777);
  const without = { ...accounts, hasOwn: () => false };
  expect(fault({ uid: 1_000_670_000, accounts: { ...without, isOutside: () => true } })).toBeNull();
  expect(fault({ uid: 0, accounts: { ...without, isOutside: () => true } })).not.toBeNull();
});

describe.runIf(OWN === 0)('a folder of another user', () => {
  test('a folder of another user is reported with the name of the user, and root gets the path of its own home', () => {
    chownSync(folder, ANN, ANN);
    expect(fault()).toMatchObject({
      message: expect.stringContaining(`"${folder}" belongs to user ${ANN} (ann), so another user`),
      hint: expect.stringMatching(/as that user, or with the home of root \(sudo -H\), or point NCLUST_HOME/),
    });
    chownSync(home, ANN, ANN);
    expect(fault({ uid: ANN })).toBeNull();
  });

  test('a folder of another user is safe if its owner is unknown in the user namespace', () => {
    chownSync(folder, NOBODY, NOBODY);
    expect(fault()).not.toBeNull();
    expect(fault({ accounts: { ...accounts, isOutside: (uid) => uid === NOBODY } })).toBeNull();
  });

  test('a folder of another user is found behind a link, and so is a link of another user', () => {
    const link = join(root, 'link');
    symlinkSync('folder/../folder', link);
    const behind = () => findHomeFault(join(link, 'home'), { uid: OWN, accounts });
    expect(behind()).toBeNull();
    chownSync(folder, ANN, ANN);
    expect(behind()?.data.folder).toBe(folder);
    chownSync(folder, 0, 0);
    lchownSync(link, ANN, ANN);
    expect(behind()?.data.folder).toBe(link);
  });

  test('a folder of another user is found before a link that leads out of it', () => {
    const safe = join(root, 'safe');
    mkdirSync(safe, { mode: 0o700 });
    symlinkSync(safe, join(folder, 'link'));
    chownSync(folder, ANN, ANN);
    expect(findHomeFault(join(folder, 'link'), { uid: OWN, accounts })?.data.folder).toBe(folder);
  });
});

test('a circle of links ends the check', () => {
  symlinkSync(join(root, 'b'), join(root, 'a'));
  symlinkSync(join(root, 'a'), join(root, 'b'));
  expect(findHomeFault(join(root, 'a'), { uid: OWN, accounts })).toBeNull();
});

describe.runIf(OWN === 0)('a folder that a group may write to is', () => {
  test.each([
    ['safe, when the group is its user alone', { uid: 1000, gid: GROUPS.deploy }, true],
    ['safe, when the group is that of root, as in OpenShift', { uid: 1000, gid: GROUPS.root }, true],
    ['not, when the group has another member', { uid: 1000, gid: GROUPS.staff }, false],
    ['not, when the group is the first one of another user', { uid: 1000, gid: GROUPS.web }, false],
    ['not, when the group names a user that is not found', { uid: 1000, gid: 60 }, false],
    ['not, when the group has root and another user', { uid: 1000, gid: 70 }, false],
    ['safe, when a volume has a group that the system does not know', { uid: 1000, gid: 4_000 }, true],
    ['not, when that is so and root asks', { uid: 0, gid: 4_000 }, false],
    ['not, when root asks and the group is of a user', { uid: 0, gid: GROUPS.deploy }, false],
    ['not, on macOS, whose users are not in these files', { uid: 1000, gid: GROUPS.deploy, platform: 'darwin' }, false],
    ['safe, on macOS, when the group is admin', { uid: 1000, gid: GROUPS.admin, platform: 'darwin' }, true],
  ])('%s', (_, { uid, gid, ...more }, isSafe) => {
    for (const one of [root, folder, home]) chownSync(one, uid, 0);
    chownSync(folder, uid, gid);
    chmodSync(folder, 0o2775);
    expect(fault({ uid, ...more }) === null).toBe(isSafe);
    if (!isSafe) expect(fault({ uid, ...more })?.hint).toContain(`Run: chmod g-w "${folder}"`);
  });
});

test('the folders of this machine and its temporary folder are safe', () => {
  expect(findHomeFault(home)).toBeNull();
});
