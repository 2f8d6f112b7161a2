import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSettings } from '../../../../daemon/control/settings-file.js';
import { createRig } from '../control-rig.js';

let rig;
let folder;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-api-settings-'));
  rig = createRig();
  rig.settings = createSettings(join(folder, 'settings.json'), rig.clock.nowMs);
  await rig.boot();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const shown = ({ settings }, wanted) => settings.find(({ key }) => key === wanted);

test('settings returns all settings, with their defaults', async () => {
  expect(shown(await rig.call('settings'), 'logs.max_size')).toEqual({
    key: 'logs.max_size',
    value: '10M',
    isSet: false,
    help: expect.any(String),
  });
});

test('set and unset return the value that applies afterwards', async () => {
  expect(shown(await rig.call('set', { key: 'logs.max_files', value: '3' }), 'logs.max_files')).toMatchObject({
    value: '3',
    isSet: true,
  });
  const unset = await rig.call('unset', { key: 'logs.max_files' });
  expect(unset.wasSet).toBe(true);
  expect(shown(unset, 'logs.max_files')).toMatchObject({ value: '10', isSet: false });
});

test('set reports an address that could not be bound', async () => {
  const unserved = { reason: 'EADDRINUSE', retryMs: 5_000 };
  Object.assign(rig.context.exports, { applyNow: async () => unserved });
  Object.assign(rig.context.web, { syncNow: async () => null });
  expect((await rig.call('set', { key: 'metrics.listen', value: '127.0.0.1:9615' })).unserved).toEqual(unserved);
  expect((await rig.call('set', { key: 'web.listen', value: '127.0.0.1:9616' })).unserved).toBe(null);
  expect((await rig.call('set', { key: 'logs.max_files', value: '3' })).unserved).toBe(null);
});

test('an invalid setting is refused', async () => {
  await expect(rig.call('set', { key: 'logs.max_files', value: 'x' })).rejects.toMatchObject({
    code: 'ERR_NCLUST_BAD_SETTING',
  });
  await expect(rig.call('set', { key: 'logs.max_files' })).rejects.toThrow('"value" has to be a text');
});

test('a broken settings file is a notice in the list', async () => {
  writeFileSync(join(folder, 'settings.json'), '{');
  expect((await rig.call('list')).notices).toEqual([expect.stringContaining('settings.json')]);
});
