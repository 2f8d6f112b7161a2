import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { readSavedList } from '../../../../lib/import/pm2-list.js';
import { takeOver } from '../../../../lib/import/take-over.js';
import { fixturePath } from '../../../helpers/fixtures.js';

/** The importing shell, without the variables that the apps declare. */
const SHELL = {
  cwd: '/',
  env: { PATH: process.env.PATH, HOME: '/home/deploy', LANG: 'C.UTF-8', PWD: '/' },
  node: { file: process.execPath, version: process.version },
};

let folder;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-import-'));
  mkdirSync(join(folder, 'site'));
  for (const name of ['api.js', 'tick.js', 'worker.py']) writeFileSync(join(folder, name), '');
  return () => rmSync(folder, { recursive: true, force: true });
});

/** Reads a fixture, and replaces its paths with paths that exist on this machine. */
const fixture = (name) =>
  readFileSync(fixturePath(`pm2/${name}`), 'utf8')
    .replaceAll('/srv/apps', folder)
    .replaceAll('/usr/bin/bash', '/bin/bash')
    .replaceAll(/"PATH": ?"[^"]*"/g, `"PATH":${JSON.stringify(process.env.PATH)}`);

const taken = (records, env = SHELL.env) =>
  takeOver(records, { pm2Home: '/home/deploy/.pm2', shell: { ...SHELL, env } });

const record = (fields) => ({
  name: 'api',
  namespace: 'default',
  pm_exec_path: join(folder, 'api.js'),
  pm_cwd: folder,
  exec_mode: 'fork_mode',
  exec_interpreter: 'node',
  status: 'online',
  env: { PATH: process.env.PATH },
  ...fields,
});

describe.each([
  ['saved', () => JSON.parse(fixture('dump.pm2'))],
  ['live', () => JSON.parse(fixture('jlist.json')).map((one) => one.pm2_env)],
])('the %s list of PM2', (_, read) => {
  test('the list of PM2 becomes all apps with their instances, and leaves stopped ones stopped', () => {
    const { apps, refused } = taken(read());
    expect(refused).toEqual([]);
    expect(
      Object.fromEntries(apps.map(({ spec, resting }) => [spec.name, [spec.mode, spec.instances, resting]])),
    ).toEqual({
      api: ['cluster', 2, []],
      worker: ['fork', 1, []],
      tick: ['fork', 1, []],
      shell: ['fork', 1, [0]],
      bin: ['fork', 1, [0]],
      old: ['fork', 1, [0]],
      twin: ['fork', 1, []],
      'twin-2': ['fork', 1, []],
      site: ['fork', 1, []],
    });
  });

  test('the list of PM2 keeps the settings of the apps', () => {
    const specs = Object.fromEntries(taken(read()).apps.map(({ spec }) => [spec.name, spec]));
    expect(specs.api).toMatchObject({
      namespace: 'web',
      script: join(folder, 'api.js'),
      cwd: folder,
      interpreterArgs: ['--max-old-space-size=128'],
      killTimeoutMs: 3_000,
      listenTimeoutMs: 5_000,
      maxMemoryBytes: 200 * 1024 ** 2,
      outFile: join(folder, 'api.log'),
      errorFile: '',
    });
    expect(specs.worker).toMatchObject({
      kind: 'exec',
      args: ['--queue', 'low prio', '-v'],
      autorestart: false,
      outFile: join(folder, 'worker.log'),
    });
    expect(specs.tick).toMatchObject({
      args: ['a b', 'c'],
      watch: ['src'],
      ignoreWatch: ['node_modules'],
      cronRestart: '0 3 * * *',
      stopExitCodes: [0, 3],
      backoffMs: 100,
      maxRestarts: 5,
      minUptimeMs: 5_000,
      restartDelayMs: 500,
      logDateFormat: 'YYYY-MM-DDTHH:mm:ss',
      instanceVar: 'INSTANCE_ID',
      outFile: '',
      errorFile: '',
    });
    expect(specs.shell).toMatchObject({ script: 'while true; do sleep 1; done', args: [] });
    expect(specs.bin).toMatchObject({ interpreter: 'none', file: '/bin/sleep', execArgs: ['1000'] });
    expect(specs['twin-2'].args).toEqual(['x']);
  });

  test('the list of PM2 keeps the variables of the apps, and leaves out those of PM2', () => {
    const specs = Object.fromEntries(taken(read()).apps.map(({ spec }) => [spec.name, spec]));
    expect(specs.api.env).toEqual({
      PORT: '34561',
      DB_PASSWORD: 's3cret=with "quotes"',
      NESTED: '{"a":1}',
      USER: 'deploy',
    });
    expect(Object.keys(specs.api.shellEnv).sort()).toEqual(['HOME', 'LANG', 'PATH', 'PWD']);
  });

  test('the list of PM2 keeps a folder that PM2 serves as a static site', () => {
    const site = taken(read()).apps.find(({ spec }) => spec.name === 'site')?.spec;
    expect(JSON.stringify([site?.script, site?.args, site?.env])).toContain('34577');
    expect(site?.script).not.toContain('Serve.js');
  });
});

test('variables that the importing shell has too go to shellEnv, which --update-env replaces', () => {
  const [{ spec }] = taken([record({ env: { PATH: process.env.PATH, TOKEN: 'a', EDITOR: 'vi' } })], {
    ...SHELL.env,
    EDITOR: 'nano',
  }).apps;
  expect(spec).toMatchObject({ env: { TOKEN: 'a' }, shellEnv: { EDITOR: 'vi' } });
});

test('an instance that was stopped alone is imported as stopped alone', () => {
  const { apps } = taken([
    record({ exec_mode: 'cluster_mode' }),
    record({ exec_mode: 'cluster_mode', status: 'stopped' }),
    record({ exec_mode: 'cluster_mode' }),
  ]);
  expect(apps).toMatchObject([{ resting: [1], spec: { instances: 3, mode: 'cluster' } }]);
});

test('an app that PM2 no longer restarts is imported as stopped, with a warning', () => {
  const { apps, warnings } = taken([record({ status: 'errored' })]);
  expect(apps[0].resting).toEqual([0]);
  expect(warnings.join()).toMatch(/PM2 no longer restarts "api".*nclust start api/);
});

test('a cron job that PM2 shows as stopped is imported with a warning that it runs again', () => {
  const fields = { status: 'stopped', autorestart: false, cron_restart: '0 3 * * *' };
  expect(taken([record(fields)]).warnings).toEqual([
    '"api" is a cron job, and runs at its next time. To prevent that: nclust stop api',
  ]);
  expect(taken([record({ ...fields, autorestart: true })]).warnings).toEqual([]);
  expect(taken([record({ ...fields, status: 'online' })]).warnings).toEqual([]);
});

test('modules of PM2 are left out, with a warning', () => {
  const { apps, warnings } = taken([record({ name: 'pm2-logrotate', pmx_module: true })]);
  expect(apps).toEqual([]);
  expect(warnings.join()).toMatch(/pm2-logrotate.*itself rotates log files/);
});

test('an app whose program is missing is refused, and the others are imported', () => {
  const { apps, refused } = taken([record({ name: 'gone', pm_exec_path: '/srv/gone.js' }), record({})]);
  expect(apps.map(({ spec }) => spec.name)).toEqual(['api']);
  expect(refused).toEqual([{ name: 'gone', why: expect.stringContaining('/srv/gone.js') }]);
});

test('an empty record is refused, and nothing throws', () => {
  expect(taken([{}, { name: 'x', env: 7 }])).toMatchObject({ apps: [], refused: [{ name: 'app' }, { name: 'x' }] });
});

describe('the saved list', () => {
  function pm2Home(files) {
    const home = mkdtempSync(join(tmpdir(), 'nclust-pm2-'));
    onTestFinished(() => rmSync(home, { recursive: true, force: true }));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(home, name), text);
    return home;
  }
  const shell = (home) => ({ cwd: '/', env: { PM2_HOME: home } });

  test('the saved list is read from $PM2_HOME', () => {
    expect(readSavedList(undefined, shell(pm2Home({ 'dump.pm2': '[{"name":"a"}]' }))).records).toEqual([{ name: 'a' }]);
  });

  test.each([
    ['damaged', { 'dump.pm2': '[{"na' }],
    ['empty', { 'dump.pm2': '' }],
    ['missing', {}],
  ])('the saved list is read from its backup if the file is %s', (_, files) => {
    const list = readSavedList(undefined, shell(pm2Home({ ...files, 'dump.pm2.bak': '[{"name":"b"}]' })));
    expect(list).toMatchObject({ records: [{ name: 'b' }], instead: expect.stringContaining('dump.pm2') });
  });

  test('the saved list is refused without file and backup, with the hint --live', () => {
    expect(() => readSavedList(undefined, shell(pm2Home({})))).toThrow(
      expect.objectContaining({ code: 'ERR_NCLUST_IMPORT', hint: expect.stringContaining('--live') }),
    );
  });
});

test('a process without a name is called app, without a warning', () => {
  const { apps, warnings } = taken([record({ name: null })]);
  expect([apps.map(({ spec }) => spec.name), warnings]).toEqual([['app'], []]);
});

test('import leaves out a variable that no process can have, and warns without its value', () => {
  const { apps, refused, warnings } = taken([
    record({
      env: { PATH: process.env.PATH, GOOD: '1', 'a=b': 'hunter2', '': 'x', NUL: 'hunter\u00002', 'N\u0000': '1' },
    }),
  ]);
  expect(refused).toEqual([]);
  expect(apps[0].spec.env).toEqual({ GOOD: '1' });
  expect(warnings).toEqual([
    'The variable "a=b" of "api" was left out: its name or its value contains a character that no variable can have.',
    'The variable "NUL" of "api" was left out: its name or its value contains a character that no variable can have.',
    'The variable "N\\u0000" of "api" was left out: its name or its value contains a character that no ' +
      'variable can have.',
  ]);
});
