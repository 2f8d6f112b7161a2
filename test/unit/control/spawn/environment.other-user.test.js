// Tests env files and secrets of an app with another user. The manager of this app runs as root.
import { execFileSync } from 'node:child_process';
import { chmodSync, linkSync, mkdirSync, readdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../../daemon/control/host/clock.js';
import { createEnvironment } from '../../../../daemon/control/spawn/environment.js';
import { createSecrets } from '../../../../daemon/control/spawn/secrets.js';
import { isRoot, NOBODY, SECRET, userFolders } from '../../../helpers/other-user.js';
import { makeSpec } from '../make-spec.js';

let folders;

/** Each way gives a file to an app of the user "nobody". */
const WAYS = {
  'an env file': (file) => ({ envFiles: [file] }),
  'the file of a secret': (file) => ({ secrets: { SECRET: { file } } }),
};

const clock = systemClock();
const read = (...specs) => createEnvironment({ clock, secrets: createSecrets({ clock }) }).read(specs);
const specOf = (fields) => makeSpec({ cwd: folders.own, ...NOBODY, ...fields });

const faultOf = (fields) =>
  read(specOf(fields)).then(
    () => 'read',
    ({ message, hint }) => `${message} ${hint}`,
  );

describe.runIf(isRoot).each(Object.entries(WAYS))('%s of an app with another user', (_, fieldsOf) => {
  beforeEach(() => {
    folders = userFolders();
  });

  const CLOSED = /could not be read as user 65534 \(EACCES\).*Let that user read it, or move it/;
  test.each([
    ['a link to a file of root', CLOSED, (path) => symlinkSync(join(folders.closed, 'secret'), path)],
    ['a second name of a file of root', CLOSED, (path) => linkSync(join(folders.closed, 'secret'), path)],
    ['a link to the passwords of the system', CLOSED, (path) => symlinkSync(shadow(), path)],
    ['a named pipe', /is not a regular file/, (path) => execFileSync('mkfifo', [path])],
    ['a folder', /is not a regular file/, (path) => mkdirSync(path)],
    ['a link to a device', /is not a regular file/, (path) => symlinkSync('/dev/zero', path)],
    ['a file of 1 GB', /has more than \d+ KiB/, (path) => (writeFileSync(path, ''), truncateSync(path, 1024 ** 3))],
    ['a link to nothing', /\(ENOENT\)|\(EACCES\)/, (path) => symlinkSync(join(folders.closed, 'new'), path)],
    ['a link to itself', /\(ELOOP\)/, (path) => symlinkSync(path, path)],
  ])('the file of the app is not read through %s', async (_what, fault, make) => {
    make(join(folders.own, 'file'));
    const before = readdirSync('/proc/self/fd').length;
    const found = await faultOf(fieldsOf('file'));
    expect(found).toMatch(fault);
    expect(found).not.toContain(SECRET);
    expect(readdirSync('/proc/self/fd').length).toBe(before);
  });

  test('the file of the app is not read through a link to a folder', async () => {
    folders.plant('folder', (path) => symlinkSync(folders.closed, path));
    expect(await faultOf(fieldsOf('folder/secret'))).toMatch(CLOSED);
    expect(await faultOf(fieldsOf(join(folders.own, 'folder/secret')))).toMatch(CLOSED);
  });

  test('the file of the app is read in the folder of the user if the user may read it', async () => {
    folders.plant('v1', (path) => mkdirSync(path));
    folders.plant('v1/file', (path) => writeFileSync(path, 'SECRET=own\n', { mode: 0o600 }));
    folders.plant('current', (path) => symlinkSync('v1', path));
    expect(await faultOf(fieldsOf('current/file'))).toBe('read');
  });

  test('the file of the app is read as root in a folder that only root can change', async () => {
    symlinkSync(join(folders.closed, 'secret'), join(folders.open, 'link'));
    for (const file of [join(folders.closed, 'secret'), join(folders.open, 'link')])
      expect(await faultOf(fieldsOf(file))).toBe('read');
  });

  test('the file of the app is not read as root in a folder that every user can change', async () => {
    chmodSync(folders.open, 0o1777);
    writeFileSync(join(folders.open, 'secret'), SECRET, { mode: 0o600 });
    expect(await faultOf(fieldsOf(join(folders.open, 'secret')))).toMatch(CLOSED);
  });
});

function shadow() {
  const path = join(folders.closed, 'shadow');
  writeFileSync(path, 'root:*:1:0\n', { mode: 0o640 });
  return path;
}

test.runIf(isRoot)('two apps with the same env file each read it as their own user', async () => {
  folders = userFolders();
  const file = join(folders.own, 'file');
  linkSync(join(folders.closed, 'secret'), file);
  const ofRoot = specOf({ name: 'of-root', uid: null, gid: null, envFiles: ['file'] });
  expect((await read(ofRoot)).fill(ofRoot).fileEnv).toMatchObject([{ env: { SECRET: 'only-for-root' } }]);
  const ofNobody = specOf({ envFiles: ['file'] });
  for (const specs of [
    [ofRoot, ofNobody],
    [ofNobody, ofRoot],
  ])
    await expect(read(...specs)).rejects.toMatchObject({
      code: 'ERR_NCLUST_ENV_FILE',
      message: `The env file "${file}" of "api" could not be read as user 65534 (EACCES). Nothing was changed.`,
    });
});
