import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createRig } from '../control-rig.js';

let rig;
let logs;

beforeEach(async () => {
  logs = mkdtempSync(join(tmpdir(), 'nclust-log-files-'));
  rig = createRig();
  await rig.boot();
  for (const name of ['api', 'web'])
    void rig
      .start({
        name,
        outFile: join(logs, `${name}-out.log`),
        errorFile: join(logs, `${name}-error.log`),
        mergeLogs: true,
      })
      .catch(() => {});
  await rig.turn(2_000);
});
afterEach(() => rmSync(logs, { recursive: true, force: true }));

const put = (name, text) => writeFileSync(join(logs, name), text);

test('flush empties the files of its targets, and reports the space that they and their segments took', async () => {
  put('api-out.log', '12345');
  put('api-out__2026-11-21T14-30-00-123Z.log.gz', '123');
  put('web-out.log', '12345');
  expect(await rig.call('flush', { targets: ['api'] })).toEqual({
    files: [{ path: join(logs, 'api-out.log'), bytes: 8 }],
  });
  expect(rig.flushed).toEqual([join(logs, 'api-out.log')]);
});

test('flush without targets empties the files of every app', async () => {
  for (const name of ['api-out.log', 'web-out.log', 'web-error.log']) put(name, 'x');
  await rig.call('flush');
  expect(rig.flushed.sort()).toEqual(['api-out.log', 'web-error.log', 'web-out.log'].map((name) => join(logs, name)));
});

test('flush empties a file that was just rotated, and leaves alone what is not a file', async () => {
  put('api-error__2026-11-21T14-30-00-123Z.log', '123');
  mkdirSync(join(logs, 'api-out.log'));
  expect(await rig.call('flush', { targets: ['api'] })).toEqual({
    files: [{ path: join(logs, 'api-error.log'), bytes: 3 }],
  });
});

test('flush of an unknown app is an error, and empties nothing', async () => {
  put('api-out.log', 'x');
  await expect(rig.call('flush', { targets: ['api', 'nope'] })).rejects.toMatchObject({
    code: 'ERR_NCLUST_APP_NOT_FOUND',
  });
  expect(rig.flushed).toEqual([]);
});

test('reloadLogs opens every file again, including that of the manager', async () => {
  expect(await rig.call('reloadLogs')).toEqual({});
  expect(rig.reopened).toEqual(['apps', 'own']);
});

test('flush empties the combined file too, even that of processes of an earlier spec', async () => {
  put('api-all.log', '12345');
  const { label } = [...rig.control.registry.instances.values()].find((one) => one.label.name === 'api');
  label.logFile = join(logs, 'api-all.log');
  expect(await rig.call('flush', { targets: ['api'] })).toEqual({
    files: [{ path: join(logs, 'api-all.log'), bytes: 5 }],
  });
});

test('a notice names apps whose names lead to the same log files', async () => {
  const listed = async () => (await rig.call('list')).notices;
  for (const name of ['my_app', 'my.app', 'our app', 'two_apps', 'two-apps', 'Web'])
    void rig.start({
      name,
      mode: 'fork',
      ...(name.startsWith('two') ? { outFile: `/x/${name}`, errorFile: 'NULL' } : {}),
    });
  await rig.turn(2_000);
  expect(await listed()).toEqual([]);
  for (const name of ['my-app', '@our-app', 'our@app']) void rig.start({ name, mode: 'fork' });
  await rig.turn(2_000);
  expect(await listed()).toEqual([
    expect.stringMatching(
      /^"my_app", "my-app" share ".*\/my-app-out\.log", ".*\/my-app-error\.log", .* nclust reload my-app -o/,
    ),
    expect.stringMatching(/^"our app", "our@app" share .* nclust reload our@app -o/),
  ]);
});
