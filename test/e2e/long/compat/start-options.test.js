import { chmodSync, existsSync, mkdirSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { environmentOf } from '../../../helpers/processes.js';
import { sandbox } from '../../../helpers/sandbox.js';
import { changed, QUICK, refused } from './expected.js';

const RUNS_ON = 'setInterval(() => {}, 1e6);';

const start = (home, name, code, ...flags) =>
  home.nclust('start', home.place('runs-code'), '--name', name, ...QUICK, ...flags, { env: { CODE: code } });

const slotsOf = async (home, name) => (await home.list()).filter((slot) => slot.name === name);

const until = (home, name, status) =>
  home.waitFor(`"${name}" to be ${status}`, async () =>
    (await slotsOf(home, name)).find((slot) => slot.status === status),
  );

const textOf = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : '');

describe('options for the identity of an app', () => {
  test('--name, --namespace, --cwd, --instances, --interpreter, --node-args and -x define the process', async () => {
    const home = await sandbox();
    const folder = join(home.work, 'release');
    mkdirSync(folder);
    const script = home.place('keeps-alive');
    const node = readlinkSync('/proc/self/exe');
    expect(
      await home.nclust(
        'start',
        script,
        '-n',
        'short',
        '--namespace',
        'shop',
        '--cwd',
        folder,
        '-i',
        '2',
        '--interpreter',
        node,
        '--interpreter-args',
        '--no-warnings --title="two words"',
        ...QUICK,
      ),
    ).toMatchObject(changed('Started "short" (2 instances).'));
    for (const { pid, namespace, mode, cwd } of await slotsOf(home, 'short')) {
      expect({
        namespace,
        mode,
        cwd,
        runsIn: readlinkSync(`/proc/${pid}/cwd`),
        isNode: readlinkSync(`/proc/${pid}/exe`),
      }).toEqual({ namespace: 'shop', mode: 'cluster', cwd: folder, runsIn: folder, isNode: node });
    }
    expect((await home.nclust('jlist')).json()[0].pm2_env).toMatchObject({
      exec_interpreter: node,
      node_args: ['--no-warnings', '--title=two words'],
      instances: 2,
    });

    expect(
      await home.nclust(
        'start',
        'keeps-alive.js',
        '--name',
        'long',
        '--instances',
        '2',
        '-x',
        '--node-args',
        '--no-warnings',
        ...QUICK,
      ),
    ).toMatchObject(changed('Started "long" (2 instances).'));
    expect(await slotsOf(home, 'long')).toMatchObject([
      { mode: 'fork', status: 'online' },
      { mode: 'fork', status: 'online' },
    ]);
    for (const { pid } of await slotsOf(home, 'long'))
      expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')).toContain('--no-warnings');

    expect(await home.nclust('start', 'keeps-alive.js', '--name', 'third', '-i', 'many')).toMatchObject(
      refused(2, '--instances is "many"; accepted: '),
    );
    expect(await home.nclust('start', 'keeps-alive.js', '--name', 'third', '--cwd', './nowhere')).toMatchObject(
      refused(1, 'nowhere'),
    );
    expect(
      await home.nclust('start', 'keeps-alive.js', '--name', 'third', '--interpreter', 'no-such-program'),
    ).toMatchObject(refused(1, 'no-such-program'));
    expect(await slotsOf(home, 'third')).toEqual([]);
  });

  test('restart and reload of a running app take these options too, and arguments after "--"', async () => {
    const home = await sandbox();
    const folder = join(home.work, 'release');
    mkdirSync(folder);
    await start(
      home,
      'api',
      `console.log('told', process.argv.slice(2).join(' '), 'in', process.cwd(), 'with', ` +
        `process.execArgv.join(' '), 'as', process.env.name); ${RUNS_ON}`,
    );
    expect(
      await home.nclust(
        'restart',
        'api',
        '--name',
        'web',
        '--cwd',
        './release',
        '--node-args=--no-warnings',
        '--',
        '--port',
        '4 000',
      ),
    ).toMatchObject(changed('Restarted "web".'));
    const expected = `told --port 4 000 in ${folder} with --no-warnings as web\n`;
    await home.waitFor('the log file of the new name', () => textOf(join(home.home, 'logs/web-out.log')) === expected);
    const [{ pid }] = await slotsOf(home, 'web');
    expect(readlinkSync(`/proc/${pid}/cwd`)).toBe(folder);

    expect(await home.nclust('reload', 'web', '-n', 'shop')).toMatchObject(changed('Reloaded "shop".'));
    await home.waitFor(
      'the log file of the third name',
      () => textOf(join(home.home, 'logs/shop-out.log')) === expected.replace('as web', 'as shop'),
    );
    expect((await home.list()).map(({ name, id, status }) => ({ name, id, status }))).toEqual([
      { name: 'shop', id: 0, status: 'online' },
    ]);
    await start(home, 'api', RUNS_ON);
    expect(await home.nclust('restart', 'shop', '--name', 'api')).toMatchObject(
      refused(1, '"shop" cannot be renamed to "api": another app has that name. Nothing was changed.'),
    );
    expect(await home.nclust('restart', 'all', '--name', 'both')).toMatchObject(refused(2, '"shop", "api" are 2 apps'));
    expect(await home.nclust('reload', 'shop', '--cwd', './nowhere')).toMatchObject(refused(1, 'nowhere'));
  });

  test.runIf(process.getuid?.() === 0)('start takes --uid, --gid and --pid', async () => {
    const home = await sandbox();
    for (const folder of [dirname(home.work), home.work]) chmodSync(folder, 0o755);
    home.place('keeps-alive');
    expect(
      await home.nclust(
        'start',
        'keeps-alive.js',
        '--name',
        'other',
        '--uid',
        '65534',
        '--gid',
        '65534',
        '-p',
        'run/other.pid',
        ...QUICK,
      ),
    ).toMatchObject(changed('Started "other".'));
    const [{ pid }] = await slotsOf(home, 'other');
    expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(/^Uid:\s+65534\s.*^Gid:\s+65534\s/ms);
    expect(textOf(join(home.work, 'run/other-0.pid')).trim()).toBe(String(pid));
    expect((await home.nclust('jlist')).json()[0].pm2_env).toMatchObject({
      uid: 65534,
      gid: 65534,
      pm_pid_path: join(home.work, 'run/other-0.pid'),
    });
    expect(await home.nclust('start', 'keeps-alive.js', '--name', 'third', '--uid', 'no-such-user')).toMatchObject(
      refused(1, 'no-such-user'),
    );
  });

  test('--no-daemon shows the output until the app exits, returns its exit status, and ends it on Ctrl-C', async () => {
    const home = await sandbox();
    home.place('runs-code');
    const ended = await home.nclust('start', 'runs-code.js', '--no-daemon', '--no-autorestart', {
      env: { CODE: 'say("done"); process.exit(3)' },
    });
    expect(ended).toMatchObject({ exitStatus: 3, stdout: 'runs-code done\n' });
    const running = home.follow('start', 'runs-code.js', '--no-daemon', {
      env: { CODE: `say("is there"); ${RUNS_ON}` },
    });
    await home.waitFor('the output of the app', () => running.stdout() === 'runs-code is there\n');
    running.child.kill('SIGINT');
    await running.done;
    expect(home.processes()).toEqual([]);
  });
});

describe('options for the output of an app', () => {
  const TALKS = `say('{"n":1}'); console.error('oh'); ${RUNS_ON}`;

  test('start takes --output, --error, --log, --merge-logs and --time', async () => {
    const home = await sandbox();
    expect(
      await start(
        home,
        'files',
        TALKS,
        '-i',
        '2',
        '-o',
        'o.log',
        '-e',
        'sub/e.log',
        '-l',
        'all.log',
        '--merge-logs',
        '--time',
      ),
    ).toMatchObject(changed('Started "files" (2 instances).'));
    const read = (name) => textOf(join(home.work, name));
    await home.waitFor(
      'the lines of both instances',
      () =>
        read('all.log').split('\n').length === 5 &&
        read('o.log').split('\n').length === 3 &&
        read('sub/e.log').split('\n').length === 3,
    );
    const stamp = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d: ';
    expect(read('o.log')).toMatch(new RegExp(`^(${stamp}runs-code \\{"n":1\\}\n){2}$`));
    expect(read('sub/e.log')).toMatch(new RegExp(`^(${stamp}oh\n){2}$`));
  });

  test('start takes --log-type, --log-date-format and --disable-logs, and gives each instance a file', async () => {
    const home = await sandbox();
    expect(
      await start(
        home,
        'json',
        TALKS,
        '-i',
        '2',
        '--output',
        'j.log',
        '--error',
        '/dev/null',
        '--log-type',
        'json',
        '--log-date-format',
        'YYYY',
      ),
    ).toMatchObject(changed('Started "json" (2 instances).'));
    const slots = await slotsOf(home, 'json');
    await home.waitFor('a line in each file', () => slots.every(({ outFile }) => textOf(outFile).endsWith('\n')));
    expect(
      (await home.nclust('jlist')).json().map(({ pm2_env: env }) => [env.pm_out_log_path, env.pm_err_log_path]),
    ).toEqual([0, 1].map((id) => [join(home.work, `j-${id}.log`), '/dev/null']));
    for (const { id, outFile } of slots)
      expect(JSON.parse(textOf(outFile))).toEqual({
        message: 'runs-code {"n":1}',
        timestamp: expect.stringMatching(/^\d{4}$/),
        type: 'out',
        process_id: id,
        app_name: 'json',
      });

    expect(await start(home, 'mute', TALKS, '--disable-logs')).toMatchObject(changed('Started "mute".'));
    const [mute] = await slotsOf(home, 'mute');
    expect([textOf(mute.outFile), (await home.nclust('logs', 'mute', '--nostream', '--raw')).stdout]).toEqual(['', '']);
    expect(await start(home, 'third', TALKS, '--log-type', 'xml')).toMatchObject(
      refused(2, '--log-type is "xml"; accepted: raw, json'),
    );
  });
});

describe('options for restarts', () => {
  const CRASHES = 'process.exit(5)';
  const LONG = ['--min-uptime', '20000'];

  test('--no-autorestart, --stop-exit-codes, --max-restarts and both delays decide about restarts', async () => {
    const home = await sandbox();
    expect(await start(home, 'once', 'setTimeout(() => process.exit(5), 300)', '--no-autorestart')).toMatchObject(
      changed('Started "once".'),
    );
    expect(
      await start(home, 'coded', 'setTimeout(() => process.exit(5), 300)', '--stop-exit-codes', '4,5'),
    ).toMatchObject(changed('Started "coded".'));
    expect(
      await start(
        home,
        'given-up',
        CRASHES,
        ...LONG,
        '--max-restarts',
        '1',
        '--exp-backoff-restart-delay',
        '10',
        '--no-wait',
      ),
    ).toMatchObject(changed('Starting "given-up".'));
    expect(
      await start(home, 'slow', CRASHES, ...LONG, '--max-restarts', '1', '--restart-delay', '400', '--no-wait'),
    ).toMatchObject(changed('Starting "slow".'));
    for (const name of ['once', 'coded'])
      expect(await until(home, name, 'stopped')).toMatchObject({ restarts: 0, lastDeath: { code: 5 } });
    for (const name of ['given-up', 'slow'])
      expect(await until(home, name, 'errored')).toMatchObject({ restarts: 1, lastDeath: { code: 5 } });
    const [{ deaths }] = (await home.nclust('describe', 'slow', '--json')).json();
    expect(deaths[1].atMs - deaths[0].atMs).toBeGreaterThanOrEqual(400);
    const failed = await start(home, 'fails', CRASHES, ...LONG, '--max-restarts', '0');
    expect(failed).toMatchObject(
      refused(1, /^nclust: The start of "fails" failed: instance 0 exited with code 5 after .*\n/),
    );
  });

  test.each([
    '--max-restarts',
    '--restart-delay',
    '--exp-backoff-restart-delay',
    '--kill-timeout',
    '--listen-timeout',
    '--max-memory-restart',
    '--cron',
    '--watch-delay',
  ])('%s refuses an invalid value', async (flag) => {
    const home = await sandbox();
    expect(await home.nclust('start', home.place('keeps-alive'), `${flag}=nonsense`)).toMatchObject(
      refused(2, `${flag} is "nonsense"; accepted: `),
    );
    expect(home.processes()).toEqual([]);
  });

  test('--no-autostart adds the app as stopped', async () => {
    const home = await sandbox();
    expect(await start(home, 'later', RUNS_ON, '--no-autostart')).toMatchObject(
      changed('Added, but not started: "later".'),
    );
    expect(await slotsOf(home, 'later')).toMatchObject([{ status: 'stopped', pid: 0 }]);
    expect(await home.nclust('start', 'later')).toMatchObject(changed('Started "later".'));
  });
});

describe('options for the start and stop of an app', () => {
  test('start takes --wait-ready, --listen-timeout, --shutdown-with-message and --kill-timeout', async () => {
    const home = await sandbox();
    const polite =
      `process.on('message', (message) => { if (message === 'shutdown') { say('told'); ` +
      `process.exit(0); } }); setTimeout(() => process.send('ready'), 50); ${RUNS_ON}`;
    expect(
      await start(home, 'polite', polite, '--wait-ready', '--listen-timeout', '5000', '--shutdown-with-message'),
    ).toMatchObject(changed('Started "polite".'));
    expect(await slotsOf(home, 'polite')).toMatchObject([{ isReady: true, status: 'online' }]);
    expect(await home.nclust('stop', 'polite')).toMatchObject(changed('Stopped "polite".'));
    const [{ outFile, lastDeath }] = await slotsOf(home, 'polite');
    expect([textOf(outFile), lastDeath?.code]).toEqual(['runs-code told\n', 0]);

    expect(
      await start(home, 'mute', RUNS_ON, '--wait-ready', '--listen-timeout', '200', '--max-restarts', '0'),
    ).toMatchObject(refused(1, 'was not ready in 200ms (it did not send "ready")'));
    await home.nclust('delete', 'mute');
    expect(
      await start(
        home,
        'deaf',
        `process.on('SIGTERM', () => {}); process.on('SIGINT', () => {}); ${RUNS_ON}`,
        '-k',
        '300',
      ),
    ).toMatchObject(changed('Started "deaf".'));
    expect(await home.nclust('stop', 'deaf')).toMatchObject(changed('Stopped "deaf".'));
    expect(await slotsOf(home, 'deaf')).toMatchObject([{ lastDeath: { signal: 'SIGKILL' } }]);
  });

  test('--no-treekill sends the signal to the main process only, which then ends its children', async () => {
    const home = await sandbox();
    const child =
      'process.on("SIGTERM", () => console.log("child got SIGTERM")); process.on("disconnect", () => { ' +
      'console.log("child was let go"); process.exit(); }); process.send("there"); setInterval(() => {}, 1e6)';
    const code = `
      const child = require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(child)}], {
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      });
      child.on('message', () => say('both are there'));
      const letGo = () => { child.disconnect(); child.on('exit', () => process.exit(0)); };
      process.on('SIGTERM', () => setTimeout(letGo, 100));`;
    for (const [name, ...flags] of [['whole'], ['main', '--no-treekill']])
      expect(await start(home, name, code, ...flags)).toMatchObject(changed(`Started "${name}".`));
    const slots = await home.list();
    await home.waitFor('the children to run', () =>
      slots.every(({ outFile }) => textOf(outFile).includes('both are there')),
    );
    expect(await home.nclust('stop', 'all')).toMatchObject(changed('Stopped "whole", "main".'));
    expect(
      slots.map(({ outFile }) =>
        textOf(outFile)
          .split('\n')
          .filter((line) => line.startsWith('child')),
      ),
    ).toEqual([['child got SIGTERM', 'child was let go'], ['child was let go']]);
  });
});

describe('options that replace a running app', () => {
  test('start takes --max-memory-restart, --cron and --cron-restart 0', async () => {
    const home = await sandbox();
    expect(
      await start(
        home,
        'greedy',
        'global.all = Buffer.alloc(120e6, 1); setInterval(() => {}, 1e6);',
        '--max-memory-restart',
        '90M',
      ),
    ).toMatchObject(changed('Started "greedy".'));
    expect(await start(home, 'timed', RUNS_ON, '-c', '* * * * * *')).toMatchObject(changed('Started "timed".'));
    await home.waitFor(
      'both apps to be replaced',
      async () => (await home.list()).every(({ restarts }) => restarts > 0),
      {
        deadlineMs: 20_000,
      },
    );
    expect((await slotsOf(home, 'greedy'))[0].lastDeath?.by).toMatch(/^memory: 1\d\d MB above 90 MB$/);
    expect((await slotsOf(home, 'timed'))[0].lastDeath?.by).toMatch(/^cron/);
    expect(await home.nclust('restart', 'timed', '--cron-restart', '0')).toMatchObject(changed('Restarted "timed".'));
    expect((await home.nclust('jlist')).json().find(({ name }) => name === 'timed').pm2_env).not.toHaveProperty(
      'cron_restart',
    );
  });
});

describe('options for the variables of an app', () => {
  test('--filter-env removes variables, --update-env takes those of the shell, and others stay', async () => {
    const home = await sandbox();
    home.place('keeps-alive');
    const env = { AWS_KEY: '1', GITHUB_TOKEN: '2', KEPT: 'a' };
    expect(
      await home.nclust(
        'start',
        'keeps-alive.js',
        '--name',
        'one',
        '--filter-env',
        'AWS',
        '--filter-env',
        'TOKEN',
        ...QUICK,
        { env },
      ),
    ).toMatchObject(changed('Started "one".'));
    const given = async () => environmentOf((await home.list())[0].pid);
    expect(await given()).toMatchObject({
      KEPT: 'a',
      name: 'one',
      pm_id: '0',
      NODE_APP_INSTANCE: '0',
      NCLUST_HOME: home.home,
      PM2_HOME: home.home,
    });
    for (const name of ['AWS_KEY', 'GITHUB_TOKEN']) expect(await given()).not.toHaveProperty(name);
    expect(await home.nclust('restart', 'one', { env: { KEPT: 'b' } })).toMatchObject(changed('Restarted "one".'));
    expect((await given()).KEPT).toBe('a');
    expect(await home.nclust('restart', 'one', '--update-env', { env: { KEPT: 'b' } })).toMatchObject(
      changed('Restarted "one".'),
    );
    expect((await given()).KEPT).toBe('b');
    expect(await home.nclust('reload', 'one', '-a', { env: { KEPT: 'c' } })).toMatchObject(changed('Reloaded "one".'));
    expect((await given()).KEPT).toBe('c');
    expect(await home.nclust('start', 'one', '--update-env', { env: { KEPT: 'd' } })).toMatchObject(
      changed('Started "one".'),
    );
    expect((await given()).KEPT).toBe('d');
  });
});
