import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { buildSpec } from '../../../../../lib/config/spec/build.js';
import { changeSpecs, specChange } from '../../../../../lib/config/spec/change.js';

const folder = mkdtempSync(join(tmpdir(), 'nclust-change-'));
afterAll(() => rmSync(folder, { recursive: true }));
for (const name of ['app.js', 'job.sh', 'tool'])
  writeFileSync(join(folder, name), name === 'app.js' ? '1' : '#!/bin/sh\n', { mode: 0o755 });
mkdirSync(join(folder, 'release'));
writeFileSync(join(folder, 'release', 'package.json'), '{"version": "2.1.0"}');

const here = {
  cwd: folder,
  env: { PATH: '/usr/bin:/bin' },
  node: { file: process.execPath, version: process.version },
};
const specOf = (target, args, options = {}) => buildSpec(target, args, options, here);
const change = (spec, options, args = []) => specChange(spec, options, args, here);

describe('a change of a listed app', () => {
  test.each([
    ['a Node.js program', 'app.js', {}],
    ['a script with an interpreter', 'job.sh', { interpreterArgs: ['-e'] }],
    ['a program without an interpreter', 'tool', { interpreter: 'none' }],
    ['a shell command', 'ls -l', {}],
  ])('a change of a listed app gives %s the same arguments as a new start', (_, target, options) => {
    const { args, execArgs, ...rest } = specOf(target, ['a', 'b c'], options);
    const before = specOf(target, ['old'], options);
    expect({ ...before, ...change(before, {}, ['a', 'b c']) }).toEqual({ ...rest, args, execArgs });
  });

  test('a change of a listed app applies --node-args and arguments together', () => {
    const before = specOf('job.sh', ['old'], { interpreterArgs: ['-e'] });
    expect(change(before, { nodeArgs: ['-x'] }, ['new'])).toMatchObject({
      args: ['new'],
      interpreterArgs: ['-x'],
      execArgs: ['-x', join(folder, 'job.sh'), 'new'],
    });
  });

  test('a change resolves --cwd from the folder of the shell, and reads the version of a shell command there', () => {
    expect(change(specOf('app.js', []), { cwd: 'release' })).toMatchObject({
      cwd: join(folder, 'release'),
      version: 'N/A',
    });
    expect(change(specOf('ls -l', []), { cwd: 'release' })).toMatchObject({
      cwd: join(folder, 'release'),
      version: '2.1.0',
    });
  });

  test.runIf(process.getuid?.() === 0)('a change of a listed app applies --uid and --gid', () => {
    const before = specOf('app.js', [], { uid: '65534' });
    expect(change(before, { gid: '0' })).toMatchObject({ uid: 65534, gid: 0 });
    expect(change(before, { uid: '0' })).toMatchObject({ uid: 0, gid: 0, user: 'root', ownerEnv: { USER: 'root' } });
  });
});

test.runIf(process.getuid?.() === 0)('--version of another interpreter runs as the new user of the app', () => {
  chmodSync(folder, 0o755);
  const interpreter = join(folder, 'node-20');
  writeFileSync(interpreter, '#!/bin/sh\n/usr/bin/id -u\n', { mode: 0o755 });
  const before = specOf('app.js', [], { uid: '65533' });
  expect(change(before, { interpreter, uid: '65534' })).toMatchObject({ uid: 65_534, nodeVersion: '65534' });
});

test('specChange without options changes nothing', () => {
  expect(change(specOf('app.js', ['a']), {})).toEqual({});
});

test('specChange refuses a missing folder', () => {
  expect(() => change(specOf('app.js', []), { cwd: 'nowhere' })).toThrow(/nowhere" does not exist/);
});

test.each([['.'], [], ['src', 'a b']].map((watch) => [watch]))('start of a listed app can set watch to %j', (watch) => {
  const slots = /** @type {any} */ ([{ name: 'app', spec: specOf('app.js', []) }]);
  expect(changeSpecs(slots, { read: { watch }, args: [], isShellNew: false }, here)).toMatchObject([
    { watch, watchOff: false },
  ]);
});

test('start of a listed app with an option for new apps is refused, and the hint names what works', () => {
  const slots = /** @type {any} */ ([{ name: 'app', spec: specOf('app.js', []) }]);
  const read = { watch: ['.'], autostart: false };
  expect(() => changeSpecs(slots, { read, args: [], isShellNew: false }, here)).toThrow(
    expect.objectContaining({
      code: 'ERR_NCLUST_USAGE',
      hint: 'Start it under another --name, or delete it first: nclust delete app',
    }),
  );
});
