import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, afterAll, describe, expect, test } from 'vitest';
import { COMMANDS } from '../../../../lib/cli/table/commands.js';
import { NclustError } from '../../../../lib/shared/errors.js';
import { checkSpec } from '../../../../lib/app-spec/check.js';
import { notificationLine, resultLine } from '../../../../lib/shared/wire/rpc.js';
import { openServer } from '../rpc-server.js';
import { slotStatus } from '../slots.js';
import { pattern } from '../../../helpers/pattern.js';
import { runCommandLine } from '../run-command-line.js';

let cwd;
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'nclust-program-'));
  for (const name of ['app.js', 'api', 'worker.js']) writeFileSync(join(cwd, name), '1');
});
afterAll(() => rmSync(cwd, { recursive: true }));

/** @param {string} [o.home] */
async function nclust(
  argv,
  { home = join(cwd, 'no-home'), folder = cwd, env = {}, platform = 'linux', isTTY = false } = {},
) {
  return runCommandLine(argv, {
    isTTY,
    isTalkTTY: isTTY,
    colourLevels: async () => ({ stdout: isTTY ? 1 : 0, stderr: isTTY ? 1 : 0 }),
    columns: isTTY ? 200 : null,
    cwd: folder,
    env: { PATH: '/usr/bin:/bin', NCLUST_HOME: home, ...env },
    platform,
  });
}

function manager(handlers = {}) {
  const slots = [
    slotStatus(),
    slotStatus({ id: 1, slot: 1, pid: 4712 }),
    slotStatus({ id: 2, name: 'worker', namespace: 'jobs', pid: 0, status: 'stopped' }),
  ];
  const changed = () => ({ slots: slots.slice(0, 2) });
  return openServer({
    list: () => ({ slots, notices: [] }),
    start: changed,
    stop: changed,
    restart: changed,
    reload: changed,
    delete: changed,
    scale: changed,
    reset: changed,
    signal: changed,
    resurrect: changed,
    ...handlers,
  });
}

describe('without a manager', () => {
  test.each([
    [['list'], 0, /^┌[^]*┘\n$/],
    [['ls'], 0, /┘\n$/],
    [['list', '--json'], 0, /^\[\]\n$/],
    [['jlist'], 0, /^\[\]\n$/],
    [['prettylist'], 0, /^\[\]\n$/],
    [['pid'], 0, /^$/],
    [['pid', 'x'], 0, /^$/],
    [['kill'], 0, /^$/],
    [['describe', 'x'], 1, /^$/],
    [['id', 'x'], 0, /^\[\]\n$/],
    [['env', '0'], 1, /^$/],
    [['stop', 'x'], 1, /^$/],
    [['restart', 'all'], 1, /^$/],
    [['reload', 'all'], 1, /^$/],
    [['update'], 0, /^$/],
    [['delete', 'x'], 1, /^$/],
    [['scale', 'x', '2'], 1, /^$/],
    [['reset', 'x'], 1, /^$/],
    [['ping'], 3, /^$/],
    [['logs'], 3, /^$/],
  ])('%j exits %d and starts nothing', async (argv, exitStatus, stdout) => {
    const result = await nclust(argv);
    expect(result).toMatchObject({ exitStatus, stdout: expect.stringMatching(stdout) });
  });

  test('list prints on stderr how to start one', async () => {
    expect((await nclust(['list'])).stderr).toMatch(/No nclust runs in .*nclust start app\.js/);
    expect((await nclust(['jlist'])).stderr).toBe('');
  });

  test('start with a missing script starts no manager', async () => {
    expect(await nclust(['start', 'nope.js'])).toMatchObject({
      exitStatus: 1,
      stdout: '',
      stderr: expect.stringContaining('nope.js'),
    });
  });
});

describe('usage', () => {
  test('no arguments print the usage and exit 1, as in PM2', async () => {
    expect(await nclust([])).toMatchObject({
      exitStatus: 1,
      stdout: '',
      stderr: expect.stringMatching(/Usage: nclust/),
    });
  });

  test.each([[['--help']], [['-h']], [['help']], [['start', '--help']], [['help', 'scale']]])(
    '%j prints help on stdout',
    async (argv) => {
      expect(await nclust(argv)).toMatchObject({
        exitStatus: 0,
        stderr: '',
        stdout: expect.stringMatching(/^Usage: nclust[^]*Examples:/),
      });
    },
  );

  test.each([['-v'], ['--version']])('%s prints the version', async (flag) => {
    expect(await nclust([flag])).toMatchObject({ exitStatus: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });

  test.each([
    [['lisst'], /unknown command 'lisst'[^]*list/],
    [['strat', 'app.js'], /start/],
    [['stop'], /missing required argument/],
    [['list', 'api'], /too many arguments/],
    [['list', '--colour'], /unknown option/],
    [['start'], /needs something/],
    [['start', 'app.js', '-i', 'many'], /--instances is "many"; accepted/],
    [['start', 'app.js', '--kill-timeout', 'x'], /--kill-timeout is "x"/],
    [['logs', '--lines', 'x'], /No nclust|--lines/],
    [['sendSignal', 'SIGFOO', 'api'], /SIGFOO/],
    [['reload', 'api', '--max-surge', 'x'], /--max-surge is "x"/],
    [['reload', 'api', '--scheduling', 'fair'], /--scheduling is "fair"; accepted: least-connections, sticky, os/],
    [
      ['serve', '.', '--basic-auth-username', 'ann'],
      /--basic-auth-password \(or PM2_SERVE_BASIC_AUTH_PASSWORD\) is ""/,
    ],
    [['list', '--sort', 'colour'], /--sort is "colour"; accepted: name/],
    [['list', '--sort', 'name:up'], /--sort is/],
    [['list', '--sort', 'constructor'], /--sort is/],
  ])('%j is refused', async (argv, said) => {
    const result = await nclust(argv);
    expect([2, 3]).toContain(result.exitStatus);
    expect(result).toMatchObject({ stdout: '', stderr: expect.stringMatching(said) });
  });

  test('Windows is refused', async () => {
    expect(await nclust(['list'], { platform: 'win32' })).toMatchObject({
      exitStatus: 1,
      stdout: '',
      stderr: expect.stringContaining('Windows'),
    });
  });

  test('every command that prints data has --json, except jlist, which always prints JSON', () => {
    const without = COMMANDS.filter(
      ({ options = [], isHidden }) => !isHidden && !options.some(([flags]) => flags === '--json'),
    ).map(({ name }) => name);
    // Except for jlist, these commands print text for people or for a shell.
    expect(without).toEqual(['jlist', 'prettylist', 'attach', 'examples', 'completion']);
  });

  test('a name or alias means only one command', () => {
    const words = COMMANDS.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
    expect(words).toEqual([...new Set(words)]);
  });
});

describe('list', () => {
  test.each([
    [['ls'], true],
    [['list', '--sort', 'name'], true],
    [['ls', '--group'], true],
    [['ls', '--json'], false],
    [['ls', '-m'], false],
  ])('%j requests only the data that it shows', async (argv, brief) => {
    const server = await manager();
    expect(await nclust(argv, { home: server.home })).toMatchObject({
      exitStatus: 0,
      stderr: '',
      stdout: expect.stringContaining('worker'),
    });
    expect(server.callsTo('list').map(({ params }) => params)).toEqual([{ brief }]);
  });

  test('list has colours on a terminal only', async () => {
    const { home } = await manager();
    expect((await nclust(['ls'], { home, isTTY: true })).stdout).toContain('\u001b[32monline');
    expect((await nclust(['ls'], { home, isTTY: true, env: { NO_COLOR: '1' } })).stdout).not.toContain('\u001b');
    expect((await nclust(['--no-color', 'ls'], { home, isTTY: true })).stdout).not.toContain('\u001b');
    expect((await nclust(['ls', '--no-color'], { home, isTTY: true })).stdout).not.toContain('\u001b');
  });

  test('list prints the notices of the manager', async () => {
    const { home } = await manager({
      list: () => ({ slots: [], notices: ['The log disk is full: 12 lines were dropped.'] }),
    });
    for (const argv of [['ls'], ['ls', '--json']])
      expect((await nclust(argv, { home })).stderr).toContain('12 lines were dropped');
  });

  test('list fails with the version of a manager that speaks another protocol', async () => {
    const { home } = await manager({ hello: () => ({ protocol: 9, version: '3.0.0' }) });
    expect(await nclust(['ls'], { home })).toMatchObject({
      exitStatus: 1,
      stdout: '',
      stderr: expect.stringContaining('3.0.0'),
    });
  });
});

test('validate warns of a deploy hook that calls pm2', async () => {
  const deploy = { production: { 'post-deploy': 'pm2 reload all' }, staging: null };
  writeFileSync(join(cwd, 'deploys.json'), JSON.stringify({ apps: [{ name: 'api', script: './app.js' }], deploy }));
  expect(await nclust(['validate', 'deploys.json'])).toMatchObject({
    exitStatus: 0,
    stdout: expect.stringContaining('1 warning'),
    stderr: expect.stringContaining('deploy.production.post-deploy seems to call pm2'),
  });
});

describe('apply', () => {
  test.each([
    [[], /worker/],
    [['--silent'], /^$/],
    [['--silent', '--dry-run'], /Nothing to do/],
  ])('apply with %j prints what was asked for', async (flags, stdout) => {
    writeFileSync(join(cwd, 'one.json'), JSON.stringify({ apps: [{ name: 'api', script: './app.js' }] }));
    const plan = [{ name: 'api', action: 'none', changes: [] }];
    const { home } = await manager({ apply: () => ({ plan, left: [], slots: [] }) });
    const result = await nclust(['apply', 'one.json', ...flags], { home });
    expect(result, result.stderr).toMatchObject({ exitStatus: 0, stdout: expect.stringMatching(stdout) });
  });
});

test('import --dry-run --json prints the apps, with the names but not the values of their variables', async () => {
  const app = { name: 'shop', pm_exec_path: join(cwd, 'app.js'), exec_mode: 'fork_mode', args: ['-x'] };
  const { home } = await manager();
  writeFileSync(join(cwd, 'dump.pm2'), JSON.stringify([{ ...app, pm_cwd: cwd, env: { TOKEN: 'hunter2' } }]));
  const result = await nclust(['import', 'pm2', 'dump.pm2', '--dry-run', '--json'], { home });
  expect(JSON.parse(result.stdout)).toEqual([
    {
      name: 'shop',
      mode: 'fork',
      instances: 1,
      stopped: 0,
      script: join(cwd, 'app.js'),
      args: ['-x'],
      variables: expect.arrayContaining(['TOKEN']),
    },
  ]);
  expect(result.stdout).not.toContain('hunter2');
});

test.each([
  [{ main: 'app.js' }, './app.js'],
  [{ main: './app.js', scripts: { start: 'node worker.js' } }, './worker.js'],
  [{ main: '../app.js' }, '../app.js'],
  [{ main: 'dist/missing.js', scripts: { start: 'node ./worker.js' } }, './worker.js'],
  [{ main: 'missing.js', scripts: { start: 'next start' } }, 'npm start'],
  [{ main: 'missing.js', scripts: { start: 'node missing.js' } }, './app.js'],
  [{ main: ['app.js'] }, './app.js'],
])('init in a package with %j writes the script %s', async (content, script) => {
  const folder = mkdtempSync(join(cwd, 'package-'));
  for (const name of ['app.js', 'worker.js']) writeFileSync(join(folder, name), '1');
  writeFileSync(join(folder, 'package.json'), JSON.stringify(content));
  const file = join(folder, 'ecosystem.config.js');
  for (const words of [[], ['simple']]) {
    expect(await nclust(['init', ...words], { folder })).toMatchObject({ exitStatus: 0 });
    expect(readFileSync(file, 'utf8')).toContain(`script: '${script}'`);
    expect(await nclust(['validate'], { folder })).toMatchObject({ exitStatus: 0 });
    rmSync(file);
  }
});

test('init without any script reports the placeholder', async () => {
  const folder = mkdtempSync(join(cwd, 'empty-'));
  expect(await nclust(['init'], { folder })).toMatchObject({
    exitStatus: 0,
    stderr: '"./index.js" does not exist. Name your script in the file, then: nclust start\n',
  });
});

describe('start', () => {
  test('start sends a spec for a new app, and prints the list', async () => {
    const server = await manager();
    const result = await nclust(['start', './app.js', '-i', 'max', '--name', 'shop', '--', '--port', '3000', '-i'], {
      home: server.home,
      env: { A: '1' },
    });
    expect(result).toMatchObject({
      exitStatus: 0,
      stdout: expect.stringContaining('worker'),
      stderr: 'Started "api" (2 instances).\n',
    });
    expect(server.callsTo('start').map(({ params }) => params)).toEqual([
      {
        wait: true,
        progress: true,
        force: false,
        token: expect.stringMatching(/^[\da-f-]{36}$/),
        specs: [
          expect.objectContaining({
            name: 'shop',
            instances: 'max',
            mode: 'cluster',
            args: ['--port', '3000', '-i'],
            shellEnv: expect.objectContaining({ A: '1' }),
          }),
        ],
      },
    ]);
  });

  test.each([[['api']], [['1']], [['jobs']], [['all']], [['/^a/']], [['api', 'worker']]])(
    '%j starts listed apps again',
    async (targets) => {
      const server = await manager();
      await nclust(['start', ...targets], { home: server.home });
      expect(server.callsTo('start').map(({ params }) => params)).toEqual([
        { targets, wait: true, progress: true, token: expect.any(String) },
      ]);
    },
  );

  test('start with several targets starts the new and the listed apps', async () => {
    const server = await manager();
    await nclust(['start', 'app.js', 'worker', '--no-wait', '--force'], { home: server.home });
    expect(
      server.callsTo('start').map(({ params: { specs, targets, wait, force } }) => ({
        names: specs?.map((spec) => spec.name),
        targets,
        wait,
        force,
      })),
    ).toEqual([
      { names: ['app'], targets: undefined, wait: false, force: true },
      { names: undefined, targets: ['worker'], wait: false, force: undefined },
    ]);
  });

  test('start with options prefers a file to a listed app of the same name', async () => {
    const server = await manager();
    await nclust(['start', 'api', '--name', 'other'], { home: server.home });
    expect(server.callsTo('start')[0].params.specs).toMatchObject([{ name: 'other', script: join(cwd, 'api') }]);
  });

  test('start refuses one name for two scripts', async () => {
    const server = await manager();
    expect(await nclust(['start', 'app.js', 'worker.js', '--name', 'x'], { home: server.home })).toMatchObject({
      exitStatus: 2,
      stderr: expect.stringContaining('--name'),
    });
  });

  test.each([
    [
      ['node', 'app.js', '-i', '2'],
      'nclust runs scripts with node itself.',
      'Leave out the word "node": nclust start app.js ...',
    ],
    [
      ['python3', 'app.js'],
      'nclust runs scripts with python3 itself.',
      'Leave out the word "python3": nclust start app.js --interpreter python3 ...',
    ],
  ])('%j is refused, because it would start two apps', async (words, sentence, hint) => {
    const server = await manager();
    expect(await nclust(['start', ...words], { home: server.home })).toMatchObject({
      exitStatus: 2,
      stderr: `nclust: ${sentence}\nnext: ${hint}\n`,
    });
    expect(server.callsTo('start')).toEqual([]);
  });

  test('--stop-exit-codes does not swallow the script', async () => {
    const server = await manager();
    await nclust(['start', '--stop-exit-codes', '0', '2,3', 'app.js'], { home: server.home });
    expect(server.callsTo('start')[0].params.specs).toMatchObject([{ name: 'app', stopExitCodes: [0, 2, 3] }]);
  });

  test('--log without a path and a repeated --log-ship do not swallow the script', async () => {
    const server = await manager();
    await nclust(['start', '--log-ship', 'exec:a', '--log-ship', 'exec:b', 'app.js', '--log', '-o', 'out/x.log'], {
      home: server.home,
    });
    expect(server.callsTo('start')[0].params.specs).toMatchObject([
      { name: 'app', logFile: 'default', logShip: ['exec:a', 'exec:b'], outFile: join(cwd, 'out/x.log') },
    ]);
  });

  test('start shows the last lines of an app that fails, and exits 1', async () => {
    const data = {
      slots: [{ id: 3, name: 'app', slot: 0, reason: 'exited with code 1', lastLines: ['Error: no database'] }],
    };
    const { home } = await manager({
      start: () => {
        throw new NclustError('ERR_NCLUST_NOT_UP', 'The start of "app" failed.', {
          data,
          hint: 'nclust logs app',
        });
      },
    });
    expect(await nclust(['start', 'app.js'], { home })).toMatchObject({
      exitStatus: 1,
      stdout: '',
      stderr: expect.stringMatching(
        pattern(
          /failed\.\n {2}app, instance 0 \(id 3\): exited with code 1\n/,
          / {2}\| Error: no database\nnext: nclust logs app/,
        ),
      ),
    });
    const json = await nclust(['start', 'app.js', '--json'], { home });
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: 'ERR_NCLUST_NOT_UP', data, exitStatus: 1 } });
  });
});

test('restart --watch with a path names reload, which takes the path', async () => {
  const { home } = await manager({
    restart: ({ targets }) => {
      const data = { target: targets.find((target) => target !== 'api') };
      throw new NclustError('ERR_NCLUST_APP_NOT_FOUND', 'It is not in the list.', { hint: 'nclust list', data });
    },
  });
  expect((await nclust(['restart', 'api', '--watch', 'worker.js'], { home })).stderr).toContain(
    'next: restart --watch takes no path; reload does: nclust reload api --watch worker.js\n',
  );
  for (const words of [
    ['api', 'worker.js'],
    ['api', 'wrok', '--watch'],
    ['apy', '--watch'],
  ])
    expect((await nclust(['restart', ...words], { home })).stderr).toContain('next: nclust list\n');
});

test.each([
  [['reload', 'api', '--env', 'production'], '--env production', 'reload'],
  [['start', 'api', '--only', 'api,web'], '--only api,web', 'start'],
  [['restart', 'api', '--only', 'api', '--env', 'test'], '--env test --only api', 'restart'],
])(
  '%j without a file reports that %s has no effect, and names the command with the file',
  async (argv, options, how) => {
    const { home } = await manager();
    const folder = mkdtempSync(join(cwd, 'file-'));
    const why = `${options}: no effect here, because it is for a config file.`;
    expect((await nclust(argv, { home, folder })).stderr).toContain(`${why}\n`);
    writeFileSync(join(folder, 'nclust.config.json'), '{}');
    expect(await nclust(argv, { home, folder })).toMatchObject({
      exitStatus: 0,
      stderr: expect.stringContaining(`${why} Use the file: nclust ${how} nclust.config.json ${options}\n`),
    });
  },
);

describe('commands that change something', () => {
  const token = expect.any(String);
  test.each([
    [['stop', 'api', '1'], 'stop', { targets: ['api', '1'], wait: true, progress: true, token }],
    [['stop', 'all', '--no-wait'], 'stop', { targets: ['all'], wait: false, token }],
    [['restart', '/^a/'], 'restart', { targets: ['/^a/'], wait: true, progress: true, token }],
    [
      ['restart', 'api', '-a'],
      'restart',
      { targets: ['api'], wait: true, progress: true, token, env: expect.objectContaining({ B: '2' }) },
    ],
    [
      ['restart', 'api', '--update-env'],
      'restart',
      { targets: ['api'], wait: true, progress: true, token, env: expect.objectContaining({ B: '2' }) },
    ],
    [
      ['restart', 'api', '--log-type', 'json', '--no-merge-logs', '--log-ship', 'exec:a', '--log-ship', 'exec:b'],
      'restart',
      {
        targets: ['api'],
        wait: true,
        progress: true,
        token,
        spec: { logType: 'json', mergeLogs: false, logShip: ['exec:a', 'exec:b'] },
      },
    ],
    [
      ['reload', 'api', '--time', '--log-max-size', '1M'],
      'reload',
      {
        targets: ['api'],
        wait: true,
        progress: true,
        token,
        spec: { logDateFormat: 'YYYY-MM-DDTHH:mm:ss', logMaxSizeBytes: 1_048_576 },
      },
    ],
    [['reload', 'api', '1'], 'reload', { targets: ['api', '1'], wait: true, progress: true, token }],
    [
      ['reload', 'all', '--no-wait', '-a'],
      'reload',
      { targets: ['all'], wait: false, token, env: expect.objectContaining({ B: '2' }) },
    ],
    [
      [
        'reload',
        'api',
        '--max-surge',
        '2',
        '--max-unavailable',
        '1',
        '--rollback-window',
        '30s',
        '--scheduling',
        'sticky',
      ],
      'reload',
      {
        targets: ['api'],
        wait: true,
        progress: true,
        token,
        spec: { maxSurge: 2, maxUnavailable: 1, rollbackWindowMs: 30_000, scheduling: 'sticky' },
      },
    ],
    [['del', 'api'], 'delete', { targets: ['api'], wait: true, progress: true, token }],
    [['scale', 'api', '4'], 'scale', { target: 'api', instances: '4', wait: true, progress: true, token }],
    [['scale', 'api', '+2'], 'scale', { target: 'api', instances: '+2', wait: true, progress: true, token }],
    [['scale', 'api', '-1'], 'scale', { target: 'api', instances: '-1', wait: true, progress: true, token }],
    [['reset', 'api'], 'reset', { targets: ['api'], token }],
    [['sendSignal', 'usr2', 'api', 'worker'], 'signal', { targets: ['api', 'worker'], signal: 'SIGUSR2', token }],
    [['resurrect'], 'resurrect', { wait: true, progress: true, token }],
  ])('%j sends the request %s', async (argv, method, params) => {
    const server = await manager();
    expect(await nclust(argv, { home: server.home, env: { B: '2' } })).toMatchObject({
      exitStatus: 0,
      stdout: expect.stringContaining('┌'),
      stderr: expect.stringContaining('"api" (2 instances).'),
    });
    expect(server.callsTo(method).map((call) => call.params)).toEqual([params]);
  });

  test('reload with another interpreter sends one request with its own changes for each app', async () => {
    const detailed = (fields, spec) =>
      slotStatus({
        ...fields,
        spec: checkSpec({
          kind: 'node',
          file: '/old/node',
          interpreter: '/old/node',
          script: join(cwd, 'app.js'),
          cwd,
          ...spec,
        }),
      });
    const slots = [
      detailed({ id: 0 }, { name: 'api', mode: 'cluster' }),
      detailed({ id: 1, slot: 1 }, { name: 'api', mode: 'cluster' }),
      detailed({ id: 2, name: 'worker' }, { name: 'worker', interpreterArgs: ['--trace-gc'] }),
    ];
    const server = await manager({ list: () => ({ slots, notices: [] }) });
    expect(
      await nclust(['reload', 'api', 'worker', '--interpreter', process.execPath, '--max-surge', '3'], {
        home: server.home,
      }),
    ).toMatchObject({ exitStatus: 0 });
    const spec = {
      kind: 'node',
      interpreterEnv: {},
      file: process.execPath,
      interpreter: process.execPath,
      interpreterGiven: process.execPath,
      nodeVersion: process.version,
      execArgs: [],
    };
    const specs = { api: { ...spec, interpreterArgs: [] }, worker: { ...spec, interpreterArgs: ['--trace-gc'] } };
    expect(server.callsTo('reload').map(({ params }) => params)).toEqual([
      { targets: ['api', 'worker'], wait: true, progress: true, token, spec: { maxSurge: 3 }, specs },
    ]);
    await nclust(['reload', 'all', '--node-args', '--trace-warnings'], { home: server.home });
    expect(server.callsTo('list').map(({ params }) => params)).toContainEqual({ targets: ['all'], detail: true });
  });

  test('sendSignal fails if no process runs', async () => {
    const { home } = await manager({ signal: () => ({ slots: [slotStatus({ pid: 0 })] }) });
    expect(await nclust(['sendSignal', 'SIGUSR2', 'api'], { home })).toMatchObject({
      exitStatus: 1,
      stdout: '',
      stderr: expect.stringContaining('No process of "api" runs'),
    });
  });

  test('commands with --json print the affected apps and no messages', async () => {
    const { home } = await manager();
    const result = await nclust(['stop', 'api', '--json'], { home });
    expect(result).toMatchObject({ exitStatus: 0, stderr: '' });
    expect(JSON.parse(result.stdout)).toMatchObject([{ id: 0, name: 'api' }, { id: 1 }]);
  });

  test.each([
    ['./app.js', (folder) => join(folder, 'app.js')],
    ['worker.js', (folder) => join(folder, 'worker.js')],
    ['api', () => 'api'],
    ['nowhere.js', () => 'nowhere.js'],
  ])('commands treat the target %j as a script only if it exists and is not an app', async (target, expected) => {
    const server = await manager();
    await nclust(['stop', target], { home: server.home });
    expect(server.callsTo('stop')[0].params.targets).toEqual([expected(cwd)]);
  });

  test('commands print the error of the manager', async () => {
    const { home } = await manager({
      stop: () => {
        throw new NclustError('ERR_NCLUST_APP_NOT_FOUND', 'There is no "wroker".', { hint: 'Did you mean "worker"?' });
      },
    });
    expect(await nclust(['stop', 'wroker'], { home })).toEqual({
      exitStatus: 1,
      stdout: '',
      stderr: 'nclust: There is no "wroker".\nnext: Did you mean "worker"?\n',
    });
  });
});

describe('commands that only read', () => {
  test.each([
    [['pid'], '4711\n4712\n'],
    [['pid', 'api'], '4711\n4712\n'],
    [['pid', 'worker'], ''],
    [['pid', 'nope'], ''],
    [['pid', 'api', '--json'], '[4711,4712]\n'],
    [['id', 'api'], '[ 0, 1 ]\n'],
    [['id', 'api', '--json'], '[0,1]\n'],
    [['ping'], 'pong: nclust 0.1.0, keeper pid 1073741826, control pid 1073741825\n'],
    [['env', '0'], 'PORT: 80\nA: b?c\n'],
    [['env', '0', '--json'], '{"PORT":"80","A":"b\\nc"}\n'],
  ])('%j prints the answer of the manager', async (argv, stdout) => {
    const slots = [
      slotStatus({ effectiveEnv: { PORT: '80', A: 'b\nc' } }),
      slotStatus({ id: 1, pid: 4712 }),
      slotStatus({ id: 2, name: 'worker', pid: 0 }),
    ];
    const { home } = await manager({ list: () => ({ slots, notices: [] }) });
    expect(await nclust(argv, { home })).toEqual({ exitStatus: 0, stdout, stderr: '' });
  });

  test('jlist and describe request details', async () => {
    const server = await manager();
    await nclust(['jlist'], { home: server.home });
    await nclust(['describe', 'worker'], { home: server.home });
    expect(server.callsTo('list').map(({ params }) => params)).toEqual([
      { detail: true },
      { targets: ['worker'], detail: true },
    ]);
  });

  test('save prints the file', async () => {
    const server = await manager({ save: () => ({ file: '/h/dump.json', apps: 2 }) });
    expect(await nclust(['dump', '--force'], { home: server.home })).toEqual({
      exitStatus: 0,
      stdout: '/h/dump.json\n',
      stderr: 'Saved 2 apps.\n',
    });
    expect(server.callsTo('save')[0].params).toMatchObject({ force: true });
  });
});

describe('kill', () => {
  test('kill exits when the manager answers', async () => {
    const { home } = await manager({ kill: () => ({}) });
    expect(await nclust(['kill'], { home })).toMatchObject({
      exitStatus: 0,
      stdout: '',
      stderr: expect.stringContaining('exited'),
    });
  });

  test('kill succeeds if the connection ends, because the manager has exited', async () => {
    const server = await manager({
      kill: (_params, socket) => {
        void server.close();
        socket.destroy();
      },
    });
    expect(await nclust(['kill', '--json'], { home: server.home })).toEqual({
      exitStatus: 0,
      stdout: '{"wasRunning":true}\n',
      stderr: '',
    });
  });
});

describe('logs', () => {
  const entry = (line) => ({ id: 0, name: 'api', stream: 'out', line, atMs: null });
  const subscription = 'logs';

  test.each([
    [['--nostream'], { follow: false }],
    [['--until', '0'], { follow: false, until: expect.any(Number) }],
    [['api', '--nostream', '--lines', '3'], { targets: ['api'], lines: 3, follow: false }],
    [['--nostream', '--out'], { follow: false, streams: ['out'] }],
    [['--nostream', '--err'], { follow: false, streams: ['err'] }],
    [['--nostream', '--err', '--out'], { follow: false }],
    [
      ['--nostream', '--grep', '/a.b/i', '--level', 'WARN', '--since', '2h'],
      { follow: false, grep: { source: 'a.b', flags: 'i' }, level: 'warn', since: expect.any(Number) },
    ],
  ])('%j sends the matching request', async (words, params) => {
    const server = await manager({
      logs: (_params, socket) => {
        socket.write(notificationLine('log', { subscription, entries: [entry('one')], cursor: {} }));
        return { subscription, cursor: {} };
      },
    });
    expect(await nclust(['logs', ...words, '--raw'], { home: server.home })).toEqual({
      exitStatus: 0,
      stdout: 'one\n',
      stderr: '',
    });
    expect(server.callsTo('logs').map((call) => call.params)).toEqual([{ ...params, subscription }]);
  });

  test('the logs continue at the same place after control restarts, and end with the manager', async () => {
    let round = 0;
    const server = await manager({
      logs: (_params, socket) => {
        round += 1;
        if (round === 3) {
          void server.close();
          return undefined;
        }
        socket.write(notificationLine('log', { subscription: 'another', entries: [entry('of somebody else')] }));
        socket.write(
          notificationLine('log', {
            subscription,
            entries: [entry(`history ${round}`)],
            cursor: { '/a': { offset: round } },
          }),
        );
        socket.write(
          resultLine(socket.lastId, { subscription, cursor: { '/a': { offset: round }, '/b': { offset: 7 } } }),
        );
        socket.write(
          notificationLine('log', {
            subscription,
            entries: [entry(`news ${round}`)],
            cursor: { '/a': { offset: 10 * round } },
          }),
        );
        socket.end();
        return undefined;
      },
    });
    const result = await nclust(['logs', '--raw'], { home: server.home });
    expect(result).toEqual({
      exitStatus: 0,
      stdout: 'history 1\nnews 1\nhistory 2\nnews 2\n',
      stderr: 'The manager has exited.\n',
    });
    expect(server.callsTo('logs').map(({ params }) => params.cursor)).toEqual([
      undefined,
      { '/a': { offset: 10 }, '/b': { offset: 7 } },
      { '/a': { offset: 20 }, '/b': { offset: 7 } },
    ]);
  });
});
