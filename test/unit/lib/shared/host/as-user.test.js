import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fstatSync,
  lchownSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  chooseActor,
  listAsUser,
  makeFolderAsUser,
  openAsUser,
  removeAsUser,
  renameAsUser,
  statAsUser,
  readUser,
} from '../../../../../lib/shared/host/as-user.js';
import { isRoot, NOBODY, SECRET, userFolders } from '../../../../helpers/other-user.js';

const READING = constants.O_RDONLY | constants.O_NONBLOCK;
const APPENDING = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

const CLOSED_NAMES = ['empty', 'number', 'secret'];

let own;
let closed;
let open;
let plant;

describe.runIf(isRoot)('a path of another user', () => {
  beforeEach(() => {
    ({ own, closed, open, plant } = userFolders());
  });

  test('a new file belongs to the user, who can open it again', () => {
    for (let time = 0; time < 2; time += 1) {
      const fd = openAsUser(NOBODY, join(own, 'out.log'), APPENDING);
      expect(fstatSync(fd)).toMatchObject({ uid: NOBODY.uid, gid: NOBODY.gid });
      closeSync(fd);
    }
  });

  test.each(['secret', 'new'])('a link to %s in a folder closed to the user opens and creates nothing', (name) => {
    symlinkSync(join(closed, name), join(own, 'link'));
    for (const flags of [READING, APPENDING])
      expect(() => openAsUser(NOBODY, join(own, 'link'), flags)).toThrow('EACCES');
    expect(readdirSync(closed)).toEqual(CLOSED_NAMES);
  });

  test('a link to a folder closed to the user opens, lists and creates nothing', () => {
    symlinkSync(closed, join(own, 'logs'));
    expect(() => openAsUser(NOBODY, join(own, 'logs/secret'), READING)).toThrow('EACCES');
    expect(() => openAsUser(NOBODY, join(own, 'logs/new'), APPENDING)).toThrow('EACCES');
    expect(() => listAsUser(NOBODY, join(own, 'logs'), 9)).toThrow('EACCES');
    expect(() => makeFolderAsUser(NOBODY, join(own, 'logs/new'))).toThrow('EACCES');
    expect(() => removeAsUser(NOBODY, join(own, 'logs/secret'))).toThrow('EACCES');
    expect(() => renameAsUser(NOBODY, join(own, 'logs/secret'), join(own, 'logs/gone'))).toThrow('EACCES');
    expect(readdirSync(closed)).toEqual(CLOSED_NAMES);
  });

  test('a file of root in a folder of the user is neither read nor written', () => {
    linkSync(join(closed, 'secret'), join(own, 'linked'));
    for (const flags of [READING, APPENDING])
      expect(() => openAsUser(NOBODY, join(own, 'linked'), flags)).toThrow('EACCES');
  });

  test('a link that the user could follow is followed', () => {
    plant('v1', (path) => mkdirSync(path));
    symlinkSync('v1', join(own, 'current'));
    symlinkSync(join(own, 'current/../v1/out.log'), join(own, 'out.log'));
    closeSync(openAsUser(NOBODY, join(own, 'out.log'), APPENDING));
    expect(statSync(join(own, 'v1/out.log')).uid).toBe(NOBODY.uid);
  });

  test('a named pipe, a folder and a device are refused without waiting', () => {
    plant('pipe', (path) => execFileSync('mkfifo', [path]));
    symlinkSync('/dev/zero', join(own, 'zero'));
    mkdirSync(join(own, 'folder'));
    for (const name of ['pipe', 'zero', 'folder'])
      expect(() => openAsUser(NOBODY, join(own, name), READING)).toThrow('EINVAL');
  });

  test('a file of the kernel is refused, because it would be read as root', () => {
    symlinkSync(`/proc/${process.pid}/maps`, join(own, 'maps'));
    expect(() => openAsUser(NOBODY, join(own, 'maps'), READING)).toThrow('EINVAL');
  });

  test('a link to itself and an endless path are refused', () => {
    symlinkSync('loop', join(own, 'loop'));
    symlinkSync('a/../'.repeat(200), join(own, 'long'));
    mkdirSync(join(own, 'a'));
    expect(() => openAsUser(NOBODY, join(own, 'loop'), READING)).toThrow('ELOOP');
    expect(() => openAsUser(NOBODY, join(own, 'long'), READING)).toThrow('ELOOP');
  });

  test('root works as root in a folder that the user cannot change', () => {
    const fd = openAsUser(NOBODY, join(closed, 'secret'), READING);
    onTestFinished(() => closeSync(fd));
    expect(readFileSync(fd, 'utf8')).toContain(SECRET);
    makeFolderAsUser(NOBODY, join(closed, 'logs/deep'));
    closeSync(openAsUser(NOBODY, join(closed, 'logs/deep/out.log'), APPENDING));
    expect(statSync(join(closed, 'logs/deep')).uid).toBe(0);
    expect(statSync(join(closed, 'logs/deep/out.log')).uid).toBe(NOBODY.uid);
  });

  test('root works as root only if the user can change neither the name nor its target', () => {
    symlinkSync(join(own, 'file'), join(closed, 'outwards'));
    symlinkSync(join(closed, 'secret'), join(own, 'inwards'));
    const o = { isFollowing: false };
    expect([chooseActor(NOBODY, join(closed, 'new')), chooseActor(NOBODY, join(closed, 'outwards'), o)]).toEqual([
      null,
      null,
    ]);
    for (const [path, how] of [[join(own, 'new')], [join(closed, 'outwards')], [join(own, 'inwards'), o]])
      expect(chooseActor(NOBODY, path, how)).toBe(NOBODY);
    expect(() => chooseActor(NOBODY, join(own, 'inwards'))).toThrow('EACCES');
  });

  test('a new folder in a folder of the user belongs to the user', () => {
    makeFolderAsUser(NOBODY, join(own, 'logs/deep'));
    expect(statSync(join(own, 'logs'))).toMatchObject({ uid: NOBODY.uid, gid: NOBODY.gid });
    expect(statSync(join(own, 'logs/deep'))).toMatchObject({ uid: NOBODY.uid, gid: NOBODY.gid });
  });

  test('files in the folder of the user are renamed and removed', () => {
    closeSync(openAsUser(NOBODY, join(own, 'a'), APPENDING));
    renameAsUser(NOBODY, join(own, 'a'), join(own, 'b'));
    expect(listAsUser(NOBODY, own, 1)).toEqual({ names: ['b'], isCut: false });
    expect(listAsUser(NOBODY, own, 0)).toEqual({ names: [], isCut: true });
    removeAsUser(NOBODY, join(own, 'b'));
    removeAsUser(NOBODY, join(own, 'b'));
    expect(readdirSync(own)).toEqual([]);
  });

  test.each(['the user', 'root'])('%s renames, removes and replaces only regular files', (who) => {
    const user = who === 'root' ? null : NOBODY;
    symlinkSync(join(closed, 'secret'), join(own, 'link'));
    execFileSync('mkfifo', [join(own, 'pipe')]);
    mkdirSync(join(own, 'folder'));
    plant('file', (path) => writeFileSync(path, ''));
    for (const name of ['link', 'pipe', 'folder']) {
      expect(() => removeAsUser(user, join(own, name))).toThrow('EINVAL');
      expect(() => renameAsUser(user, join(own, name), join(own, 'new'))).toThrow('EINVAL');
      expect(() => renameAsUser(user, join(own, 'file'), join(own, name))).toThrow('EINVAL');
    }
    expect(readdirSync(own)).toEqual(['file', 'folder', 'link', 'pipe']);
    expect(readFileSync(join(closed, 'secret'), 'utf8')).toContain(SECRET);
  });

  test('files of other users stay in a folder that every user may change', () => {
    const shared = join(closed, '../shared');
    mkdirSync(shared);
    chmodSync(shared, 0o1777);
    writeFileSync(join(shared, 'of-root'), '', { mode: 0o666 });
    closeSync(openAsUser(NOBODY, join(shared, 'own'), APPENDING));
    expect(() => removeAsUser(NOBODY, join(shared, 'of-root'))).toThrow('EACCES');
    expect(() => renameAsUser(NOBODY, join(shared, 'own'), join(shared, 'of-root'))).toThrow('EACCES');
    removeAsUser(NOBODY, join(shared, 'own'));
    expect(readdirSync(shared)).toEqual(['of-root']);
  });

  test('a folder of root is trusted in a folder that every user may change, and one of the user is not', () => {
    const shared = join(closed, '../shared');
    mkdirSync(shared);
    chmodSync(shared, 0o1777);
    renameSync(closed, join(shared, 'of-root'));
    closeSync(openAsUser(NOBODY, join(shared, 'of-root/secret'), READING));
    renameSync(own, join(shared, 'of-user'));
    symlinkSync(join(shared, 'of-root'), join(shared, 'of-user/link'));
    lchownSync(join(shared, 'of-user/link'), 0, 0);
    expect(() => openAsUser(NOBODY, join(shared, 'of-user/link/secret'), READING)).toThrow('EACCES');
  });

  test('root works as the user in a folder of root that a group of the user may change', () => {
    const DAEMON = { uid: 1, gid: NOBODY.gid };
    const UNKNOWN = 4_000_000;
    const actorIn = (group, user) => {
      chownSync(open, 0, group);
      chmodSync(open, 0o775);
      return chooseActor(user, join(open, 'out.log'));
    };
    expect([actorIn(1, NOBODY), actorIn(1, DAEMON), actorIn(UNKNOWN, NOBODY)]).toEqual([null, DAEMON, NOBODY]);
    expect(() => openAsUser(NOBODY, join(open, 'out.log'), APPENDING)).toThrow('EACCES');
    chownSync(open, 0, 1);
    closeSync(openAsUser(DAEMON, join(open, 'out.log'), APPENDING));
    expect(statSync(join(open, 'out.log'))).toMatchObject(DAEMON);
  });

  test('stat returns null for a missing file', () => {
    closeSync(openAsUser(NOBODY, join(own, 'a'), APPENDING));
    expect(statAsUser(NOBODY, join(own, 'a'))?.uid).toBe(NOBODY.uid);
    expect(statAsUser(NOBODY, join(own, 'none'))).toBe(null);
    expect(statAsUser(NOBODY, join(own, 'none/deeper'))).toBe(null);
    expect(() => statAsUser(NOBODY, join(closed, 'secret'))).not.toThrow();
  });

  test('no descriptor stays open after a success or a failure', () => {
    symlinkSync(closed, join(own, 'logs'));
    symlinkSync('loop', join(own, 'loop'));
    const before = readdirSync('/proc/self/fd').length;
    for (const name of ['logs/secret', 'loop', 'none', 'none/deeper'])
      expect(() => openAsUser(NOBODY, join(own, name), READING)).toThrow();
    expect(readdirSync('/proc/self/fd').length).toBe(before);
  });

  test('a folder that is constantly exchanged for a link never leads outside', () => {
    makeFolderAsUser(NOBODY, join(own, 'logs'));
    symlinkSync(closed, join(own, 'evil'));
    const swapper = join(own, 'logs');
    for (let round = 0; round < 100; round += 1) {
      renameSync(swapper, join(own, 'away'));
      renameSync(join(own, 'evil'), swapper);
      expect(() => openAsUser(NOBODY, join(swapper, 'secret'), APPENDING)).toThrow('EACCES');
      renameSync(swapper, join(own, 'evil'));
      renameSync(join(own, 'away'), swapper);
      closeSync(openAsUser(NOBODY, join(swapper, 'secret'), APPENDING));
    }
    expect(readFileSync(join(closed, 'secret'), 'utf8')).toContain(SECRET);
  });
});

test('an app has another user only if the manager is root', () => {
  expect(readUser({ uid: 1000, gid: 100 }, 0)).toEqual({ uid: 1000, gid: 100 });
  expect(readUser({ uid: 1000, gid: 100 }, 1000)).toBe(null);
  expect(readUser({ uid: null, gid: null }, 0)).toBe(null);
  expect(readUser({ uid: 0, gid: 0 }, 0)).toBe(null);
});
