import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { readOwner, callAsOwner } from '../../../daemon/keeper/host/owner.js';
import { importsOf, sourceFiles } from '../../helpers/source-tree.js';

vi.mock('../../../daemon/keeper/host/log.js', () => ({
  log: vi.fn(),
  describeError: (error) => ({ message: error.message }),
}));

const OWNER = { uid: 1_000, gid: 100 };

/** The ids of a fake process of root. They change as in a real system. */
let ids;

beforeEach(() => {
  ids = { uid: 0, gid: 0, groups: [0, 4] };
  const change = (to) => {
    if (ids.uid !== 0 && !('uid' in to)) throw Object.assign(new Error('not permitted'), { code: 'EPERM' });
    ids = { ...ids, ...to };
  };
  vi.spyOn(process, 'geteuid').mockImplementation(() => ids.uid);
  vi.spyOn(process, 'getegid').mockImplementation(() => ids.gid);
  vi.spyOn(process, 'getgroups').mockImplementation(() => ids.groups);
  vi.spyOn(process, 'seteuid').mockImplementation((uid) => change({ uid }));
  vi.spyOn(process, 'setegid').mockImplementation((gid) => change({ gid }));
  vi.spyOn(process, 'setgroups').mockImplementation((groups) => change({ groups }));
});

afterEach(() => void vi.restoreAllMocks());

describe('readOwner()', () => {
  test.each([
    ['an app without a user', {}, null],
    ['an app with the user of the keeper', { uid: 0, gid: 0 }, null],
    ['a user and a group', OWNER, OWNER],
    ['a user alone, who gets the group of the keeper', { uid: 1_000 }, { uid: 1_000, gid: 0 }],
    ['a group alone', { gid: 100 }, { uid: 0, gid: 100 }],
  ])('readOwner() reads %s', (_what, params, owner) => {
    expect(readOwner(params)).toEqual(owner);
  });

  test('a keeper that is not root can start processes only as its own user', () => {
    ids.uid = 1_000;
    expect(readOwner(OWNER)).toBe(null);
  });
});

describe('callAsOwner()', () => {
  const before = { uid: 0, gid: 0, groups: [0, 4] };

  test('callAsOwner() runs the work with the rights of the owner, and switches back', () => {
    expect(callAsOwner(OWNER, () => ids)).toEqual({ ...OWNER, groups: [100] });
    expect(ids).toEqual(before);
  });

  test('callAsOwner() switches back when the work throws', () => {
    const work = () => {
      throw new Error('no');
    };
    expect(() => callAsOwner(OWNER, work)).toThrow('no');
    expect(ids).toEqual(before);
  });

  test('callAsOwner() changes nothing when it cannot become the owner', () => {
    vi.mocked(process.seteuid).mockImplementationOnce(() => {
      throw new Error('no such user');
    });
    const work = vi.fn();
    expect(() => callAsOwner(OWNER, work)).toThrow('no such user');
    expect(work).not.toHaveBeenCalled();
    expect(ids).toEqual(before);
  });

  test('callAsOwner() without an owner runs the work as the keeper', () => {
    expect(callAsOwner(null, () => ids)).toEqual(before);
    expect(process.seteuid).not.toHaveBeenCalled();
  });

  test('callAsOwner() exits when it cannot switch back', () => {
    const exit = vi.spyOn(process, 'exit').mockImplementation(() => {
      throw new Error('exited');
    });
    const work = () =>
      vi.mocked(process.seteuid).mockImplementationOnce(() => {
        throw new Error('not permitted');
      });
    expect(() => callAsOwner(OWNER, work)).toThrow('exited');
    expect(exit).toHaveBeenCalledWith(1);
  });
});

// During callAsOwner(), all threads of the keeper have the rights of an app. A file operation in
// the thread pool could then fail, or succeed with the rights of the app.
describe.each(sourceFiles('daemon/keeper').map((file) => [file.path, file]))('%s', (_path, file) => {
  test('the file uses no file operation of the thread pool', () => {
    const names = [...file.code.matchAll(/import \{([^}]*)\} from 'node:fs'/g)].flatMap(([, list]) => list.split(','));
    expect(names.map((one) => one.trim()).filter((one) => one && !/^constants$|Sync$/.test(one))).toEqual([]);
    expect(file.code).not.toMatch(/import (?!\{)[^;]* from 'node:fs'|\bimport\(|\brequire\(/);
    expect(importsOf(file)).not.toContain('node:fs/promises');
  });
});
