import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { readConfig, readNames } from '../../../../../lib/config/file/read.js';

const NODE = { file: process.execPath, version: process.version };

let folder;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-config-'));
  write({ 'app.js': '1', 'package.json': '{}' });
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(files) {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  }
}

const read = ({ cwd = folder, ...wanted } = {}) => readConfig({ cwd, env: { PATH: '/nowhere' }, node: NODE }, wanted);

const readApps = (apps, wanted) => {
  write({ 'apps.json': { apps } });
  return read({ file: 'apps.json', ...wanted });
};

const failure = (reading) =>
  reading.then(
    () => {
      throw new Error('It was read.');
    },
    (error) => error,
  );

const app = { name: 'app', script: 'app.js' };

describe('the config file of a folder', () => {
  test.each([
    [['nclust.config.json', 'ecosystem.config.json', 'ecosystem.json'], 'nclust.config.json'],
    [['ecosystem.config.yaml', 'ecosystem.config.json'], 'ecosystem.config.json'],
    [['ecosystem.json', 'ecosystem.yml'], 'ecosystem.json'],
    [['ecosystem.yml'], 'ecosystem.yml'],
  ])('the config file among %j is %s', async (names, found) => {
    for (const name of names) write({ [name]: { apps: [{ ...app, name }] } });
    expect(await read()).toMatchObject({ file: join(folder, found), specs: [{ name: found }] });
  });

  test('the config file may be given with ~', async () => {
    vi.stubEnv('HOME', folder);
    onTestFinished(() => void vi.unstubAllEnvs());
    write({ 'apps.json': { apps: [app] } });
    expect(await read({ file: '~/apps.json', cwd: '/' })).toMatchObject({ file: join(folder, 'apps.json') });
  });

  test('the config file is package.json if it has the key, and if there is no separate file', async () => {
    await expect(read()).rejects.toMatchObject({
      code: 'ERR_NCLUST_CONFIG_NOT_FOUND',
      message: expect.stringContaining(folder),
      hint: expect.stringContaining('nclust init'),
    });
    write({ 'package.json': { nclust: { apps: [app] } } });
    expect(await read()).toMatchObject({ file: join(folder, 'package.json'), specs: [{ name: 'app' }] });
    write({ 'ecosystem.json': [{ ...app, name: 'own' }] });
    expect((await read()).specs).toMatchObject([{ name: 'own' }]);
  });

  test('the config file is reported with its path if it is given but missing', async () => {
    for (const file of ['x.config.js', 'x.json', 'x.yaml'])
      await expect(read({ file })).rejects.toMatchObject({
        code: 'ERR_NCLUST_CONFIG_NOT_FOUND',
        message: expect.stringContaining(join(folder, file)),
      });
  });

  test.each([
    ['{"apps":[{"name":"app","script":"app.js"}]}'],
    ['apps:\n  - name: app\n    script: app.js\n'],
    ['// said\n[{ name: "app", script: "app.js", }]'],
  ])('the config file may come from stdin: %s', async (text) => {
    expect(await read({ file: '-', stdin: async () => text })).toMatchObject({
      file: null,
      specs: [{ name: 'app', cwd: folder }],
    });
  });
});

describe('a config file with faults', () => {
  test('a config file is refused with key path, found and accepted value of every fault', async () => {
    const error = await failure(
      readApps([
        { name: 'a', script: 'app.js', max_memory_restart: 'lots', instances: 'many', kill_timeout: -1 },
        { name: 'b', script: 'missing.js', autorestart: 'maybe', env: { PASSWORD: '\u0000secret' } },
        { name: 'c', script: 'app.js', cwd: '/nowhere/at/all', interpreter: 'python3' },
        { name: 'd', scirpt: 'app.js' },
        { name: 'a', script: 'app.js' },
        'e',
      ]),
    );
    expect(error).toMatchObject({ code: 'ERR_NCLUST_BAD_CONFIG', exitStatus: 1 });
    expect(error.data.faults.map(({ keyPath }) => keyPath).sort()).toEqual([
      'apps[0].instances',
      'apps[0].kill_timeout',
      'apps[0].max_memory_restart',
      'apps[1].autorestart',
      'apps[1].env.PASSWORD',
      'apps[1].script',
      'apps[2].cwd',
      'apps[3].script',
      'apps[4].name',
      'apps[5]',
    ]);
    expect(error.data.faults).toContainEqual(
      expect.objectContaining({
        keyPath: 'apps[0].kill_timeout',
        found: '-1',
        accepted: expect.stringContaining('milliseconds'),
      }),
    );
    for (const { message } of error.data.faults) expect(error.message).toContain(message);
    expect(error.message).toContain(`"${join(folder, 'apps.json')}" has 10 faults`);
    expect(error.message).toContain('"apps[3].scirpt" is unknown and ignored; did you mean "script"?');
    expect(error.message).not.toContain('secret');
  });

  test.each([
    [{ ...app, port: 70_000 }, 'apps[0].port'],
    [{ ...app, exec_mode: 'threads' }, 'apps[0].exec_mode'],
    [{ ...app, env: 'A=1' }, 'apps[0].env'],
    [{ ...app, env_production: [] }, 'apps[0].env_production'],
    [{ ...app, args: { a: 1 } }, 'apps[0].args'],
    [{ ...app, args: '"open' }, 'apps[0].args'],
    [{ ...app, stop_exit_codes: [256] }, 'apps[0].stop_exit_codes'],
    [{ ...app, time: 'yes' }, 'apps[0].time'],
    [{ ...app, wait_ready: 1 }, 'apps[0].wait_ready'],
    [{ ...app, name: 'all' }, 'apps[0].name'],
    [{ ...app, name: ' ' }, 'apps[0].name'],
    [{ ...app, interpreter: 'node@18' }, 'apps[0].interpreter'],
    [{ ...app, interpreter: 'python9' }, 'apps[0].interpreter'],
    [{ ...app, log_ship: 'udp' }, 'apps[0].log_ship'],
    [{ ...app, cron_restart: 'often' }, 'apps[0].cron_restart'],
    [{ ...app, env: { 'A=B': 1 } }, 'apps[0].env'],
  ])('a fault such as %j is refused at %s', async (given, keyPath) => {
    const error = await failure(readApps([given]));
    expect(error).toMatchObject({ code: 'ERR_NCLUST_BAD_CONFIG', message: expect.stringContaining(keyPath) });
    expect(error.data.faults).toHaveLength(1);
    expect(error.data.faults[0].keyPath).toContain(keyPath);
  });

  test.each([
    [{ env: 'PASSWORD=hunter2' }, 'apps[0].env is a text;'],
    [{ env: ['PASSWORD=hunter2'] }, 'apps[0].env is a list;'],
    [{ env_production: 'hunter2' }, 'apps[0].env_production is a text;'],
    [{ env: { PASSWORD: 'hunter2\0' } }, 'apps[0].env.PASSWORD is a text; accepted: a text without a NUL'],
    [{ secrets: { PASSWORD: { value: 'hunter2' } } }, 'apps[0].secrets.PASSWORD is an object;'],
  ])('a fault such as %j is refused without showing the password', async (given, message) => {
    const error = await failure(readApps([{ ...app, ...given }]));
    expect(error.message).toContain(message);
    expect(JSON.stringify([error.message, error.hint, error.data])).not.toContain('hunter2');
  });

  test('a fault in basic_auth is refused without showing the password', async () => {
    write({ 'x.json': { static: [{ path: '.', port: 8080, basic_auth: 'admin:hunter2' }] } });
    const error = await failure(read({ file: 'x.json' }));
    expect(error.message).toContain('static[0].basic_auth is a text;');
    expect(error.message).not.toContain('hunter2');
  });

  test.each([[null], [42], ['text'], [{}], [{ app: [] }], [[]].map(() => ({ name2: 1 }))])(
    'a config file is refused if %j is its content, which has no apps',
    async (content) => {
      write({ 'x.json': JSON.stringify(content) });
      await expect(read({ file: 'x.json' })).rejects.toMatchObject({
        code: 'ERR_NCLUST_BAD_CONFIG',
        message: expect.stringContaining('a list "apps"'),
      });
    },
  );
});

describe('a config file with odd attributes', () => {
  test.each([
    [
      { ...app, max_memory_restrat: '1G' },
      ['"apps[0].max_memory_restrat" is unknown and ignored; did you mean "max_memory_restart"?'],
    ],
    [{ ...app, killTimout: 1 }, ['"apps[0].killTimout" is unknown and ignored; did you mean "killTimeout"?']],
    [{ ...app, description: 'my app' }, ['"apps[0].description" is unknown and ignored.']],
    [
      { ...app, out_file: 'a', output: 'b' },
      ['"apps[0].output" is the same attribute as "apps[0].out_file", and overrides it.'],
    ],
    [{ ...app, watch: undefined, cron_restart: null, vizion: false, $schema: 'x' }, []],
  ])('an odd attribute such as %j causes the warnings %j', async (given, warnings) => {
    expect((await readApps([given])).warnings).toEqual(warnings);
  });

  test('a config file may have other keys beside "apps", but not one that looks like a known key', async () => {
    write({ 'x.json': { apps: [app], base: {}, shared: 1, $schema: './schema.json', deplyo: {} } });
    expect((await read({ file: 'x.json' })).warnings).toEqual([
      '"deplyo" is unknown and ignored; did you mean "deploy"?',
    ]);
  });
});

describe('a config file in another module format than its package.json declares', () => {
  const commonjs =
    'const { join } = require("node:path"); module.exports = [{ name: join("a", "b"), script: "app.js" }];';
  const module = 'import { join } from "node:path";\nexport default [{ name: join("a", "b"), script: "app.js" }];';

  test.each([
    ['module', commonjs],
    ['commonjs', module],
    ['module', module],
    ['commonjs', commonjs],
  ])('a config file is read in its own format: type %s, %s', async (type, text) => {
    write({ 'package.json': { type }, 'x.config.js': text });
    expect((await read({ file: 'x.config.js' })).specs).toMatchObject([{ name: 'a/b' }]);
  });

  test('an error of a config file in its own format has the right place', async () => {
    write({ 'package.json': { type: 'commonjs' }, 'x.config.js': 'export const a = 1;\nexport default nothing;\n' });
    await expect(read({ file: 'x.config.js' })).rejects.toMatchObject({
      message: expect.stringContaining('nothing is not defined (line 2, column 16)'),
    });
  });
});

describe('a file that cannot be read', () => {
  test.each([
    ['x.json', '{"apps": [\n  {"name" "x"}]}', 'line 2, column 11'],
    ['x.yaml', 'apps:\n  - name: x\n   script: y\n', 'line 3, column 1'],
    [
      'x.json',
      `{"apps": [{"script": "app.js", "args": ${'['.repeat(20_000)}${']'.repeat(20_000)}}]}`,
      'is more than 100 levels deep',
    ],
    [
      'x.yaml',
      'apps: &apps\n  - name: x\n    script: app.js\n    env: { SELF: *apps }\n',
      'apps\\[0\\].env.SELF contains itself',
    ],
    ['x.yaml', 'apps:\n  - name: x\n    script: app.js\n    env: !!set { A, B }\n', 'apps\\[0\\].env is a Set'],
    [
      'x.yaml',
      'apps:\n  - name: x\n    script: app.js\n    args: !!binary SGVsbG8=\n',
      'apps\\[0\\].args is binary data',
    ],
    [
      'x.config.js',
      'module.exports = {\n  apps: [{ name: "a" script: 1 }] };',
      'SyntaxError: Unexpected identifier.*line 2, column 22',
    ],
    [
      'x.config.mjs',
      'export default {\n  apps: [{ name: "a" script: 1 }] };',
      'SyntaxError: Unexpected identifier.*line 2, column 22',
    ],
    ['x.config.js', '\n\nmodule.exports = nothing;', 'ReferenceError: nothing is not defined .line 3, column 18'],
    ['x.config.js', 'require("./not-there")', "Cannot find module './not-there'"],
    ['x.config.js', 'throw "a text"', 'it threw a text'],
    ['x.config.mjs', 'export default await new Promise(() => {});', 'waits for a promise that never settles'],
    ['x.config.js', 'module.exports = () => new Promise(() => {});', 'waits for a promise that never settles'],
    ['x.config.js', 'process.exit(3)', 'it exited with code 3'],
    ['x.config.js', 'module.exports = () => { throw new TypeError("no"); };', 'TypeError: no .line 1, column 32'],
    ['package.json', '{"name": "x"}', 'no key "nclust" or "pm2"'],
  ])('the file %s is refused with the reason if it contains %s', async (file, text, message) => {
    write({ [file]: text });
    const error = await failure(read({ file }));
    expect(error).toMatchObject({
      code: 'ERR_NCLUST_BAD_CONFIG',
      exitStatus: 1,
      message: expect.stringMatching(message),
    });
    expect(error.message).toContain(join(folder, file));
  });

  test('a CommonJS file named .mjs is refused with the hint .cjs', async () => {
    write({ 'x.config.mjs': 'module.exports = { apps: [] }' });
    await expect(read({ file: 'x.config.mjs' })).rejects.toMatchObject({
      message: expect.stringContaining('line 1, column 1'),
      hint: expect.stringContaining('.cjs'),
    });
  });

  test('a file that leaves a timer and a server running can be read', async () => {
    write({
      'x.config.js':
        'setInterval(() => {}, 1000); require("net").createServer().listen(0); module.exports = [{ name: ' +
        '"app", script: "app.js" }];',
    });
    expect((await read({ file: 'x.config.js' })).specs).toHaveLength(1);
  });

  test('a file with a cycle is refused with its key path, and a warning names an ignored function', async () => {
    write({
      'x.config.js':
        'const a = { name: "a", script: "app.js", args: () => 1 }; a.env = { SELF: a }; module.exports = { ' +
        'apps: [a] };',
    });
    const { data } = await failure(read({ file: 'x.config.js' }));
    expect(data.warnings).toEqual(['apps[0].args is a function, which nclust ignores.']);
    expect(data.faults).toEqual([expect.objectContaining({ keyPath: 'apps[0].env.SELF', found: 'contains itself' })]);
  });
});

describe('a choice from a config file', () => {
  const apps = [
    { ...app, name: 'api', env: { A: 1 }, env_production: { A: 2 } },
    { ...app, name: 'npm run worker' },
    { name: 'broken', script: 'missing.js' },
  ];

  test.each([
    ['api', ['api']],
    ['api, api', ['api']],
    ['npm run worker', ['npm run worker']],
  ])('a choice with --only %s has only these apps', async (only, names) => {
    expect((await readApps(apps, { only })).specs.map(({ name }) => name)).toEqual(names);
  });

  test.each([['web'], ['api,web'], [' ']])('--only %j is refused, and the error names the apps', async (only) => {
    await expect(readApps(apps, { only })).rejects.toMatchObject({
      code: 'ERR_NCLUST_APP_NOT_FOUND',
      message: expect.stringContaining('"api", "npm run worker", "broken"'),
    });
  });

  test('a choice with an unknown --env is refused, and the error names the known ones', async () => {
    expect((await readApps(apps.slice(0, 2), { env: 'production' })).specs).toMatchObject([
      { env: { A: '2' }, envName: 'production' },
      { env: {} },
    ]);
    await expect(readApps(apps.slice(0, 2), { env: 'prodution' })).rejects.toMatchObject({
      code: 'ERR_NCLUST_USAGE',
      message: expect.stringContaining('accepted: "production"'),
    });
  });

  test('a choice with --env gets the variables of that place in `deploy`, between env and env_<name>', async () => {
    const deploy = {
      production: { host: 'h', env: { A: 'deploy', B: 'deploy', N: 1 } },
      staging: { env: { S: 'deploy' } },
      bare: {},
      odd: { env: 'text' },
    };
    const first = { ...app, name: 'api', env: { A: 'env', B: 'env', C: 'env' }, env_production: { B: 'own' } };
    write({ 'apps.json': { apps: [first, { ...app, name: 'web' }], deploy } });
    const env = async (name) => (await read({ file: 'apps.json', env: name })).specs.map((spec) => spec.env);
    expect(await env(undefined)).toEqual([{ A: 'env', B: 'env', C: 'env' }, {}]);
    expect(await env('production')).toEqual([
      { A: 'deploy', B: 'own', C: 'env', N: '1' },
      { A: 'deploy', B: 'deploy', N: '1' },
    ]);
    expect(await env('staging')).toEqual([{ A: 'env', B: 'env', C: 'env', S: 'deploy' }, { S: 'deploy' }]);
    for (const name of ['bare', 'odd']) expect(await env(name)).toEqual([{ A: 'env', B: 'env', C: 'env' }, {}]);
    deploy.staging.env['a=b'] = 'x';
    write({ 'apps.json': { apps: [first], deploy } });
    await expect(env('staging')).rejects.toMatchObject({ message: expect.stringContaining('deploy.staging.env') });
  });

  test('a choice with --env is only warned about in a file without environments', async () => {
    expect((await readApps([app], { env: 'production' })).warnings).toEqual([
      expect.stringContaining('env_production'),
    ]);
  });

  test('readNames() has all names, even if a script is missing', async () => {
    write({ 'x.json': apps });
    expect((await readNames({ cwd: folder, env: {}, node: NODE }, { file: 'x.json' })).names).toEqual([
      'api',
      'npm run worker',
      'broken',
    ]);
  });
});

describe('options of the command line', () => {
  test('options of the command line override the file for all of its apps', async () => {
    const { specs } = await readApps(
      [
        { ...app, kill_timeout: 1, node_args: '-r a' },
        { ...app, name: 'b' },
      ],
      { options: { killTimeout: 5, interpreterArgs: ['-r', 'b'], instances: 2 } },
    );
    for (const spec of specs)
      expect(spec).toMatchObject({ killTimeoutMs: 5, interpreterArgs: ['-r', 'b'], instances: 2, mode: 'cluster' });
  });

  test('options of the command line may have a name for one app only', async () => {
    expect((await readApps([app], { options: { name: 'other' } })).specs).toMatchObject([{ name: 'other' }]);
    await expect(readApps([app, { ...app, name: 'b' }], { options: { name: 'other' } })).rejects.toMatchObject({
      code: 'ERR_NCLUST_USAGE',
    });
  });
});

test.each([
  ['two scripts', [{ script: 'a/index.js' }, { script: 'b/index.js' }], ['index', 'index-2'], ['apps[1]']],
  ['three', Array(3).fill({ script: 'app.js' }), ['app', 'app-2', 'app-3'], ['apps[1]', 'apps[2]']],
  ['a later name', [{ script: 'app.js' }, { ...app, script: 'a/index.js' }], ['app-2', 'app'], ['apps[0]']],
  [
    'a taken number',
    [{ script: 'app.js' }, { script: 'app.js' }, { ...app, name: 'app-2' }],
    ['app', 'app-3', 'app-2'],
    ['apps[1]'],
  ],
])('apps that are named after their script get different names: %s', async (_, apps, names, renamed) => {
  write({ 'a/index.js': '1', 'b/index.js': '1' });
  const { specs, warnings } = await readApps(apps);
  expect(specs.map(({ name }) => name)).toEqual(names);
  expect(warnings).toEqual(renamed.map((keyPath) => expect.stringContaining(`${keyPath} has no name`)));
  expect((await readApps(apps, { only: names[1] })).specs).toMatchObject([{ name: names[1] }]);
});
