import { execFileSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { asOwnerOf, install, findPlace, uninstall } from '../../../../lib/completion/install.js';
import { isRoot, SECRET, userFolders } from '../../../helpers/other-user.js';

let folder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-completion-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('install keeps content, mode and link of a start file, and uninstall removes only its own block', () => {
  const real = join(folder, 'dotfiles-bashrc');
  const file = join(folder, '.bashrc');
  writeFileSync(real, 'alias x=y', { mode: 0o640 });
  symlinkSync(real, file);
  install('bash', file);
  install('bash', file);
  const text = readFileSync(file, 'utf8');
  expect(text.match(/complete -F _nclust nclust/g)).toHaveLength(1);
  expect([text.startsWith('alias x=y\n'), statSync(real).mode & 0o777, lstatSync(file).isSymbolicLink()]).toEqual([
    true,
    0o640,
    true,
  ]);
  expect([uninstall('bash', file), readFileSync(file, 'utf8'), uninstall('bash', file)]).toEqual([
    true,
    'alias x=y',
    false,
  ]);
});

test('the completion for fish is a separate file, which uninstall removes', () => {
  const file = findPlace('fish', { HOME: folder });
  install('fish', file);
  expect(readFileSync(file, 'utf8')).toContain('complete -c nclust');
  expect([uninstall('fish', file), uninstall('fish', file)]).toEqual([true, false]);
});

test.each([
  ['bash', {}, '.bashrc'],
  ['zsh', {}, '.zshrc'],
  ['zsh', { ZDOTDIR: '/z' }, '/z/.zshrc'],
  ['fish', { XDG_CONFIG_HOME: '/c' }, '/c/fish/completions/nclust.fish'],
])('the completion for %s with %o is installed in %s', (shell, env, place) => {
  expect(findPlace(shell, { HOME: '/home/me', ...env })).toBe(place.startsWith('/') ? place : `/home/me/${place}`);
});

test('findPlace refuses a shell without HOME', () => {
  expect(() => findPlace('bash', {})).toThrow(expect.objectContaining({ code: 'ERR_NCLUST_USAGE' }));
});

test('install reports a file that it cannot write, and changes nothing', () => {
  const file = join(folder, '.bashrc');
  mkdirSync(file);
  const refusal = expect.objectContaining({
    code: 'ERR_NCLUST_FILE_UNWRITABLE',
    message: `"${file}" cannot be written (it is not a regular file); nothing was changed.`,
  });
  expect(() => install('bash', file)).toThrow(refusal);
  expect(() => install('fish', file)).toThrow(expect.objectContaining({ code: 'ERR_NCLUST_FILE_UNWRITABLE' }));
  expect([existsSync(file), existsSync(`${file}.nclust-new`)]).toEqual([true, false]);
});

test.runIf(process.geteuid() === 0)('install as root keeps the owner of a start file', () => {
  const file = join(folder, '.zshrc');
  writeFileSync(file, '');
  chownSync(file, 4_242, 4_243);
  install('zsh', file);
  expect(statSync(file)).toMatchObject({ uid: 4_242, gid: 4_243 });
});

test.each(['bash', 'fish'])('a link to a device stays: the %s completion is refused', (shell) => {
  const file = join(folder, 'start-file');
  const device = join(folder, 'device');
  execFileSync('mkfifo', [device]);
  symlinkSync(device, file);
  for (const act of [install, uninstall])
    expect(() => act(shell, file)).toThrow(`"${file}" cannot be written (it is not a regular file)`);
  expect([lstatSync(device).isFIFO(), lstatSync(file).isSymbolicLink()]).toEqual([true, true]);
});

describe.skipIf(!isRoot)('for root with the HOME of another user', () => {
  test.each(['.bashrc', '.bashrc.nclust-new'])('a link at %s leads to no file of root', (name) => {
    const { own, closed, plant } = userFolders();
    const secret = join(closed, 'secret');
    plant(name, (path) => symlinkSync(secret, path));
    const file = findPlace('bash', { HOME: own });
    if (name === '.bashrc') expect(() => asOwnerOf(own, () => install('bash', file))).toThrow(/cannot be written/);
    else asOwnerOf(own, () => install('bash', file));
    expect([readFileSync(secret, 'utf8').trim(), lstatSync(secret).uid]).toEqual([SECRET, 0]);
  });

  test('install alone follows no link at the name of its new file', () => {
    const { own, closed, plant } = userFolders();
    plant('.bashrc.nclust-new', (path) => symlinkSync(join(closed, 'secret'), path));
    install('bash', join(own, '.bashrc'));
    expect(readFileSync(join(closed, 'secret'), 'utf8').trim()).toBe(SECRET);
  });
});
