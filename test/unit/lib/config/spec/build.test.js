import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { readPm2Variables, readOptions } from '../../../../../lib/config/options/options.js';
import { buildSpec, snapshot } from '../../../../../lib/config/spec/build.js';
import { flatten, listLayers } from '../../../../../lib/app-spec/layers.js';
import { isRoot, NOBODY, userFolders } from '../../../../helpers/other-user.js';

const NODE = { file: '/opt/node/bin/node', version: 'v20.11.0' };

let cwd;
let bin;

const FILES = {
  'app.js': ['1'],
  'app.mjs': ['1'],
  'app.cjs': ['1'],
  'mapped.js': ['1'],
  'mapped.js.map': ['{}'],
  'mapped.mjs': ['1'],
  'mapped.mjs.map': ['{}'],
  'mapped.py': ['1'],
  'mapped.py.map': ['{}'],
  'app.ts': ['1'],
  'app.tsx': ['1'],
  'two words.js': ['1'],
  'py/job.py': ['1'],
  'run.sh': ['1'],
  'no-extension': ['console.log(1)'],
  'node-cli': ['#!/usr/bin/env node\n1'],
  'node-flags': ['#!/usr/bin/env -S node --no-warnings\n1'],
  'ruby-cli': ['#!/usr/bin/ruby -w\n1'],
  tool: ['#!/bin/sh\n1', 0o755],
  binary: ['\u007fELF\u0002\u0000\u0000', 0o755],
  'package.json': ['{"version":"2.3.4"}'],
  'broken/package.json': ['{'],
  'broken/app.js': ['1'],
  'shop/ecosystem.config.js': ['1'],
  '.hidden': ['1'],
  'bin/bash': ['', 0o755],
  'bin/node': ['', 0o755],
  'bin/python3': ['', 0o755],
  'bin/deno': ['', 0o755],
  'bin/hello': ['#!/bin/sh\n', 0o755],
  'bin/not-executable': [''],
};

beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'nclust-spec-'));
  bin = join(cwd, 'bin');
  for (const folder of ['bin', 'py', 'broken', 'shop']) mkdirSync(join(cwd, folder));
  for (const [path, [text, mode = 0o644]] of Object.entries(FILES)) {
    writeFileSync(join(cwd, path), text);
    chmodSync(join(cwd, path), mode);
  }
});
afterAll(() => rmSync(cwd, { recursive: true }));

/** @param {Record<string, unknown>} [options] */
const build = (target, options = {}, args = [], env = {}) =>
  buildSpec(target, args, readOptions('start', options), { cwd, env: { PATH: bin, ...env }, node: NODE });

const effective = (spec) => flatten(listLayers(spec, { id: 0, slot: 0 }, '/h'));

describe('a script', () => {
  test.each([
    ['app.js'],
    ['app.mjs'],
    ['app.cjs'],
    ['./app.js'],
    ['no-extension'],
    ['node-cli'],
    ['node-flags'],
    ['two words.js'],
  ])('%s runs under this Node.js, as kind "node"', (target) => {
    expect(build(target)).toMatchObject({
      kind: 'node',
      file: NODE.file,
      interpreter: NODE.file,
      script: join(cwd, target),
      execArgs: [],
      nodeVersion: 'v20.11.0',
      mode: 'fork',
      instances: 1,
      instancesGiven: false,
    });
  });

  test.each([
    [['mapped.js'], {}, ['--enable-source-maps']],
    [['mapped.mjs'], { instances: '2' }, ['--enable-source-maps']],
    [['mapped.js'], { disableSourceMapSupport: true }, []],
    [['mapped.js'], { sourceMapSupport: false }, []],
    [['app.js'], {}, []],
    [['app.js'], { sourceMapSupport: true }, ['--enable-source-maps']],
    [['mapped.py'], {}, []],
    [['node', ['mapped.js']], {}, []],
  ])('%j with %j uses source maps if its map is beside it, as in PM2', ([target, args], options, flags) => {
    expect(build(target, options, args ?? []).interpreterArgs).toEqual(flags);
  });

  test('the variables of PM2 for all apps are defaults of its settings', () => {
    const env = {
      PM2_KILL_SIGNAL: 'SIGUSR2',
      PM2_KILL_TIMEOUT: '3000',
      PM2_KILL_USE_MESSAGE: '1',
      PM2_GRACEFUL_LISTEN_TIMEOUT: '4000',
      PM2_PROCESS_INSTANCE_VAR: 'WORKER',
    };
    const settings = {
      stopSignal: 'SIGUSR2',
      killTimeoutMs: 3_000,
      shutdownWithMessage: true,
      listenTimeoutMs: 4_000,
      instanceVar: 'WORKER',
    };
    expect(build('app.js', {}, [], env)).toMatchObject(settings);
    expect(build('app.js', { killTimeout: '9s', stopSignal: 'SIGINT' }, [], env)).toMatchObject({
      ...settings,
      killTimeoutMs: 9_000,
      stopSignal: 'SIGINT',
    });
    for (const off of ['', 'false', '0'])
      expect(build('app.js', {}, [], { PM2_KILL_USE_MESSAGE: off })).toMatchObject({ shutdownWithMessage: false });
  });

  test.each([
    ['PM2_KILL_SIGNAL', 'SIGNOPE'],
    ['PM2_KILL_TIMEOUT', 'abc'],
    ['PM2_GRACEFUL_LISTEN_TIMEOUT', '-'],
    ['PM2_PROCESS_INSTANCE_VAR', 'A=B'],
  ])('%s=%s is ignored, with a warning', (variable, value) => {
    const env = { [variable]: value };
    const { shellEnv, ...plain } = build('app.js', {}, []);
    expect(build('app.js', {}, [], env)).toEqual({ ...plain, shellEnv: { ...shellEnv, ...env } });
    expect(readPm2Variables(env).warnings).toEqual([
      expect.stringMatching(`^${variable} is "${value}".* It is ignored`),
    ]);
  });

  test.each([
    ['py/job.py', 'python3', { PYTHONUNBUFFERED: '1' }],
    ['run.sh', 'bash', {}],
  ])('%s runs under %s', (target, interpreter, env) => {
    const file = join(bin, interpreter);
    expect(build(target, {}, ['a b'])).toMatchObject({
      kind: 'exec',
      file,
      interpreter: file,
      execArgs: [join(cwd, target), 'a b'],
      args: ['a b'],
      nodeVersion: null,
      interpreterEnv: env,
    });
  });

  test.each([
    ['binary', {}],
    ['tool', {}],
    ['no-extension', { interpreter: 'none' }],
  ])('%s runs without an interpreter', (target, options) => {
    chmodSync(join(cwd, 'no-extension'), 0o755);
    expect(build(target, options, ['-v'])).toMatchObject({
      kind: 'exec',
      file: join(cwd, target),
      interpreter: 'none',
      execArgs: ['-v'],
      name: target,
    });
  });

  test.each([
    [undefined, null],
    ['python3', 'python3'],
    ['none', 'none'],
  ])('a script with the interpreter %s has interpreterGiven %s', (interpreter, given) => {
    chmodSync(join(cwd, 'no-extension'), 0o755);
    expect(build('no-extension', interpreter === undefined ? {} : { interpreter })).toMatchObject({
      interpreterGiven: given,
    });
  });

  test('a script that is a program in PATH runs by its full path', () => {
    expect(build('hello', {}, ['100'])).toMatchObject({
      kind: 'exec',
      file: join(bin, 'hello'),
      script: join(bin, 'hello'),
      name: 'hello',
      execArgs: ['100'],
    });
  });

  test('a script of Python keeps the PYTHONUNBUFFERED of the user', () => {
    expect(effective(build('py/job.py', {}, [], { PYTHONUNBUFFERED: '' })).PYTHONUNBUFFERED).toBe('');
    expect(effective(build('py/job.py')).PYTHONUNBUFFERED).toBe('1');
  });

  test.each([
    [['--allow-net'], ['run', '--allow-net']],
    [
      ['run', '-A'],
      ['run', '-A'],
    ],
    [[], ['run']],
  ])('a script under deno with %j gets the subcommand once', (given, flags) => {
    const options = { interpreter: 'deno', ...(given.length > 0 ? { interpreterArgs: given.join(' ') } : {}) };
    expect(build('app.mjs', options, ['x'])).toMatchObject({
      kind: 'exec',
      file: join(bin, 'deno'),
      execArgs: [...flags, join(cwd, 'app.mjs'), 'x'],
    });
  });

  test('a script of Node.js has --node-args in interpreterArgs, not in execArgs', () => {
    expect(build('app.js', { nodeArgs: '--max-old-space-size=64 --title "my app"' })).toMatchObject({
      interpreterArgs: ['--max-old-space-size=64', '--title', 'my app'],
      execArgs: [],
    });
  });
});

describe('TypeScript', () => {
  const under = (version) => buildSpec('app.ts', [], {}, { cwd, env: { PATH: bin }, node: { ...NODE, version } });

  test.each([
    ['v22.6.0', ['--experimental-strip-types']],
    ['v22.17.1', ['--experimental-strip-types']],
    ['v22.18.0', []],
    ['v23.0.0', ['--experimental-strip-types']],
    ['v23.6.0', []],
    ['v24.0.0', []],
    ['v26.1.0', []],
  ])('TypeScript runs under Node.js %s with the flags %j', (version, flags) => {
    expect(under(version)).toMatchObject({ kind: 'node', interpreterArgs: flags });
  });

  test.each([['v20.11.0'], ['v21.7.0'], ['v22.5.1']])('TypeScript under %s is refused, with the reason', (version) => {
    expect(() => under(version)).toThrow(
      expect.objectContaining({
        code: 'ERR_NCLUST_INTERPRETER_UNSUPPORTED',
        message: expect.stringMatching(/TypeScript needs/),
        hint: expect.stringContaining('--interpreter'),
      }),
    );
  });
});

describe('a shell command', () => {
  test('a shell command runs through bash unchanged', () => {
    expect(build('  echo "$HOME"   | cat ')).toMatchObject({
      kind: 'exec',
      file: join(bin, 'bash'),
      script: 'echo "$HOME"   | cat',
      execArgs: ['-c', 'echo "$HOME"   | cat'],
      name: 'echo "$HOME" | cat',
      mode: 'fork',
    });
  });

  test('a shell command gets further arguments without quoting them again', () => {
    expect(build('npm run serve', { name: 'web' }, ["it's", '$x'])).toMatchObject({
      name: 'web',
      execArgs: ['-c', 'npm run serve "$@"', 'bash', "it's", '$x'],
    });
  });

  test('a shell command runs through sh if there is no bash', () => {
    expect(build('a b', {}, [], { PATH: '/nowhere' })).toMatchObject({ file: '/bin/sh' });
  });

  test('a shell command refuses an interpreter', () => {
    expect(() => build('a b', { interpreter: 'ruby' })).toThrow(expect.objectContaining({ code: 'ERR_NCLUST_USAGE' }));
  });
});

describe('mode and instances', () => {
  test.each([
    ['app.js', '4', 'cluster', 4],
    ['app.js', '1', 'cluster', 1],
    ['app.js', 'max', 'cluster', 'max'],
    ['app.js', '0', 'cluster', 'max'],
    ['app.js', '-1', 'cluster', '-1'],
    ['app.js', '50%', 'cluster', '50%'],
    ['run.sh', '4', 'fork', 4],
    ['binary', 'max', 'fork', 'max'],
  ])('%s -i %s runs in %s mode', (target, given, mode, instances) => {
    expect(build(target, { instances: given })).toMatchObject({ mode, instances, instancesGiven: true });
  });
});

describe('name, version and folder', () => {
  test.each([
    ['app.js', 'app'],
    ['py/job.py', 'job'],
    ['two words.js', 'two words'],
    ['.hidden', '.hidden'],
    [`echo ${'x'.repeat(200)}`, `echo ${'x'.repeat(95)}`],
  ])('the name of %j is %j', (target, name) => {
    expect(build(target).name).toBe(name);
  });

  test('the version is that of the nearest readable package.json', () => {
    expect(build('app.js').version).toBe('2.3.4');
    expect(build('broken/app.js').version).toBe('2.3.4');
    expect(build('hello').version).toBe('2.3.4');
  });

  test.each([
    ['a named pipe', (path) => execFileSync('mkfifo', [path])],
    ['a device that never ends', (path) => symlinkSync('/dev/zero', path)],
    ['a huge file', (path) => (writeFileSync(path, ''), truncateSync(path, 3 * 1024 ** 3))],
  ])('%s in place of a package.json is ignored', (_, make) => {
    const file = join(cwd, 'py/package.json');
    make(file);
    onTestFinished(() => rmSync(file));
    expect(build('py/job.py').version).toBe('2.3.4');
  });

  test.runIf(isRoot)('the package.json of an app with another user is read as that user', () => {
    const { own, closed, plant } = userFolders();
    writeFileSync(join(closed, 'package.json'), '{"version":"6.6.6"}');
    plant('app.js', (path) => writeFileSync(path, ''));
    plant('package.json', (path) => symlinkSync(join(closed, 'package.json'), path));
    expect(build('app.js', { cwd: own, uid: NOBODY.uid }).version).toBe('N/A');
  });

  test('a folder runs its index.js under the name of the folder, and a program of this name comes first', () => {
    for (const name of ['dist', 'hello']) {
      mkdirSync(join(cwd, name));
      onTestFinished(() => rmSync(join(cwd, name), { recursive: true }));
      writeFileSync(join(cwd, name, 'index.js'), '');
    }
    for (const target of ['dist', './dist/'])
      expect(build(target)).toMatchObject({ name: 'dist', kind: 'node', script: join(cwd, 'dist/index.js') });
    expect(build('hello').script).toBe(join(bin, 'hello'));
    expect(build('./hello').script).toBe(join(cwd, 'hello/index.js'));
  });

  test('node as the script takes the options of Node.js', () => {
    expect(build(process.execPath, { nodeArgs: '--expose-gc' }, ['app.js'])).toMatchObject({
      kind: 'exec',
      interpreter: 'none',
      interpreterArgs: ['--expose-gc'],
      execArgs: ['--expose-gc', 'app.js'],
    });
  });

  test('a script is searched in --cwd, then in the current folder', () => {
    expect(build('job.py', { cwd: 'py' })).toMatchObject({ script: join(cwd, 'py/job.py'), cwd: join(cwd, 'py') });
    expect(build('app.js', { cwd: 'py' })).toMatchObject({ script: join(cwd, 'app.js'), cwd: join(cwd, 'py') });
  });
});

test('buildSpec converts every option to its unit', () => {
  expect(
    build('app.js', {
      name: 'api',
      namespace: 'shop',
      autorestart: false,
      maxRestarts: '3',
      restartDelay: '1s',
      expBackoffRestartDelay: '50',
      minUptime: '2s',
      stopExitCodes: ['0', '2,3'],
      killTimeout: '1m',
      stopSignal: 'usr2',
      waitReady: true,
      listenTimeout: '5000',
    }),
  ).toMatchObject({
    name: 'api',
    namespace: 'shop',
    autorestart: false,
    maxRestarts: 3,
    restartDelayMs: 1_000,
    backoffMs: 50,
    minUptimeMs: 2_000,
    stopExitCodes: [0, 2, 3],
    killTimeoutMs: 60_000,
    stopSignal: 'SIGUSR2',
    waitReady: true,
    listenTimeoutMs: 5_000,
  });
});

describe('the user of an app', () => {
  test('the user of an app is the user of the manager by default', () => {
    expect(build('app.js')).toMatchObject({ uid: null, gid: null, user: userInfo().username });
  });

  test.runIf(process.getuid?.() === 0)('the user of an app is the user of --uid, with its group and home', () => {
    const spec = build('app.js', { uid: 'nobody' }, [], { HOME: '/root', PATH: `${bin}:${process.env.PATH}` });
    expect(spec).toMatchObject({ uid: 65_534, user: 'nobody' });
    expect(effective(spec)).toMatchObject({ USER: 'nobody', LOGNAME: 'nobody' });
    expect(spec.gid).toBeGreaterThan(0);
    expect(effective(spec).HOME).not.toBe('/root');
    expect(build('app.js', { uid: '4242' })).toMatchObject({ uid: 4242, gid: 4242, user: '4242' });
    expect(() => build('app.js', { uid: 'no-such-user' })).toThrow(
      expect.objectContaining({ code: 'ERR_NCLUST_BAD_SPEC', message: expect.stringContaining('no-such-user') }),
    );
  });
});

test.runIf(process.getuid?.() === 0)('--version of an interpreter runs as the user of the app', () => {
  chmodSync(cwd, 0o755);
  const interpreter = join(bin, 'node-20');
  writeFileSync(interpreter, '#!/bin/sh\n/usr/bin/id -u\n', { mode: 0o755 });
  expect(build('app.js', { uid: '65534', interpreter })).toMatchObject({ kind: 'node', nodeVersion: '65534' });
});

test('snapshot leaves out the variables that belong to this process', () => {
  expect(
    snapshot({
      A: '1',
      B: undefined,
      NODE_CHANNEL_FD: '3',
      NODE_UNIQUE_ID: '1',
      NCLUST_INSTANCE: 'x',
      NCLUST_HOME: '/h',
    }),
  ).toEqual({ A: '1', NCLUST_HOME: '/h' });
});

test.each([
  ['a missing script', 'nope.js', {}, 'ERR_NCLUST_SCRIPT_NOT_FOUND', 'nope.js'],
  ['a folder', './py', {}, 'ERR_NCLUST_SCRIPT_NOT_FOUND', './py'],
  ['a file in PATH that is not executable', 'not-executable', {}, 'ERR_NCLUST_SCRIPT_NOT_FOUND', 'not-executable'],
  ['a missing working directory', 'app.js', { cwd: 'nowhere' }, 'ERR_NCLUST_CWD_NOT_FOUND', 'nowhere'],
  ['a working directory that is a file', 'app.js', { cwd: 'app.js' }, 'ERR_NCLUST_CWD_NOT_FOUND', 'app.js'],
  ['a missing interpreter', 'app.js', { interpreter: 'jruby' }, 'ERR_NCLUST_INTERPRETER_NOT_FOUND', 'jruby'],
  ['a shebang with a missing program', 'ruby-cli', {}, 'ERR_NCLUST_INTERPRETER_NOT_FOUND', 'ruby'],
  [
    'the interpreter none for a file that is not executable',
    'app.js',
    { interpreter: 'none' },
    'ERR_NCLUST_INTERPRETER_NOT_FOUND',
    'not executable',
  ],
  ['the interpreter node@20', 'app.js', { interpreter: 'node@20' }, 'ERR_NCLUST_INTERPRETER_UNSUPPORTED', 'node@20'],
  ['.tsx without bun', 'app.tsx', {}, 'ERR_NCLUST_INTERPRETER_NOT_FOUND', 'bun'],
  [
    'an argument for an interpreter that is not used',
    'binary',
    { interpreterArgs: '-x' },
    'ERR_NCLUST_USAGE',
    '--interpreter-args',
  ],
  ['--node-args of a shell command', 'node app.js', { nodeArgs: '-x' }, 'ERR_NCLUST_USAGE', '--node-args was given'],
  ['the name all', 'app.js', { name: 'all' }, 'ERR_NCLUST_BAD_SPEC', '"all"'],
])('%s is refused', (_, target, options, code, word) => {
  expect(() => build(target, options)).toThrow(
    expect.objectContaining({ code, message: expect.stringContaining(word) }),
  );
});

test.each([
  ['a file of a similar name', 'appp.mjs', 'Did you mean "app.mjs"?'],
  ['a file in another folder', './py/jobs.py', 'Did you mean "py/job.py"?'],
  ['the config file of a folder', './shop', 'It contains a config file: nclust start '],
  ['the commands for a folder', './py', 'Give the path of a script in it; nclust serve ./py serves its files.'],
  ['the quotes of a shell command', 'nothing-like-it.rb', 'Put a shell command in quotes'],
])('the error for a mistyped script hints at %s', (_, target, hint) => {
  expect(() => build(target, {})).toThrow(expect.objectContaining({ hint: expect.stringContaining(hint) }));
});
