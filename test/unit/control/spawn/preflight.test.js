import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { preflight } from '../../../../daemon/control/spawn/preflight.js';
import { createRig, watch } from '../control-rig.js';
import { makeSpec } from '../make-spec.js';

let folder;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'preflight-'));
  writeFileSync(join(folder, 'good.js'), 'require("node:http");\nprocess.exit(9);\n');
  writeFileSync(
    join(folder, 'module.js'),
    'import fs from "node:fs";\nexport const one = await fs.promises.stat("/");\n',
  );
  writeFileSync(join(folder, 'bad.js'), 'const a = 1;\nfunction (\n');
  writeFileSync(join(folder, 'bad.mjs'), 'import fs from "node:fs";\nconst x = ;\n');
  writeFileSync(join(folder, 'typed.ts'), 'const a: number = 1;\n');
});

afterAll(() => rmSync(folder, { recursive: true }));

const spec = (script, more = {}) =>
  makeSpec({ file: process.execPath, script: join(folder, script), cwd: folder, ...more });

test.each([
  ['a script that parses, without running it', 'good.js', {}],
  ['a module in a .js file', 'module.js', {}],
  ['what Node cannot check', 'typed.ts', {}],
  ['a script that something else makes parse', 'bad.js', { interpreterArgs: ['--import', 'tsx'] }],
  ['a port that is no number', 'good.js', { env: { PORT: '/run/api.sock' } }],
  ['a shell command', 'good.js', { kind: 'exec', mode: 'fork', file: '/bin/sh', script: '/no/such --thing' }],
  ['the highest port', 'good.js', { env: { PORT: '65535' } }],
  ['a port that the system chooses', 'good.js', { env: { PORT: '0' } }],
  ['an empty port, for which many apps have a default', 'good.js', { env: { PORT: '' } }],
  ['the name of a pipe', 'good.js', { env: { PORT: '\\\\.\\pipe\\2f6c' } }],
])('a reload accepts %s', async (_what, script, more) => {
  await expect(preflight([spec(script, more)], 'reload')).resolves.toBe(undefined);
});

test.each([
  [
    'a script that does not parse',
    'bad.js',
    {},
    /bad\.js" does not parse: SyntaxError: .* \(line 2\)\. Nothing was changed/,
  ],
  ['a module that does not parse', 'bad.mjs', {}, /bad\.mjs" does not parse: SyntaxError: .* \(line 2\)/],
  ['a script that is missing', 'none.js', {}, /script ".*none\.js" is missing/],
  ['a script that is a folder', '.', {}, /is not a file/],
  ['an interpreter that is missing', 'good.js', { file: '/no/node' }, /its interpreter "\/no\/node" is missing/],
  ['an interpreter that cannot be executed', 'good.js', { file: '/etc/passwd' }, /is not executable/],
  [
    'a script of another kind that is missing',
    'none.py',
    { kind: 'exec', mode: 'fork', file: '/bin/sh' },
    /script ".*none\.py" is missing/,
  ],
  ['a working directory that is missing', 'good.js', { cwd: '/no/folder' }, /working directory "\/no\/folder"/],
  [
    'a port that is none',
    'good.js',
    { env: { PORT: '65536' } },
    /PORT is 65536, but ports are numbers from 0 to 65535\. Nothing was changed/,
  ],
  ['a negative port', 'good.js', { env: { PORT: '-80' } }, /PORT is -80/],
])('a reload refuses %s', async (_what, script, more, message) => {
  const error = await preflight([spec(script, more)], 'reload').catch((caught) => caught);
  expect(error).toMatchObject({ code: 'ERR_NCLUST_PREFLIGHT', exitStatus: 1 });
  expect(error.message).toMatch(message);
});

test.runIf(process.getuid?.() === 0)(
  'the interpreter that checks the script runs as the user of the app, in "/"',
  async () => {
    const place = mkdtempSync(join(tmpdir(), 'preflight-'));
    onTestFinished(() => rmSync(place, { recursive: true }));
    chmodSync(place, 0o755);
    const [file, ids] = [join(place, 'node'), join(place, 'ids')];
    writeFileSync(file, `#!/bin/sh\necho $(/usr/bin/id -u) $(/usr/bin/id -g) $(/usr/bin/id -G) in $(pwd) > ${ids}\n`, {
      mode: 0o755,
    });
    writeFileSync(ids, '');
    chownSync(ids, 65_534, 65_534);
    await preflight([spec('good.js', { file, cwd: place, uid: 65_534, gid: 65_534 })], 'reload');
    expect(readFileSync(ids, 'utf8')).toBe('65534 65534 65534 in /\n');
  },
);

test('the error names the first of several failing apps in order, even if the second is found sooner', async () => {
  const slow = spec('bad.js', { name: 'first' });
  const quick = spec('none.js', { name: 'second' });
  await expect(preflight([slow, quick], 'reload')).rejects.toMatchObject({
    code: 'ERR_NCLUST_PREFLIGHT',
    data: { name: 'first' },
  });
});

test('a reload is checked with its changes, once, before anything is changed', async () => {
  const rig = createRig();
  await rig.boot();
  void rig.start({ instances: 2 });
  await rig.turn(2_000);
  const before = rig.keeper.requests.length;
  const looked = [];
  rig.preflight = (specs) => {
    looked.push(specs.map(({ name, shellEnv }) => [name, shellEnv.PORT]));
    throw new Error('no');
  };
  const request = watch(rig.call('reload', { targets: ['api'], env: { PORT: '1' } }));
  await rig.turn(10);
  expect([request.state, looked, rig.keeper.requests.length]).toEqual(['failed', [[['api', '1']]], before]);
  expect(await rig.list()).toMatchObject([{ generation: 1 }, { generation: 1 }]);
  rig.preflight = () => {};
  const token = rig.token();
  watch(rig.call('reload', { targets: ['api'], token }));
  await rig.turn(10);
  rig.preflight = () => {
    throw new Error('looked again');
  };
  const again = watch(rig.call('reload', { targets: ['api'], token }));
  await rig.turn(3_000);
  expect(again.state).toBe('done');
});

test.each([
  ['restart', 'none.js', /^Restart of "api" was refused: its script ".*none\.js" is missing/],
  ['restart', 'bad.js', /^Restart of "api" was refused: ".*bad\.js" does not parse: SyntaxError/],
  ['start', 'bad.js', /^Restart of "api" was refused: ".*bad\.js" does not parse: SyntaxError/],
])('%s stops no running instance that could not start again: %s', async (method, script, why) => {
  const rig = createRig();
  await rig.boot();
  void rig.start({ instances: 2 });
  await rig.turn(2_000);
  const before = rig.keeper.requests.length;
  rig.preflight = (specs, method) =>
    preflight(
      specs.map((one) => ({ ...one, ...spec(script) })),
      method,
    );
  await expect(rig.call(method, { targets: ['api'] })).rejects.toMatchObject({
    code: 'ERR_NCLUST_PREFLIGHT',
    message: expect.stringMatching(why),
    hint: 'Fix it, then run the command again.',
  });
  expect(rig.keeper.requests).toHaveLength(before);
  expect(await rig.list()).toMatchObject([
    { generation: 1, status: 'online' },
    { generation: 1, status: 'online' },
  ]);
});

test('an app that does not run does not prevent a restart of the others', async () => {
  const rig = createRig();
  await rig.boot();
  void rig.start({ name: 'api' });
  void rig.start({ name: 'gone' });
  await rig.turn(2_000);
  void rig.call('stop', { targets: ['gone'] });
  await rig.turn(2_000);
  const looked = [];
  rig.preflight = (specs) => void looked.push(...specs.map(({ name }) => name));
  const request = watch(rig.call('restart', { targets: ['all'] }));
  await rig.turn(3_000);
  expect([request.state, looked]).toEqual(['done', ['api']]);
});
