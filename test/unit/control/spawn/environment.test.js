import { beforeEach, describe, expect, test } from 'vitest';
import { waitFor } from '../../../helpers/wait-for.js';
import { createRig, watch } from '../control-rig.js';
import { makeSpec } from '../make-spec.js';

let rig;

beforeEach(async () => {
  rig = createRig();
  await rig.boot();
});

const lastEnv = () => rig.spawned().at(-1)?.params.env;
const alive = (slot) => rig.keeper.alive.find((child) => child.label.slot === slot);

/** Waits in real time, because the reader of env files is imported on demand. */
async function outcome(promise) {
  const seen = watch(promise);
  await waitFor('the answer', async () => {
    if (seen.state === 'pending') await rig.turn();
    return seen.state !== 'pending';
  });
  return seen;
}

describe('secrets', () => {
  const secrets = { TOKEN: { command: 'get token' }, PASSWORD: { file: '/run/password' } };

  function countReadings() {
    const readings = [];
    rig.secret = async (spec, name) => {
      readings.push(name);
      return `hunter${readings.filter((one) => one === name).length}`;
    };
    return readings;
  }

  test('secrets reach the process and nothing else', async () => {
    rig.secret = async (_spec, name) => `hunter2-${name}`;
    expect((await outcome(rig.start({ instances: 2, secrets, env: { A: '1', TOKEN: 'placeholder' } }))).state).toBe(
      'done',
    );
    expect(lastEnv()).toMatchObject({ A: '1', TOKEN: 'hunter2-TOKEN', PASSWORD: 'hunter2-PASSWORD' });
    const { slots, notices } = await rig.call('list', { detail: true });
    expect(slots[0].effectiveEnv).toMatchObject({ TOKEN: '***', PASSWORD: '***' });
    rig.keeper.exit(alive(0).instanceId, { code: 1 });
    await rig.turn();
    const snapshot = [...rig.keeper.children.values()].map(({ env: _env, behaviour: _b, timers: _t, ...fact }) => fact);
    const written = JSON.stringify([
      slots,
      notices,
      rig.store.load(),
      rig.events,
      rig.published,
      snapshot,
      [...rig.keeper.notes],
      rig.keeper.requests.filter(({ verb }) => verb !== 'spawn'),
      rig.spawned().map(({ params: { env: _, ...params } }) => params),
    ]);
    expect(written).not.toContain('hunter2');
  });

  test('secrets are read once for all instances of a generation, even after a crash', async () => {
    const readings = countReadings();
    await outcome(rig.start({ instances: 3, secrets }));
    rig.keeper.exit(alive(1).instanceId, { code: 1 });
    await rig.turn(2_000);
    expect(rig.spawned()).toHaveLength(4);
    expect(lastEnv()).toMatchObject({ TOKEN: 'hunter1', PASSWORD: 'hunter1' });
    expect(readings.sort()).toEqual(['PASSWORD', 'TOKEN']);
  });

  test.each(['reload', 'restart', 'start'])('secrets are read again by a %s', async (method) => {
    countReadings();
    await outcome(rig.start({ secrets }));
    expect((await outcome(rig.call(method, { targets: ['api'] }))).state).toBe('done');
    expect(lastEnv()).toMatchObject({ TOKEN: 'hunter2' });
    rig.keeper.exit(alive(0).instanceId, { code: 1 });
    await rig.turn(2_000);
    expect(lastEnv()).toMatchObject({ TOKEN: 'hunter2' });
  });

  test('secrets are read again, once, by the next control when it starts an instance', async () => {
    countReadings();
    await outcome(rig.start({ instances: 2, secrets }));
    await rig.boot();
    for (const slot of [0, 1]) rig.keeper.exit(alive(slot).instanceId, { code: 1 });
    await rig.turn(2_000);
    expect(rig.spawned().map(({ params }) => params.env.TOKEN)).toEqual(['hunter1', 'hunter1', 'hunter2', 'hunter2']);
  });

  test('secrets of a deleted app are not those of its successor', async () => {
    countReadings();
    await outcome(rig.start({ secrets }));
    await rig.call('save', {}).catch(() => {});
    await outcome(rig.call('delete', { targets: ['api'] }));
    await rig.turn();
    await outcome(rig.start({ secrets }));
    expect(lastEnv()).toMatchObject({ TOKEN: 'hunter2' });
  });

  test.each([
    ['start', () => rig.start({ secrets })],
    ['restart', () => rig.call('restart', { targets: ['api'] })],
    ['reload', () => rig.call('reload', { targets: ['api'] })],
  ])('secrets that are not available refuse a %s before anything is changed', async (method, request) => {
    if (method !== 'start') await outcome(rig.start({ secrets }));
    const before = [rig.running(), rig.store.saves, rig.keeper.requests.length];
    rig.secret = () => Promise.reject(new Error('it said hunter2'));
    await expect(request()).rejects.toMatchObject({
      code: 'ERR_NCLUST_SECRET',
      message: expect.stringMatching(/^The secret "(TOKEN|PASSWORD)" of "api" is not available/),
    });
    await expect(request()).rejects.not.toMatchObject({ message: expect.stringContaining('hunter2') });
    await rig.turn();
    expect([rig.running(), rig.store.saves, rig.keeper.requests.length]).toEqual(before);
  });

  test('secrets that are not available for an unattended start are a refused spawn, which is retried', async () => {
    await outcome(rig.start({ secrets }));
    await rig.boot();
    const good = rig.secret;
    rig.secret = () => Promise.reject(new Error('it said hunter2'));
    rig.keeper.exit(alive(0).instanceId, { code: 1 });
    await rig.turn(50);
    await rig.turn(50);
    const [{ lastDeath, status }] = await rig.list();
    expect(status).toBe('waiting restart');
    expect(lastDeath).toMatchObject({
      cause: 'spawn-failed',
      lastLines: [expect.stringMatching(/^ERR_NCLUST_SECRET: The secret "TOKEN" of "api" is not available/)],
    });
    expect(JSON.stringify(rig.events)).not.toContain('hunter2');
    rig.secret = good;
    await rig.turn(20_000);
    expect(rig.running()).toEqual(['api/0']);
  });

  test('secrets that take long delay only their app, and a stop does not wait for them', async () => {
    await outcome(rig.start({ secrets }));
    await rig.boot();
    let give = () => {};
    rig.secret = () =>
      new Promise((resolve) => {
        give = () => resolve('late');
      });
    rig.keeper.exit(alive(0).instanceId, { code: 1 });
    await rig.turn(500);
    expect(await rig.list()).toMatchObject([{ status: 'launching', waitingFor: 'the values of its secrets' }]);
    expect((await outcome(rig.start({ name: 'other' }))).state).toBe('done');
    const stopped = await outcome(rig.call('stop', { targets: ['api'] }));
    expect(stopped.result.slots).toMatchObject([{ name: 'api', status: 'stopped' }]);
    const before = rig.spawned().length;
    give();
    await rig.turn();
    expect(rig.spawned()).toHaveLength(before);
  });

  test('secrets that arrive after the keeper has died start no second process', async () => {
    await outcome(rig.start({ secrets }));
    await rig.boot();
    const gives = [];
    rig.secret = () =>
      new Promise((resolve) => {
        gives.push(() => resolve('late'));
      });
    rig.keeper.exit(alive(0).instanceId, { code: 1 });
    await rig.turn(500);
    rig.keeper.die();
    await rig.turn(500);
    for (const give of gives) give();
    await rig.turn();
    expect(rig.running()).toEqual(['api/0']);
    expect(rig.spawned()).toHaveLength(1);
    expect(lastEnv()).toMatchObject({ TOKEN: 'late' });
  });

  test('secrets are not read again for a repeated request', async () => {
    const readings = countReadings();
    await outcome(rig.start({ secrets }, { token: 'once' }));
    await outcome(rig.start({ secrets }, { token: 'once' }));
    expect(readings).toHaveLength(2);
  });
});

describe('env files', () => {
  const file = '/srv/app.env';
  const write = (text) => {
    rig.files[file] = text;
  };

  beforeEach(() => write('A=1\nREMOVED=soon\n'));

  test.each(['reload', 'restart', 'start'])('a %s rereads env files, so removed variables are gone', async (method) => {
    await outcome(rig.start({ envFiles: [file], shellEnv: { A: '0' } }));
    expect(lastEnv()).toMatchObject({ A: '1', REMOVED: 'soon' });
    write('A=2\n');
    expect((await outcome(rig.call(method, { targets: ['api'] }))).state).toBe('done');
    expect(lastEnv().A).toBe('2');
    expect(lastEnv()).not.toHaveProperty('REMOVED');
  });

  test('env files are not read after a crash, by this control or the next', async () => {
    await outcome(rig.start({ envFiles: [file] }));
    write('A=2\n');
    for (const next of [() => {}, () => rig.boot()]) {
      await next();
      rig.keeper.exit(alive(0).instanceId, { code: 1 });
      await rig.turn(20_000);
      expect(lastEnv()).toMatchObject({ A: '1' });
    }
    expect(rig.spawned()).toHaveLength(3);
  });

  test('env files stay the same for running instances when others are restarted', async () => {
    await outcome(rig.start({ envFiles: [file], instances: 2 }));
    write('A=2\n');
    await outcome(rig.call('restart', { targets: ['0'] }));
    expect(lastEnv()).toMatchObject({ A: '2', NODE_APP_INSTANCE: '0' });
    rig.keeper.exit(alive(1).instanceId, { code: 1 });
    await rig.turn(2_000);
    expect(lastEnv()).toMatchObject({ A: '1', NODE_APP_INSTANCE: '1' });
    rig.keeper.exit(alive(0).instanceId, { code: 1 });
    await rig.turn(2_000);
    expect(lastEnv()).toMatchObject({ A: '2', NODE_APP_INSTANCE: '0' });
    await outcome(rig.call('restart', { targets: ['1'], spec: { instances: 3 } }));
    expect(rig.keeper.alive.map(({ env }) => env.A)).toEqual(['2', '2', '2']);
  });

  test.each([
    [
      'is missing',
      () => delete rig.files[file],
      /^The env file "\/srv\/app\.env" of "api" could not be read \(ENOENT\)\. Nothing was changed\.$/,
    ],
    ['contains a NUL', () => write('A=a\0b'), /contains a NUL/],
  ])('env files refuse the command before anything is changed if one of them %s', async (_what, spoil, message) => {
    await outcome(rig.start({ envFiles: [file] }));
    await outcome(rig.start({ name: 'other' }));
    spoil();
    const before = [rig.running(), rig.store.saves, rig.keeper.requests.length];
    for (const method of ['reload', 'restart', 'start']) {
      await expect(rig.call(method, { targets: ['all'] })).rejects.toMatchObject({
        code: 'ERR_NCLUST_ENV_FILE',
        message: expect.stringMatching(message),
      });
    }
    await expect(rig.start({ name: 'third', envFiles: [file] })).rejects.toMatchObject({ code: 'ERR_NCLUST_ENV_FILE' });
    await rig.turn();
    expect([rig.running(), rig.store.saves, rig.keeper.requests.length]).toEqual(before);
  });

  test('env files are resolved against the working directory, and a reload can change them', async () => {
    rig.files['/srv/b.env'] = 'A=b\nB=b\n';
    await outcome(rig.start({ envFiles: ['app.env'] }));
    await outcome(rig.call('reload', { targets: ['api'], spec: { envFiles: ['app.env', 'b.env'] } }));
    expect(lastEnv()).toMatchObject({ A: 'b', B: 'b', REMOVED: 'soon' });
    await outcome(rig.call('reload', { targets: ['api'], spec: { envFiles: [] } }));
    for (const name of ['A', 'B', 'REMOVED']) expect(lastEnv()).not.toHaveProperty(name);
  });

  test('env files can set the variable that is counted up, and refuse the command if it is not a number', async () => {
    write('PORT=4000\n');
    await outcome(rig.start({ instances: 2, envFiles: [file], incrementVar: 'PORT' }));
    expect(rig.keeper.alive.map(({ env }) => env.PORT)).toEqual(['4000', '4001']);
    write('PORT=no\n');
    await expect(rig.call('reload', { targets: ['api'] })).rejects.toMatchObject({
      code: 'ERR_NCLUST_BAD_SPEC',
      message: expect.stringMatching(
        /^"api" cannot be started: its increment_var is "PORT", and the value of that variable is not a whole number/,
      ),
    });
  });
});

describe('the shell and declared variables', () => {
  test('a removed declared variable is gone after a reload', async () => {
    await outcome(rig.start({ env: { A: '1', B: '1' } }));
    await outcome(rig.call('reload', { targets: ['api'], specs: { api: { env: { A: '2' } } } }));
    expect(lastEnv()).toMatchObject({ A: '2' });
    expect(lastEnv()).not.toHaveProperty('B');
  });

  test('a filtered variable of the shell overrides nothing', async () => {
    await outcome(
      rig.start({
        env: { SECRET_A: 'declared', B: 'declared' },
        shellEnv: { SECRET_X: 'x', OLD: '1' },
        filterEnv: ['SECRET'],
      }),
    );
    expect(lastEnv()).toMatchObject({ SECRET_A: 'declared', OLD: '1' });
    expect(lastEnv()).not.toHaveProperty('SECRET_X');
    await outcome(rig.call('reload', { targets: ['api'], env: { SECRET_A: 'shell', SECRET_X: 'x', B: 'shell' } }));
    expect(lastEnv()).toMatchObject({ SECRET_A: 'declared', B: 'shell' });
    for (const name of ['SECRET_X', 'OLD']) expect(lastEnv()).not.toHaveProperty(name);
  });

  test('variables of the interpreter and the owner stay when the shell changes', async () => {
    await outcome(
      rig.start({
        interpreterEnv: { PYTHONUNBUFFERED: '1' },
        ownerEnv: { HOME: '/home/web' },
        shellEnv: { HOME: '/root' },
      }),
    );
    await outcome(rig.call('restart', { targets: ['api'], env: { HOME: '/root', A: '1' } }));
    expect(lastEnv()).toMatchObject({ PYTHONUNBUFFERED: '1', HOME: '/home/web', A: '1' });
  });

  test('variables that a request declares override those of its shell', async () => {
    await outcome(rig.start({ env: { A: '1' } }));
    await outcome(
      rig.call('reload', { targets: ['api'], env: { A: 'shell', B: 'shell' }, specs: { api: { env: { A: '2' } } } }),
    );
    expect(lastEnv()).toMatchObject({ A: '2', B: 'shell' });
  });

  test('a reload that changes a file, a filter or a secret may listen elsewhere', async () => {
    for (const fields of [
      { filterEnv: true },
      { incrementVar: 'PORT' },
      { secrets: { A: { file: '/a' } } },
      { instanceVar: 'WORKER' },
    ]) {
      const own = createRig();
      await own.boot();
      rig = own;
      await outcome(own.start({ env: { PORT: '3000' } }));
      own.keeper.behave = () => ({ listensAfterMs: 10, ports: [4000] });
      expect((await outcome(own.call('reload', { targets: ['api'], spec: fields }))).state).toBe('done');
    }
  });
});

test('a spec reports the variables of its env files, and those sent by a client are ignored', async () => {
  await outcome(rig.call('start', { specs: [makeSpec({ fileEnv: [{ file: '/etc/none', env: { A: 'forged' } }] })] }));
  expect(lastEnv()).not.toHaveProperty('A');
});
