import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { checkHome } from '../../../../lib/client/check-home.js';
import { homePaths } from '../../../../lib/shared/paths.js';

let root;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'nclust-home-'));
});

const modeOf = (path) => statSync(path).mode & 0o777;
const cleanUp = () => onTestFinished(() => rmSync(root, { recursive: true }));

test('a missing home is created with its parents, and only its owner may enter', () => {
  cleanUp();
  checkHome(join(root, 'a', 'b'));
  expect(modeOf(join(root, 'a', 'b'))).toBe(0o700);
});

test('a home with correct permissions is not changed', () => {
  cleanUp();
  chmodSync(root, 0o700);
  expect(() => checkHome(root)).not.toThrow();
});

describe('a home that is open to others', () => {
  test.each([
    ['is empty', []],
    ['holds our state', ['state.json', 'state.json.bak', 'logs']],
    ['holds our log', ['nclust.log']],
    ['holds our events', ['events.log', 'events.log.1']],
    ['holds our run folder', ['run']],
  ])('an open home is closed if it %s', (_, entries) => {
    cleanUp();
    for (const entry of entries) writeFileSync(join(root, entry), '');
    chmodSync(root, 0o755);
    checkHome(root);
    expect(modeOf(root)).toBe(0o700);
  });

  test('an open home is closed if it contains only files of nclust', () => {
    cleanUp();
    const entries = new Set(
      Object.values(homePaths(root))
        .filter((path) => path !== root && path.startsWith(root))
        .map((path) => relative(root, path).split(sep)[0]),
    );
    expect(entries.size).toBeGreaterThan(9);
    for (const entry of [...entries, 'web-open.html', 'launcher.sh']) writeFileSync(join(root, entry), '');
    chmodSync(root, 0o755);
    checkHome(root);
    expect(modeOf(root)).toBe(0o700);
  });

  test.each([[['thesis.txt']], [['run', 'usr']], [['state.json', 'package.json']]])(
    'an open home is refused and not changed if it contains other files: %o',
    (entries) => {
      cleanUp();
      for (const entry of entries) writeFileSync(join(root, entry), '');
      chmodSync(root, 0o755);
      expect(() => checkHome(root)).toThrow(
        expect.objectContaining({ code: 'ERR_NCLUST_HOME_OPEN', message: expect.stringContaining(root) }),
      );
      expect(modeOf(root)).toBe(0o755);
    },
  );
});

test('a home of another user is refused', () => {
  cleanUp();
  expect(() => checkHome(root, { uid: 12_345 })).toThrow(
    expect.objectContaining({ code: 'ERR_NCLUST_HOME_FOREIGN', message: expect.stringContaining('belongs to') }),
  );
});

test('a home in a folder that every user may write to is refused, and not created', () => {
  cleanUp();
  const open = join(root, 'open');
  mkdirSync(open);
  chmodSync(open, 0o777);
  const refused = expect.objectContaining({
    code: 'ERR_NCLUST_HOME_EXPOSED',
    message: expect.stringContaining(`"${open}" can be written to by every user`),
    hint: expect.stringContaining(`chmod o-w "${open}"`),
    data: expect.objectContaining({ folder: open }),
  });
  expect(() => checkHome(join(open, 'a', 'home'))).toThrow(refused);
  expect(readdirSync(open)).toEqual([]);
  mkdirSync(join(open, 'home'), { mode: 0o700 });
  expect(() => checkHome(join(open, 'home'))).toThrow(refused);
});

test('a folder behind a link of another user is not closed', () => {
  cleanUp();
  const [open, other] = ['open', 'other'].map((name) => join(root, name));
  for (const folder of [open, other]) mkdirSync(folder, { mode: 0o755 });
  chmodSync(open, 0o777);
  symlinkSync(other, join(open, 'home'));
  expect(() => checkHome(join(open, 'home'))).toThrow(expect.objectContaining({ code: 'ERR_NCLUST_HOME_EXPOSED' }));
  expect(modeOf(other)).toBe(0o755);
});

test('a file is refused', () => {
  cleanUp();
  writeFileSync(join(root, 'file'), '');
  expect(() => checkHome(join(root, 'file'))).toThrow(
    expect.objectContaining({ code: 'ERR_NCLUST_HOME_NOT_DIRECTORY' }),
  );
});

test('a home below a file is refused', () => {
  cleanUp();
  writeFileSync(join(root, 'file'), '');
  expect(() => checkHome(join(root, 'file', 'home'))).toThrow(
    expect.objectContaining({ code: 'ERR_NCLUST_HOME_UNWRITABLE', message: expect.stringContaining('ENOTDIR') }),
  );
});

test('a home whose sockets would have too long a path is refused and not created', () => {
  cleanUp();
  const home = join(root, 'x'.repeat(90));
  expect(() => checkHome(home)).toThrow(
    expect.objectContaining({ code: 'ERR_NCLUST_HOME_TOO_LONG', message: expect.stringContaining('too long') }),
  );
  expect(() => statSync(home)).toThrow('ENOENT');
});

test('the longest possible home is accepted', () => {
  cleanUp();
  const most = process.platform === 'linux' ? 107 : 103;
  const home = join(root, 'x'.repeat(most - '/run/keeper.NNNNNN.sock'.length - root.length - 1));
  mkdirSync(home, { mode: 0o700 });
  expect(() => checkHome(home)).not.toThrow();
  expect(() => checkHome(`${home}x`)).toThrow(expect.objectContaining({ data: { bytes: most + 1, allowed: most } }));
});
