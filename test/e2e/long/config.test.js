import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fixturePath } from '../../helpers/fixtures.js';
import { pattern } from '../../helpers/pattern.js';
import { takePort } from '../../helpers/ports.js';
import { sandbox } from '../../helpers/sandbox.js';
import { fetchOnce } from '../../helpers/sandbox-app.js';

async function ecosystems() {
  const home = await sandbox();
  cpSync(fixturePath('ecosystems'), home.work, { recursive: true });
  return home;
}

function write(home, apps, name = 'ecosystem.config.js') {
  writeFileSync(join(home.work, name), `module.exports = ${JSON.stringify({ apps })};`);
}

const parsed = (body) => JSON.parse(body);

const jlist = async (home) => JSON.parse((await home.nclust('jlist')).stdout);

describe('start with a config file', () => {
  test('start without an argument takes the config of the folder with its arguments and variables', async () => {
    const home = await ecosystems();
    const port = await takePort();
    write(home, [
      {
        name: 'api',
        script: './server.js',
        instances: 2,
        args: '--title "Hello world"',
        port,
        env: { MODE: 'default', GREETING: 'hello' },
        env_production: { MODE: 'production' },
      },
      { name: 'worker', script: 'worker.js', namespace: 'jobs' },
    ]);
    const result = await home.nclust('start', '--env', 'production');

    expect(result).toMatchObject({ exitStatus: 0, stdout: expect.stringContaining('worker') });
    expect(result.stderr).toBe('Started "api" (2 instances), "worker".\n');
    expect(await home.list()).toMatchObject([
      { name: 'api', slot: 0, mode: 'cluster', status: 'online' },
      { name: 'api', slot: 1, mode: 'cluster', status: 'online' },
      { name: 'worker', namespace: 'jobs', mode: 'fork', status: 'online' },
    ]);
    expect(parsed(await fetchOnce(`http://127.0.0.1:${port}`))).toMatchObject({
      MODE: 'production',
      GREETING: 'hello',
      argv: ['--title', 'Hello world'],
      cwd: home.work,
      name: 'api',
    });
  });

  test.each([
    ['array.config.js', [], ['api', 'worker']],
    ['process.yml', [], ['thumbnails', 'thumbnails', 'thumbnails', 'thumbnails', 'worker']],
    ['comments.json', [], ['commented']],
    [
      'function.config.js',
      ['--env', 'production'],
      ['api-production', 'api-production', 'api-production', 'api-production'],
    ],
    ['default.config.mjs', [], ['esm', 'esm']],
    ['promise.config.js', [], ['later']],
    ['in-package/package.json', [], ['packaged', 'packaged']],
    ['quotes.config.js', ['--only', 'text,node'], ['text', 'node']],
    ['cwd.config.js', [], ['absolute', 'relative', 'script-outside', 'script-absolute', 'script-below']],
    ['deploy/pm2.config.js', ['--only', 'main in-api'], ['main', 'in-api']],
    ['languages.config.js', ['--only', 'py,py-by-name,sh,binary'], ['py', 'py-by-name', 'sh', 'binary']],
    ['commands.config.js', ['--only', 'sleep 1000000'], ['sleep 1000000']],
    ['legacy.config.js', [], ['legacy']],
    ['bin-script.config.js', ['-i', '1'], ['next']],
  ])('start %s %j starts the apps that its author meant', async (file, options, names) => {
    const home = await ecosystems();
    const result = await home.nclust('start', file, ...options);
    expect(result).toMatchObject({ exitStatus: 0, stderr: expect.stringMatching(/^Started [^\n]*\n$/) });
    expect((await jlist(home)).map(({ name, pm2_env: { status } }) => [name, status])).toEqual(
      names.map((name) => [name, 'online']),
    );
  });

  test('start reads the config from stdin', async () => {
    const home = await ecosystems();
    const result = await home.nclust('start', '-', { input: '{"apps": [{"name": "piped", "script": "./worker.js"}]}' });
    expect(result).toMatchObject({ exitStatus: 0 });
    expect(await home.list()).toMatchObject([{ name: 'piped', status: 'online', cwd: home.work }]);
    expect(await home.nclust('delete', '-', { input: '- name: piped\n  script: worker.js\n' })).toMatchObject({
      exitStatus: 0,
    });
    expect(await home.list()).toEqual([]);
  });

  test('a config that prints and leaves a timer open does not disturb --json', async () => {
    const home = await ecosystems();
    writeFileSync(
      join(home.work, 'noisy.config.js'),
      'console.log("reading"); setInterval(() => {}, 1000); module.exports = [{ name: "quiet", script: ' +
        '"./worker.js" }];',
    );
    const result = await home.nclust('start', 'noisy.config.js', '--json');
    expect(result).toMatchObject({ exitStatus: 0, stderr: 'reading\n' });
    expect(JSON.parse(result.stdout)).toMatchObject([{ name: 'quiet' }]);
  });

  test('all output of a config is shown, even 20,000 lines', async () => {
    const home = await ecosystems();
    writeFileSync(
      join(home.work, 'loud.config.js'),
      'for (let at = 0; at < 20_000; at += 1) console.log("line", at); module.exports = [{ name: "loud", ' +
        'script: "./worker.js" }];',
    );
    const { exitStatus, stderr } = await home.nclust('validate', 'loud.config.js');
    expect(exitStatus).toBe(0);
    expect(stderr.trimEnd().split('\n')).toHaveLength(20_000);
  });

  test('a script whose name looks like a config file is started as a script', async () => {
    const home = await ecosystems();
    cpSync(join(home.work, 'worker.js'), join(home.work, 'app.json.js'));
    expect(await home.nclust('start', 'app.json.js')).toMatchObject({ exitStatus: 0 });
    expect(await home.list()).toMatchObject([{ name: 'app.json', script: join(home.work, 'app.json.js') }]);
  });

  test('an app that fails to start does not block the others, and the command fails', async () => {
    const home = await ecosystems();
    home.place('crashes-at-boot');
    write(home, [
      { name: 'bad', script: './crashes-at-boot.js', max_restarts: 0 },
      { name: 'good', script: './worker.js', min_uptime: 100 },
    ]);
    const result = await home.nclust('start');
    expect(result).toMatchObject({
      exitStatus: 1,
      stderr: expect.stringMatching(
        /1 of 2 apps failed\.\s+good +done, 1 instance\s+bad +failed: .*crashes-at-boot\.js:2/,
      ),
    });
    expect(await home.list()).toMatchObject([
      { name: 'bad', status: 'errored' },
      { name: 'good', status: 'online' },
    ]);
  });
});

describe('an app that is both in the list and in the file', () => {
  test.each([['start'], ['restart'], ['reload'], ['startOrRestart'], ['startOrReload'], ['startOrGracefulReload']])(
    '%s applies the current file and shell, starts missing apps, and leaves other apps alone',
    async (command) => {
      const home = await ecosystems();
      const port = await takePort();
      write(home, [
        { name: 'api', script: './server.js', instances: 2, port, env: { MODE: 'one' } },
        { name: 'gone', script: './worker.js' },
      ]);
      await home.nclust('start', { env: { GREETING: 'old' } });
      const before = await home.list();

      write(home, [
        { name: 'api', script: './server.js', instances: 2, port, env: { MODE: 'two' }, args: 'new' },
        { name: 'fresh', script: './worker.js' },
      ]);
      const result = await home.nclust(command, 'ecosystem.config.js', { env: { GREETING: 'new' } });

      expect(result).toMatchObject({
        exitStatus: 0,
        stderr: expect.stringMatching(/^(Started|Restarted|Reloaded) "api" \(2 instances\), "fresh"\.\n$/),
      });
      expect(parsed(await fetchOnce(`http://127.0.0.1:${port}`))).toMatchObject({
        MODE: 'two',
        GREETING: 'new',
        argv: ['new'],
      });
      const after = await home.list();
      expect(after.map(({ name, status }) => [name, status])).toEqual([
        ['api', 'online'],
        ['api', 'online'],
        ['gone', 'online'],
        ['fresh', 'online'],
      ]);
      expect(after[2].pid).toBe(before[2].pid);
      expect([after[0].pid, after[1].pid]).not.toEqual(expect.arrayContaining([before[0].pid]));
      expect(after[0].restarts).toBe(1);
    },
  );

  test('--only limits a command to the named apps', async () => {
    const home = await ecosystems();
    await home.nclust('start', 'array.config.js');
    const [api, worker] = await home.list();
    expect(await home.nclust('restart', 'array.config.js', '--only', 'worker')).toMatchObject({ exitStatus: 0 });
    const after = await home.list();
    expect(after[0].pid).toBe(api.pid);
    expect(after[1].pid).not.toBe(worker.pid);
    expect(await home.nclust('restart', 'array.config.js', '--only', 'web')).toMatchObject({
      exitStatus: 1,
      stderr: expect.stringContaining('contains "api", "worker"'),
    });
  });

  test('stop and delete end an app even if its script is deleted, and name apps that are not in the list', async () => {
    const home = await ecosystems();
    write(home, [
      { name: 'api', script: './server.js' },
      { name: 'worker', script: './worker.js' },
    ]);
    await home.nclust('start', '--only', 'api');
    write(home, [
      { name: 'api', script: './removed.js' },
      { name: 'worker', script: './worker.js' },
    ]);

    expect(await home.nclust('stop', 'ecosystem.config.js')).toMatchObject({
      exitStatus: 0,
      stderr: 'Not in the list: "worker".\nStopped "api".\n',
    });
    expect(await home.list()).toMatchObject([{ name: 'api', status: 'stopped' }]);
    expect(await home.nclust('delete', 'ecosystem.config.js')).toMatchObject({ exitStatus: 0 });
    expect(await home.list()).toEqual([]);
    expect(await home.nclust('stop', 'ecosystem.config.js')).toMatchObject({
      exitStatus: 0,
      stderr: expect.stringMatching(/"api".*"worker"/),
    });
  });

  test('reload changes an app from fork to cluster mode', async () => {
    const home = await ecosystems();
    const port = await takePort();
    write(home, [{ name: 'api', script: './server.js', port }]);
    await home.nclust('start');
    write(home, [{ name: 'api', script: './server.js', port, instances: 2 }]);
    expect(await home.nclust('reload', 'ecosystem.config.js')).toMatchObject({ exitStatus: 0 });
    expect(await home.list()).toMatchObject([
      { mode: 'cluster', status: 'online' },
      { mode: 'cluster', status: 'online' },
    ]);
    expect(parsed(await fetchOnce(`http://127.0.0.1:${port}`))).toMatchObject({ name: 'api' });
  });
});

describe('a config with faults', () => {
  test('start reports all faults at once and starts only the other apps', async () => {
    const home = await ecosystems();
    write(home, [
      { name: 'good', script: './worker.js' },
      { name: 'bad', script: './missing.js', instances: 'many', kill_timout: 3 },
    ]);
    const result = await home.nclust('start');
    expect(result).toMatchObject({ exitStatus: 1, stdout: '' });
    expect(result.stderr).toMatch(
      pattern(
        /has 2 faults:\n/,
        / {2}apps\[1\]\.instances is "many"; accepted: .*\n/,
        / {2}apps\[1\]\.script is "\.\/missing\.js".*\n/,
        / {2}"apps\[1\]\.kill_timout" is unknown and ignored; did you mean "kill_timeout"\?/,
      ),
    );
    expect(await home.list()).toMatchObject([{ name: 'good', status: 'online' }]);
    expect(await home.nclust('validate')).toMatchObject({ exitStatus: 1 });
    write(home, [{ name: 'bad', script: './missing.js' }]);
    expect(await home.nclust('start')).toMatchObject({ exitStatus: 1, stderr: expect.stringContaining('has a fault') });
  });

  test.each([
    [['start'], 2, 'there is no config file in'],
    [['start', 'x.config.js'], 1, 'There is no file'],
    [['restart', 'array.config.js', 'api'], 2, 'accepted: one config file, or targets'],
    [['start', 'array.config.js', '--name', 'x'], 2, '--name is "x" for 2 apps'],
    [['start', 'apps.config.js', '--env', 'prodution'], 2, 'accepted: "production"'],
  ])('a wrong command line is refused with a hint: %j', async (words, exitStatus, message) => {
    const home = await ecosystems();
    expect(await home.nclust(...words)).toMatchObject({
      exitStatus,
      stdout: '',
      stderr: expect.stringContaining(message),
    });
  });
});

describe('validate', () => {
  test('validate shows the apps of a file and starts nothing', async () => {
    const home = await ecosystems();
    const result = await home.nclust('validate', 'apps.config.js');
    expect(result).toMatchObject({
      exitStatus: 0,
      stderr:
        'deploy.production.post-deploy seems to call pm2, but nclust manages the apps. Write nclust in its place.\n',
      stdout:
        `${join(home.work, 'apps.config.js')}: 1 app, no errors, 1 warning\n  API: ` +
        `${join(home.work, 'server.js')} (cluster, instances: 1)\n  deploy: production\n`,
    });
    expect(existsSync(home.home)).toBe(false);
  });

  test('validate reports every fault with --json', async () => {
    const home = await ecosystems();
    write(home, [{ name: 'bad', script: './missing.js', instances: 'many' }]);
    const result = await home.nclust('validate', '--json');
    expect(result.exitStatus).toBe(1);
    expect(JSON.parse(result.stderr).error).toMatchObject({
      code: 'ERR_NCLUST_BAD_CONFIG',
      data: { faults: [{ keyPath: 'apps[0].instances', found: '"many"' }, { keyPath: 'apps[0].script' }] },
    });
  });
});

describe('init', () => {
  test.each([[[]], [['simple']]])(
    '%j writes a valid file that starts as it is, and never overwrites a file',
    async (words) => {
      const home = await sandbox();
      const file = join(home.work, 'ecosystem.config.js');
      expect(await home.nclust('init', ...words)).toMatchObject({ exitStatus: 0, stdout: `${file}\n` });
      const text = readFileSync(file, 'utf8');
      home.place('keeps-alive', 'index.js');
      expect(await home.nclust('validate')).toMatchObject({ exitStatus: 0, stderr: '' });
      expect(await home.nclust('ecosystem', ...words)).toMatchObject({
        exitStatus: 1,
        stderr: expect.stringContaining('it was not changed'),
      });
      expect(readFileSync(file, 'utf8')).toBe(text);
      expect(await home.nclust('start')).toMatchObject({ exitStatus: 0 });
    },
  );

  test.runIf(existsSync('/proc/self'))('init reports a folder that cannot be written to', async () => {
    const home = await sandbox();
    // Uses /proc/self, because not even root can write there.
    const result = await home.nclust('init', { cwd: '/proc/self' });
    expect(result).toMatchObject({
      exitStatus: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^nclust: "\/proc\/\S+\/ecosystem\.config\.js" cannot be written \(E[A-Z]+\); nothing was changed\.\nnext: /,
      ),
    });
  });

  test('init writes a .cjs file in a package of ES modules', async () => {
    const home = await sandbox();
    writeFileSync(join(home.work, 'package.json'), '{"type": "module"}');
    expect(await home.nclust('init')).toMatchObject({
      exitStatus: 0,
      stdout: `${join(home.work, 'ecosystem.config.cjs')}\n`,
    });
    writeFileSync(join(home.work, 'index.js'), 'setInterval(() => {}, 1_000_000);');
    expect(await home.nclust('validate')).toMatchObject({ exitStatus: 0 });
  });
});
