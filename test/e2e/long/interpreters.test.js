import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { takePort } from '../../helpers/ports.js';
import { environmentOf, instancesOf } from '../../helpers/processes.js';
import { runProgram } from '../../helpers/run-program.js';
import { nodeUnderTest, sandbox } from '../../helpers/sandbox.js';

const isInstalled = (name) => (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, name)));

test.each([
  ['esm-top-level-await.mjs', 'hello from esm', 1],
  ['esm-top-level-await.mjs', 'hello from esm', 2],
])('%s runs and answers "%s" with %d instances', async (fixture, greeting, instances) => {
  const home = await sandbox();
  const app = await home.app(fixture, { instances });
  expect(await app.get()).toMatchObject({ greeting });
  expect(await app.instances()).toHaveLength(instances);
});

test.each([['http-echo.cjs'], ['http-echo.js']])('%s runs as CommonJS', async (as) => {
  const home = await sandbox();
  expect(
    await home.nclust('start', home.place('http-echo', as), { env: { PORT: String(await takePort()) } }),
  ).toMatchObject({ exitStatus: 0 });
  expect(await home.list()).toMatchObject([{ name: 'http-echo', status: 'online' }]);
});

test('a .js file in a package of type module runs as ES module', async () => {
  const home = await sandbox();
  writeFileSync(join(home.work, 'package.json'), '{"type":"module","version":"3.2.1"}');
  const script = home.place('esm-top-level-await.mjs', 'app.js');
  expect(await home.nclust('start', script, '-i', '2', { env: { PORT: String(await takePort()) } })).toMatchObject({
    exitStatus: 0,
  });
  expect(await home.list()).toMatchObject([{ version: '3.2.1' }, { version: '3.2.1' }]);
});

test('a .ts file runs if Node.js strips types or bun is there, and is otherwise refused with the reason', async () => {
  const home = await sandbox();
  const probe = await runProgram(nodeUnderTest(), ['-p', 'process.features.typescript ?? false'], {
    env: { PATH: process.env.PATH },
  }).done;
  const result = await home.nclust(
    'start',
    home.place('typescript.ts', 'app.mts'),
    '--name',
    'typescript',
    '--max-restarts',
    '0',
    { env: { PORT: String(await takePort()) } },
  );
  const isBunThere = isInstalled('bun');
  expect(result.exitStatus).toBe(probe.stdout.trim() === 'false' && !isBunThere ? 1 : 0);
  if (result.exitStatus === 1) expect(result.stderr).toMatch(/TypeScript|type stripping/i);
});

test.skipIf(!isInstalled('python3'))('a .py file runs under python with unbuffered output', async () => {
  const home = await sandbox();
  const app = await home.app('python', { flags: ['--min-uptime', '700'] });
  expect(await app.instances()).toMatchObject([{ mode: 'fork', interpreter: expect.stringContaining('python') }]);
  await home.waitFor('the server to answer', async () => (await app.get()).greeting === 'hello from python');
  await home.waitFor('the output in the log', async () =>
    (await home.nclust('logs', app.name, '--nostream', '--raw')).stdout.includes('python is there'),
  );
});

test('a .sh file runs under bash with its arguments', async () => {
  const home = await sandbox();
  const app = await home.app('bash', { args: ['one', 'two words'], flags: ['--min-uptime', '200'] });
  const { stdout } = await home.nclust('logs', app.name, '--nostream', '--raw');
  expect(stdout).toMatch(/bash \d+ is there with arguments: one two words/);
  expect((await home.nclust('logs', app.name, '--nostream', '--raw', '--err')).stdout).toMatch(/bash talks on stderr/);
});

test('an executable without extension runs by its shebang', async () => {
  const home = await sandbox();
  const app = await home.app('shebang-without-extension', { args: ['x'], flags: ['--min-uptime', '300'] });
  expect(instancesOf(home.home)).toMatchObject([{ command: 'sleep 97531' }]);
  expect((await home.nclust('logs', app.name, '--nostream', '--raw')).stdout).toContain('with arguments: x');
});

test.each([['bun'], ['deno']])('%s runs a script if it is installed', async (name) => {
  if (!isInstalled(name)) return;
  const home = await sandbox();
  const app = await home.app('esm-top-level-await.mjs', {
    name,
    flags: ['--interpreter', name, ...(name === 'deno' ? ['--interpreter-args', 'run -A'] : [])],
  });
  await home.waitFor('an answer', async () => (await app.get()).greeting === 'hello from esm');
});

test('--interpreter none runs a binary as it is', async () => {
  const home = await sandbox();
  expect(
    await home.nclust('start', '/bin/sleep', '--interpreter', 'none', '--min-uptime', '200', '--', '4321'),
  ).toMatchObject({ exitStatus: 0 });
  expect(instancesOf(home.home)).toMatchObject([{ command: expect.stringContaining('sleep 4321') }]);
});

test('a binary that cannot be executed is named in the error', async () => {
  const home = await sandbox();
  writeFileSync(join(home.work, 'not-executable'), '\u007fELF\u0000\u0000garbage', { mode: 0o755 });
  const result = await home.nclust('start', './not-executable', '--interpreter', 'none', '--max-restarts', '0');
  expect(result.exitStatus).toBe(1);
  expect(result.stderr).toMatch(/not-executable/);
});

describe.each([
  [1, []],
  [2, []],
])('the agent is invisible with %d instances', (instances, flags) => {
  test.each(['prints-main.js', 'prints-main-esm.mjs'])('%s sees the same as under plain Node.js', async (fixture) => {
    const home = await sandbox();
    const script = home.place(fixture);
    const bare = runProgram(nodeUnderTest(), ['--stack-size=1000', script, 'a', '--b'], {
      env: home.env,
      cwd: home.work,
    });
    const bareSees = await home.waitFor('the output of the program under plain Node.js', () => seen(bare.stdout()));
    bare.child.kill('SIGKILL');
    await bare.done;

    const words = [
      'start',
      script,
      '--name',
      'main',
      '--min-uptime',
      '600',
      '--node-args',
      '--stack-size=1000',
      ...flags,
      ...(instances > 1 ? ['-i', String(instances)] : []),
    ];
    expect(await home.nclust(...words, '--', 'a', '--b')).toMatchObject({ exitStatus: 0 });
    const [{ outFile, pid }] = await home.list();
    const nclustSees = await home.waitFor('the output of the program under nclust', () =>
      seen(readFileSync(outFile, 'utf8')),
    );

    const isCluster = instances > 1;
    expect({ ...nclustSees, env: null, child: null }).toEqual({
      ...bareSees,
      isWorker: isCluster,
      isPrimary: !isCluster,
      env: null,
      child: null,
    });
    expect(added(bareSees.env, nclustSees.env)).toEqual([
      'NCLUST_INSTANCE',
      'NODE_APP_INSTANCE',
      'PM2_HOME',
      'name',
      'pm_id',
    ]);
    expect(added(environmentOf(pid), nclustSees.env)).toEqual([]);
    if (bareSees.child) {
      expect({ ...nclustSees.child, env: null }).toEqual({ ...bareSees.child, env: null });
      expect(added(bareSees.child.env, nclustSees.child.env)).toEqual([
        'NCLUST_INSTANCE',
        'NODE_APP_INSTANCE',
        'PM2_HOME',
        'name',
        'pm_id',
      ]);
    }
  });
});

test.runIf(process.getuid?.() === 0)('--uid and --gid run the app as that user and group', async () => {
  const home = await sandbox();
  chmodSync(dirname(home.work), 0o755);
  const app = await home.app('http-echo', { flags: ['--uid', 'nobody', '--gid', 'nogroup'] });
  const [pid] = await app.pids();
  expect(statSync(`/proc/${pid}`)).toMatchObject({ uid: 65534, gid: 65534 });
  expect(await app.get()).toMatchObject({ pid });
  expect(await home.nclust('start', home.place('keeps-alive'), '--uid', 'no-such-user')).toMatchObject({
    exitStatus: 1,
  });
});

const seen = (output) => {
  const line = output.split('\n').find((one) => one.startsWith('prints-main {'));
  return line && JSON.parse(line.slice('prints-main '.length));
};

const added = (before, after) =>
  Object.keys(after)
    .filter((key) => !(key in before))
    .sort();
