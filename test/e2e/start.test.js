import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { takePort } from '../helpers/ports.js';
import { environmentOf, instancesOf } from '../helpers/processes.js';
import { runProgram } from '../helpers/run-program.js';
import { nodeUnderTest, sandbox } from '../helpers/sandbox.js';
import { fetchOnce } from '../helpers/sandbox-app.js';

describe('start returns when the app is up', () => {
  test('a server is up when it listens, and answers the next request', async () => {
    const home = await sandbox();
    const port = await takePort();
    const result = await home.nclust('start', home.place('listens-late'), {
      env: { PORT: String(port), LATE_MS: '600' },
    });

    expect(result).toMatchObject({ exitStatus: 0 });
    expect(await fetchOnce(`http://127.0.0.1:${port}/`)).toContain('pid');
    expect(result.durationMs).toBeGreaterThan(600);
    expect(await home.list()).toMatchObject([
      { id: 0, name: 'listens-late', status: 'online', restarts: 0, mode: 'fork', isReady: true },
    ]);
  });

  test('an app with --wait-ready is up when it sends ready', async () => {
    const home = await sandbox();
    const result = await home.nclust('start', home.place('sends-ready'), '--wait-ready', {
      env: { READY_AFTER_MS: '500' },
    });

    expect(result).toMatchObject({ exitStatus: 0 });
    expect(result.durationMs).toBeGreaterThan(500);
    expect(await home.list()).toMatchObject([{ status: 'online', isReady: true }]);
  });

  test('a program that does not listen is up after --min-uptime', async () => {
    const home = await sandbox();
    const result = await home.nclust('start', home.place('keeps-alive'), '--min-uptime', '700');

    expect(result).toMatchObject({ exitStatus: 0 });
    expect(result.durationMs).toBeGreaterThan(700);
    expect(await home.list()).toMatchObject([{ status: 'online' }]);
  });

  test('a program that finishes its work is stopped, not failed', async () => {
    const home = await sandbox();
    const result = await home.nclust('start', home.place('exits-zero'), '--no-autorestart');

    expect(result).toMatchObject({ exitStatus: 0 });
    expect(await home.list()).toMatchObject([{ status: 'stopped', pid: 0, restarts: 0 }]);
  });

  test('--no-wait returns while the app is still starting', async () => {
    const home = await sandbox();
    const port = await takePort();
    const result = await home.nclust('start', home.place('listens-late'), '--no-wait', {
      env: { PORT: String(port), LATE_MS: '3000' },
    });

    expect(result).toMatchObject({ exitStatus: 0 });
    expect(await home.list()).toMatchObject([{ status: 'launching', isReady: false }]);
  });
});

describe('a start that fails exits 1 and prints the reason', () => {
  test('a crash at boot is shown with the last error lines', async () => {
    const home = await sandbox();
    const result = await home.nclust('start', home.place('crashes-at-boot'), '--max-restarts', '1');

    expect(result.exitStatus).toBe(1);
    expect(result.stderr).toContain('crashes-at-boot: the database is not there');
    expect(result.stderr).toContain('"crashes-at-boot"');
    await home.waitFor('the app to be given up', async () => (await home.list())[0].status === 'errored');
  });

  test('an app that is not ready at its deadline is reported and stopped', async () => {
    const home = await sandbox();
    const result = await home.nclust(
      'start',
      home.place('never-ready'),
      '--wait-ready',
      '--listen-timeout',
      '600',
      '--kill-timeout',
      '500',
      '--max-restarts',
      '0',
    );

    expect(result.exitStatus).toBe(1);
    expect(result.stderr).toContain('never-ready: waits for a migration that never ends');
    await home.waitFor('the app to be given up', async () => (await home.list())[0].status === 'errored');
    expect(instancesOf(home.home)).toEqual([]);
    expect((await home.list())[0].lastDeath).toMatchObject({ cause: 'boot-timeout', wasReady: false });
  });

  test.each([
    ['a missing script', ['start', './no-such-file.js'], /no-such-file\.js/],
    ['a missing interpreter', ['start', './app.js', '--interpreter', 'no-such-interpreter'], /no-such-interpreter/],
    ['a directory', ['start', './folder'], /folder/],
  ])('%s is named in the error', async (_, words, message) => {
    const home = await sandbox();
    home.place('keeps-alive', 'app.js');
    mkdirSync(join(home.work, 'folder'));
    const result = await home.nclust(...words);

    expect(result).toMatchObject({ exitStatus: 1, stdout: '' });
    expect(result.stderr).toMatch(message);
  });

  test.each([
    ['an unknown option', ['start', 'app.js', '--no-such-option']],
    ['an invalid number', ['start', 'app.js', '-i', 'many']],
    ['an invalid duration', ['start', 'app.js', '--kill-timeout', 'soon']],
    ['an unknown command', ['strat', 'app.js']],
    ['a missing argument', ['scale', 'api']],
  ])('%s is a usage error, with exit status 2, and starts nothing', async (_, words) => {
    const home = await sandbox();
    home.place('keeps-alive', 'app.js');
    const result = await home.nclust(...words);

    expect(result).toMatchObject({ exitStatus: 2, stdout: '' });
    expect(result.stderr).not.toBe('');
    expect(home.processes()).toEqual([]);
  });

  test('the name of a running app is refused, and --force starts it anyway', async () => {
    const home = await sandbox();
    const app = await home.app('http-echo');
    const second = await home.nclust('start', app.script);
    expect(second).toMatchObject({ exitStatus: 1, stdout: '' });
    expect(second.stderr).toMatch(/http-echo/);

    const port = await takePort();
    const forced = await home.nclust('start', app.script, '--force', { env: { PORT: String(port) } });
    expect(forced).toMatchObject({ exitStatus: 0 });
    expect(instancesOf(home.home)).toHaveLength(2);
  });
});

describe('the environment of an app', () => {
  test('an app gets its arguments, directory, name, number and the shell env, and no other variables', async () => {
    const home = await sandbox();
    const folder = join(home.work, 'elsewhere');
    mkdirSync(folder);
    const app = await home.app('http-echo', {
      name: 'api',
      instances: 2,
      args: ['--verbose', '-x', 'two words'],
      env: { COLOUR: 'blue' },
      flags: ['--namespace', 'shop', '--cwd', folder],
    });

    const slots = await app.instances();
    expect(slots).toMatchObject([
      { id: 0, slot: 0, namespace: 'shop', mode: 'cluster', cwd: folder },
      { id: 1, slot: 1, namespace: 'shop', mode: 'cluster', cwd: folder },
    ]);
    const { argv } = await app.get('/');
    expect(argv).toEqual(['--verbose', '-x', 'two words']);
    for (const { pid, slot, id } of slots) {
      const env = environmentOf(pid);
      expect(env).toMatchObject({
        COLOUR: 'blue',
        PORT: String(app.port),
        name: 'api',
        pm_id: String(id),
        NODE_APP_INSTANCE: String(slot),
        NCLUST_HOME: home.home,
        PM2_HOME: home.home,
      });
      expect(realpathSync(`/proc/${pid}/cwd`)).toBe(folder);
    }
    const own = (await app.get('/?env=1')).env;
    const inherited = Object.keys(own).filter((key) => !(key in home.env));
    expect(inherited.sort()).toEqual(
      ['COLOUR', 'NCLUST_INSTANCE', 'NODE_APP_INSTANCE', 'PM2_HOME', 'PORT', 'name', 'pm_id'].sort(),
    );
  });

  test('a shell command runs with its arguments and a variable', async () => {
    const home = await sandbox();
    const result = await home.nclust(
      'start',
      'echo "hello $WHOM" && sleep 86400',
      '--name',
      'shell',
      '--min-uptime',
      '200',
      { env: { WHOM: 'world' } },
    );

    expect(result).toMatchObject({ exitStatus: 0 });
    const logs = await home.nclust('logs', 'shell', '--nostream', '--raw');
    expect(logs.stdout).toContain('hello world');
  });

  test('a binary in PATH is started', async () => {
    const home = await sandbox();
    expect(await home.nclust('start', 'sleep', '--min-uptime', '200', '--', '86400')).toMatchObject({ exitStatus: 0 });
    expect(instancesOf(home.home)).toMatchObject([{ command: expect.stringContaining('sleep 86400') }]);
  });
});

test('start <name> starts a stopped app and restarts a running one', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo');
  const [first] = await app.pids();
  await home.nclust('stop', 'http-echo');
  expect(await app.pids()).toEqual([0]);

  expect(await home.nclust('start', 'http-echo')).toMatchObject({ exitStatus: 0 });
  const [second] = await app.pids();
  expect(second).not.toBe(0);
  expect(second).not.toBe(first);

  expect(await home.nclust('start', 'http-echo')).toMatchObject({ exitStatus: 0 });
  const [third] = await app.pids();
  expect(third).not.toBe(second);
});

test('a missing path is not taken for a pattern, even with apps in the list', async () => {
  const home = await sandbox();
  await home.app('keeps-alive');
  for (const path of ['/usr/bin/nope', '/tmp/']) {
    const result = await home.nclust('start', path);
    expect(result).toMatchObject({ exitStatus: 1, stderr: expect.stringContaining('there is no file') });
  }
});

test('a failed start leaves no process, and the home can be used again', async () => {
  const home = await sandbox();
  expect(await home.nclust('start', './missing.js')).toMatchObject({ exitStatus: 1 });
  expect(home.processes().filter((one) => one.role === 'app')).toEqual([]);
  const app = await home.app('http-echo');
  expect(await app.get()).toMatchObject({ pid: (await app.pids())[0] });
  expect(existsSync(join(home.home, 'state.json'))).toBe(true);
});

test('a command stores compiled code for the next one, if Node.js can', async () => {
  const home = await sandbox();
  const canKeep = execFileSync(nodeUnderTest(), ['-p', '"enableCompileCache" in require("node:module")'], {
    encoding: 'utf8',
  }).trim();
  await home.nclust('--version');
  expect(String(existsSync(join(String(home.env.HOME), '.cache/nclust')))).toBe(canKeep);
});

describe('--env-file', () => {
  /** Each Node.js process with the variables of the env file logs the path of its script. */
  async function withEnvFile() {
    const home = await sandbox();
    const preload = join(home.work, 'preload.cjs');
    const log = join(home.work, 'preloaded');
    writeFileSync(preload, `require('fs').appendFileSync(${JSON.stringify(log)}, process.argv[1] + '\\n');`);
    writeFileSync(join(home.work, 'app.env'), `NODE_OPTIONS=--require=${preload}\nCODE=3\n`);
    const env = { ...home.env, PATH: `${dirname(nodeUnderTest())}${delimiter}${home.env.PATH}` };
    return {
      home,
      run: (program, ...words) =>
        runProgram(fileURLToPath(new URL(`../../bin/${program}`, import.meta.url)), words, { env, cwd: home.work })
          .done,
      preloaded: () => [...new Set(readFileSync(log, 'utf8').trim().split('\n'))],
    };
  }

  test('nclust start applies NODE_OPTIONS of an env file to the app only', async () => {
    const { home, run, preloaded } = await withEnvFile();
    const script = home.place('keeps-alive');
    expect(await run('nclust.js', 'start', script, '--min-uptime', '200', '--env-file', 'app.env')).toMatchObject({
      exitStatus: 0,
    });
    expect(environmentOf(instancesOf(home.home)[0].pid).CODE).toBe('3');
    expect(preloaded()).toEqual([script]);
  });

  test('the process that evaluates a config program ignores NODE_OPTIONS of an env file', async () => {
    const { home, run, preloaded } = await withEnvFile();
    const script = home.place('keeps-alive');
    writeFileSync(
      join(home.work, 'eco.config.cjs'),
      `module.exports = { apps: [{ script: ${JSON.stringify(script)} }] };`,
    );
    expect(await run('nclust.js', 'start', 'eco.config.cjs', '--env-file', 'app.env')).toMatchObject({ exitStatus: 0 });
    expect(preloaded()).toEqual([script]);
  });

  test('nclust-runtime applies NODE_OPTIONS of an env file to the app only', async () => {
    const { home, run, preloaded } = await withEnvFile();
    const script = home.place('crashes-after');
    expect(await run('nclust-runtime', script, '--no-autorestart', '--env-file', 'app.env')).toMatchObject({
      exitStatus: 3,
    });
    expect(preloaded()).toEqual([script]);
  });

  test('an env file that is a pipe is refused with an error', async () => {
    const { home, run } = await withEnvFile();
    execFileSync('mkfifo', [join(home.work, 'pipe')]);
    expect(await run('nclust.js', 'start', home.place('keeps-alive'), '--env-file', 'pipe')).toMatchObject({
      exitStatus: 1,
      stderr: expect.stringContaining('is not a regular file'),
    });
  });
});
