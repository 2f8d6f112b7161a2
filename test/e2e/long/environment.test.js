import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { environmentOf, killIfThere } from '../../helpers/processes.js';
import { sandbox } from '../../helpers/sandbox.js';

const SECRET = 'hunter2-correct-horse';

const environments = async (app) => (await app.pids()).map(environmentOf);

describe('env files', () => {
  test('env files are read again at a reload, which also removes variables, but not after a crash', async () => {
    const home = await sandbox();
    const file = join(home.work, 'app.env');
    writeFileSync(file, 'COLOUR="light blue"\nREMOVED=soon\n# a remark\nexport ALSO=1\n');
    const app = await home.app('http-echo', { instances: 2, flags: ['--env-file', 'app.env'] });
    for (const env of await environments(app))
      expect(env).toMatchObject({ COLOUR: 'light blue', REMOVED: 'soon', ALSO: '1' });

    writeFileSync(file, 'COLOUR=red\n');
    const [before] = await app.pids();
    killIfThere((await home.daemon()).controlPid);
    killIfThere(before);
    await home.waitFor(
      'the replacement of the killed process',
      async () => ![0, before].includes((await app.pids())[0]),
    );
    expect((await environments(app))[0]).toMatchObject({ COLOUR: 'light blue', REMOVED: 'soon' });

    expect(await home.nclust('reload', app.name)).toMatchObject({ exitStatus: 0 });
    for (const env of await environments(app)) {
      expect(env.COLOUR).toBe('red');
      expect(env).not.toHaveProperty('REMOVED');
      expect(env).not.toHaveProperty('ALSO');
    }
  });

  test('env files that cannot be read refuse a reload before anything changes', async () => {
    const home = await sandbox();
    const file = join(home.work, 'app.env');
    writeFileSync(file, 'A=1\n');
    const app = await home.app('http-echo', { flags: ['--env-file', 'app.env'] });
    const pids = await app.pids();
    const spoilt = [
      [/could not be read \(ENOENT\)/, () => unlinkSync(file)],
      [/is not a regular file/, () => execFileSync('mkfifo', [file])],
      [/has more than 1024 KiB/, () => (unlinkSync(file), writeFileSync(file, 'A'.repeat(1024 * 1024 + 1)))],
    ];
    for (const [reason, spoil] of spoilt) {
      spoil();
      for (const command of ['reload', 'restart', 'start']) {
        const refused = await home.nclust(command, app.name);
        expect(refused).toMatchObject({ exitStatus: 1, stdout: '' });
        expect(refused.stderr).toMatch(reason);
        expect(refused.stderr).toContain(`The env file "${file}" of "http-echo"`);
      }
    }
    expect(await app.pids()).toEqual(pids);
    const started = await home.nclust('start', app.script, '--name', 'other', '--env-files', 'elsewhere.env', '--json');
    expect(started.exitStatus).toBe(1);
    expect(JSON.parse(started.stderr)).toMatchObject({
      error: { code: 'ERR_NCLUST_ENV_FILE', data: { name: 'other', file: join(home.work, 'elsewhere.env') } },
    });
    expect(await home.list()).toHaveLength(1);
  });
});

describe('secrets', () => {
  async function withSecrets() {
    const home = await sandbox();
    const file = join(home.work, 'password');
    writeFileSync(file, `${SECRET}-file\n`);
    const app = await home.app('http-echo', { instances: 2, env: { PASSWORD: 'of the shell' } });
    const client = await home.connect();
    writeFileSync(join(home.work, 'token'), `${SECRET}-command\n`);
    const secrets = { PASSWORD: { file: 'password' }, TOKEN: { command: 'cat token; cat token >&2' } };
    await client.request('reload', { targets: [app.name], specs: { [app.name]: { secrets } }, token: 'secrets' });
    return { home, app, client, file };
  }

  test('secrets are in the environment of the app and nowhere else', async () => {
    const { home, app, client, file } = await withSecrets();
    for (const env of await environments(app))
      expect(env).toMatchObject({ PASSWORD: `${SECRET}-file`, TOKEN: `${SECRET}-command` });

    const outputs = [];
    const run = async (...words) => outputs.push(await home.nclust(...words, { env: { PASSWORD: `${SECRET}-file` } }));
    for (const words of [
      ['list'],
      ['list', '--json'],
      ['jlist'],
      ['prettylist'],
      ['describe', app.name],
      ['describe', app.name, '--json'],
      ['env', app.name],
      ['env', app.name, '--json'],
      ['env', app.name, '--diff'],
      ['env', app.name, '--diff', '--json'],
    ])
      await run(...words);
    expect(outputs[6].stdout).toMatch(/^PASSWORD: \*\*\*$/m);
    expect(outputs[8].stdout).toMatch(/^~ PASSWORD=\*\*\* -> \*\*\* {2}\(secret\)$/m);
    expect(JSON.parse(outputs[2].stdout)[0].pm2_env).toMatchObject({ PASSWORD: '***', TOKEN: '***' });

    const [pid] = await app.pids();
    killIfThere(pid);
    await home.waitFor('the replacement of the killed process', async () => ![0, pid].includes((await app.pids())[0]));
    await run('save');
    await run('reload', app.name);
    await run('scale', app.name, '3');
    const second = (await app.pids())[1];
    killIfThere((await home.daemon()).controlPid);
    killIfThere(second);
    await home.waitFor(
      'three running instances',
      async () => (await app.pids()).filter((one) => one !== 0 && one !== second).length === 3,
    );
    writeFileSync(file, 'x'.repeat(100_000));
    await run('reload', app.name);
    unlinkSync(file);
    await run('restart', app.name);
    await run('reload', app.name, '--json');
    await client
      .request('reload', {
        targets: [app.name],
        specs: { [app.name]: { secrets: { TOKEN: { command: 'cat token; cat token >&2; exit 4' } } } },
        token: 'fails',
      })
      .catch((error) =>
        outputs.push({ stdout: '', stderr: JSON.stringify([error, error.message, error.data, error.stack]) }),
      );
    await run('logs', '--nostream', '--lines', '1000');
    expect(outputs.at(-2).stderr).toMatch(
      /The secret \\"TOKEN\\" of \\"http-echo\\" is not available: its command exited with code 4/,
    );

    for (const { stdout, stderr } of outputs) expect(stdout + stderr).not.toContain(SECRET);
    const files = allFiles(home.home);
    expect(files.map(({ path }) => path)).toContain(join(home.home, 'state.json'));
    expect(files.filter(({ bytes }) => bytes.includes(SECRET)).map(({ path }) => path)).toEqual([]);
    for (const { pid: other, role } of home.processes())
      if (role !== 'app') expect(JSON.stringify(environmentOf(other))).not.toContain(SECRET);
  });

  test('secrets that cannot be read stop a reload before it starts, with the reason', async () => {
    const { home, app, file } = await withSecrets();
    const pids = await app.pids();
    unlinkSync(file);
    const refused = await home.nclust('reload', app.name);
    expect(refused).toMatchObject({ exitStatus: 1, stdout: '' });
    expect(refused.stderr).toContain(
      `The secret "PASSWORD" of "http-echo" is not available: its file "${file}" could not be read (ENOENT).`,
    );
    expect(await app.pids()).toEqual(pids);
  });

  test('secrets are read again at a reload, and by a control that restarts an instance', async () => {
    const { home, app, file } = await withSecrets();
    writeFileSync(file, `${SECRET}-second`);
    const [pid] = await app.pids();
    killIfThere(pid);
    await home.waitFor('the replacement of the first process', async () => ![0, pid].includes((await app.pids())[0]));
    expect((await environments(app))[0].PASSWORD).toBe(`${SECRET}-file`);
    await home.nclust('reload', app.name);
    for (const env of await environments(app)) expect(env.PASSWORD).toBe(`${SECRET}-second`);
    writeFileSync(file, `${SECRET}-third`);
    const [other] = await app.pids();
    killIfThere((await home.daemon()).controlPid);
    killIfThere(other);
    await home.waitFor(
      'the replacement of the second process',
      async () => ![0, other].includes((await app.pids())[0]),
    );
    expect((await environments(app))[0].PASSWORD).toBe(`${SECRET}-third`);
  });

  test('secrets that take long do not block other commands', async () => {
    const { home, app, client } = await withSecrets();
    const gate = join(home.work, 'gate');
    execFileSync('mkfifo', [gate]);
    const reload = client.request('reload', {
      targets: [app.name],
      specs: { [app.name]: { secrets: { TOKEN: { command: `echo waits > begun; cat ${gate}` } } } },
      token: 'slow',
    });
    await home.waitFor('the command of the secret to start', () => readFileSync(join(home.work, 'begun'), 'utf8'));
    expect(await home.nclust('list')).toMatchObject({ exitStatus: 0 });
    writeFileSync(gate, 'opened');
    await reload;
    for (const env of await environments(app)) expect(env.TOKEN).toBe('opened');
  });
});

describe('the environment of an app', () => {
  test('the environment lacks filtered variables, has incremented ones, and names the instance', async () => {
    const home = await sandbox();
    const env = { AWS_KEY: '1', MY_TOKEN: '1', KEPT: '1', BASE: '100' };
    const app = await home.app('http-echo', {
      instances: 2,
      env,
      flags: ['--filter-env', 'AWS', '--filter-env', 'TOKEN', '--increment-var', 'BASE', '--instance-var', 'WORKER'],
    });
    const given = await environments(app);
    expect(given).toMatchObject([
      { KEPT: '1', BASE: '100', WORKER: '0' },
      { KEPT: '1', BASE: '101', WORKER: '1' },
    ]);
    for (const one of given)
      for (const name of ['AWS_KEY', 'MY_TOKEN', 'NODE_APP_INSTANCE']) expect(one).not.toHaveProperty(name);

    expect(
      await home.nclust('reload', app.name, '--update-env', {
        env: { PORT: String(app.port), AWS_KEY: '2', KEPT: undefined, BASE: '200' },
      }),
    ).toMatchObject({ exitStatus: 0 });
    const updated = await environments(app);
    expect(updated.map(({ BASE }) => BASE)).toEqual(['200', '201']);
    for (const one of updated) for (const name of ['AWS_KEY', 'KEPT']) expect(one).not.toHaveProperty(name);
  });

  test('the environment has nothing from the shell if everything is filtered', async () => {
    const home = await sandbox();
    await home.nclust('start', home.place('ticks'), '--filter-env', '--name', 'bare');
    const [{ pid }] = await home.list();
    expect(
      Object.keys(environmentOf(pid))
        .filter((name) => !/^NODE_CHANNEL_|^NCLUST_AGENT$/.test(name))
        .sort(),
    ).toEqual(['NCLUST_HOME', 'NCLUST_INSTANCE', 'NODE_APP_INSTANCE', 'PM2_HOME', 'name', 'pm_id']);
  });

  test('the environment loses a declared variable in the reload that removes it', async () => {
    const home = await sandbox();
    const app = await home.app('http-echo', { instances: 2 });
    const client = await home.connect();
    const declare = (env, token) =>
      client.request('reload', { targets: [app.name], specs: { [app.name]: { env } }, token });
    await declare({ A: '1', B: '1' }, 'first');
    for (const env of await environments(app)) expect(env).toMatchObject({ A: '1', B: '1' });
    await declare({ A: '2' }, 'second');
    for (const env of await environments(app)) {
      expect(env.A).toBe('2');
      expect(env).not.toHaveProperty('B');
    }
  });

  test('an app with an increment_var that does not exist is refused before the start', async () => {
    const home = await sandbox();
    const refused = await home.nclust('start', home.place('ticks'), '--increment-var', 'PORT');
    expect(refused).toMatchObject({ exitStatus: 1, stdout: '' });
    expect(refused.stderr).toMatch(
      /"ticks" cannot be started: its increment_var is "PORT", and that variable does not exist/,
    );
    expect(await home.list()).toEqual([]);
  });
});

test('env --diff shows the differences from this shell, and the origin of each', async () => {
  const home = await sandbox();
  writeFileSync(join(home.work, 'app.env'), 'COLOUR=red\n');
  const app = await home.app('http-echo', {
    env: { MOOD: 'then', AWS_KEY: '1' },
    flags: ['--env-file', 'app.env', '--filter-env', 'AWS'],
  });
  const shell = { env: { MOOD: 'now', AWS_KEY: '1', NEW: '1' } };
  const { stdout, exitStatus } = await home.nclust('env', app.name, '--diff', shell);
  expect(exitStatus).toBe(0);
  expect(stdout.split('\n').sort()).toEqual(
    [
      '',
      '+ NODE_APP_INSTANCE=0  (nclust)',
      `+ PM2_HOME=${home.home}  (nclust)`,
      `+ PORT=${app.port}  (shell at start)`,
      '+ name=http-echo  (nclust)',
      '+ pm_id=0  (nclust)',
      `+ COLOUR=red  (${join(home.work, 'app.env')})`,
      '- AWS_KEY=1  (filter_env)',
      '- NEW=1  (not in the shell at start)',
      '~ MOOD=now -> then  (shell at start)',
    ].sort(),
  );
  const { stdout: json } = await home.nclust('env', '0', '--diff', '--json', shell);
  expect(JSON.parse(json)).toContainEqual({
    name: 'COLOUR',
    change: 'added',
    value: 'red',
    shell: null,
    origin: join(home.work, 'app.env'),
  });
  expect((await home.nclust('env', app.name, shell)).stdout).toMatch(/^COLOUR: red$/m);
});

function allFiles(folder) {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    const stat = statSync(path);
    if (stat.isDirectory()) return allFiles(path);
    return stat.isFile() ? [{ path, bytes: readFileSync(path) }] : [];
  });
}
