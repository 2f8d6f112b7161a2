import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { systemClock } from '../../../../daemon/control/host/clock.js';
import { NoSecret, readSecret } from '../../../../daemon/control/spawn/secret-source.js';
import { createFakeClock } from '../../../helpers/fake-clock.js';
import { isRoot, NOBODY, userFolders } from '../../../helpers/other-user.js';
import { isRunning } from '../../../helpers/processes.js';
import { waitFor } from '../../../helpers/wait-for.js';
import { makeSpec } from '../make-spec.js';

let cwd;

beforeAll(() => {
  cwd = realpathSync(mkdtempSync(join(tmpdir(), 'nclust-secret-')));
  mkdirSync(join(cwd, 'folder'));
  const files = {
    plain: 'hunter2',
    ended: 'hunter2\n',
    windows: 'hunter2\r\n',
    lines: 'a\nb\n\n',
    empty: '',
    nul: 'a\0b',
    big: 'x'.repeat(64 * 1024),
    'too-big': 'x'.repeat(64 * 1024 + 1),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  symlinkSync(join(cwd, 'plain'), join(cwd, 'link'));
  execFileSync('mkfifo', [join(cwd, 'pipe')]);
});
afterAll(() => rmSync(cwd, { recursive: true }));

const read = (source, fields = {}, clock = systemClock()) =>
  readSecret(makeSpec({ cwd, secrets: { S: source }, ...fields }), 'S', clock);

test.each([
  ['plain', 'hunter2'],
  ['ended', 'hunter2'],
  ['windows', 'hunter2'],
  ['lines', 'a\nb\n'],
  ['empty', ''],
  ['link', 'hunter2'],
  ['big', 'x'.repeat(64 * 1024)],
])('the secret is read from the file "%s"', async (file, value) => {
  expect(await read({ file })).toBe(value);
  expect(await read({ file: join(cwd, file) })).toBe(value);
});

test.each([
  ['missing', /is not available: its file "\/.*missing" could not be read \(ENOENT\)/],
  ['folder', /its file ".*folder" is not a regular file/],
  ['pipe', /its file ".*pipe" is not a regular file/],
  ['too-big', /its file ".*too-big" has more than 64 KiB/],
  ['nul', /contains a NUL/],
])('the secret is refused from the file "%s"', async (file, message) => {
  await expect(read({ file })).rejects.toThrow(message);
  await expect(read({ file })).rejects.toBeInstanceOf(NoSecret);
});

test.each([
  ['echo hunter2', 'hunter2'],
  ['printf "a\\nb\\n"', 'a\nb'],
  ['cat plain', 'hunter2'],
  ['pwd', () => cwd],
  ['true', ''],
])('the secret is read from the command "%s"', async (command, value) => {
  expect(await read({ command })).toBe(typeof value === 'function' ? value() : value);
});

test.each([
  ['echo hunter2; echo hunter2 >&2; exit 3', /is not available: its command exited with code 3$/],
  ['nobody-knows-this-program', /its command exited with code 127$/],
  ['kill -9 $$', /its command was killed by SIGKILL$/],
  ['head -c 70000 /dev/zero', /its command wrote more than 64 KiB$/],
])('the secret is refused from the command "%s"', async (command, message) => {
  const error = await read({ command }).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(NoSecret);
  expect(error.message).toMatch(message);
  expect(JSON.stringify([error.message, error])).not.toContain('hunter2');
});

test.each([
  ['gone', 'ENOENT', 'does not exist'],
  ['plain', 'ENOTDIR', 'is not a directory'],
])('a command cannot run in the folder "%s"', async (name, code, why) => {
  const folder = join(cwd, name);
  await expect(read({ command: 'echo 1' }, { cwd: folder })).rejects.toThrow(
    `its command could not be run (${code}), because the working directory "${folder}" ${why}`,
  );
});

test.runIf(isRoot)('a command runs only in a folder that the user of the app may enter', async () => {
  const { own, closed, plant } = userFolders();
  mkdirSync(join(closed, 'open'));
  plant('release', (path) => mkdirSync(path));
  const lead = (to) => plant('next', (path) => symlinkSync(to, path));
  const fields = { ...NOBODY, cwd: join(own, 'next') };
  lead('release');
  expect(await read({ command: 'pwd -P' }, fields)).toBe(join(own, 'release'));
  rmSync(fields.cwd);
  lead(join(closed, 'open'));
  await expect(read({ command: 'pwd -P' }, fields)).rejects.toThrow(
    `its command could not be run (EACCES), because the working directory "${fields.cwd}" cannot be entered by`,
  );
});

test.runIf(isRoot)('a command runs in a folder of root that its user may not enter', async () => {
  const { closed } = userFolders();
  expect(await read({ command: 'pwd -P' }, { ...NOBODY, cwd: closed })).toBe(closed);
});

test('a command gets the declared environment, the basics of the shell, and nothing else', async () => {
  const fields = {
    shellEnv: { PATH: process.env.PATH, LANG: 'C.UTF-8', AWS_TOKEN: 'x' },
    ownerEnv: { HOME: '/home/web' },
    fileEnv: [{ file: '/f', env: { VAULT_ADDR: 'https://vault' } }],
    env: { REGION: 'eu' },
  };
  const env = (await read({ command: 'env' }, fields))
    .split('\n')
    .map((line) => line.split('=')[0])
    .filter((name) => !['PWD', 'SHLVL', '_', 'OLDPWD'].includes(name));
  expect(env.sort()).toEqual(['HOME', 'LANG', 'PATH', 'REGION', 'VAULT_ADDR']);
});

test('a command that does not exit is killed after 10s, with its children', async () => {
  const clock = createFakeClock();
  const pidFile = join(cwd, 'pids');
  const failed = read(
    { command: `echo $$ > ${pidFile}; sleep 1000 & echo $! >> ${pidFile}; wait` },
    { shellEnv: { PATH: process.env.PATH } },
    clock,
  ).catch((error) => error);
  const pids = await waitFor('both pids', () => {
    const found = execFileSync('sh', ['-c', `cat ${pidFile} 2>/dev/null || true`], { encoding: 'utf8' })
      .trim()
      .split('\n');
    return found.length === 2 ? found.map(Number) : null;
  });
  clock.advance(9_999);
  expect(pids.every(isRunning)).toBe(true);
  clock.advance(1);
  expect((await failed).message).toBe('is not available: its command did not exit within 10s');
  await waitFor('their end', () => !pids.some(isRunning));
});

test('a command that cannot be killed, because it changed its user, is not waited for', async () => {
  const clock = createFakeClock();
  const pidFile = join(cwd, 'pid-of-sudo');
  const failed = read(
    { command: `echo $$ > ${pidFile}; exec sleep 1000` },
    { shellEnv: { PATH: process.env.PATH } },
    clock,
  ).catch((error) => error);
  const pid = await waitFor(
    'its pid',
    () => Number(execFileSync('sh', ['-c', `cat ${pidFile} 2>/dev/null || true`], { encoding: 'utf8' })) || null,
  );
  const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
    throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' });
  });
  clock.advance(10_000);
  kill.mockRestore();
  expect((await failed).message).toBe('is not available: its command did not exit within 10s');
  process.kill(-pid, 'SIGKILL');
  await waitFor('its end', () => !isRunning(pid));
});

test.runIf(process.getuid?.() === 0)('a command runs as the owner of the app', async () => {
  expect(await read({ command: 'id -u; id -g; id -G' }, { uid: 65_534, gid: 65_534, cwd: '/' })).toBe(
    '65534\n65534\n65534',
  );
});
