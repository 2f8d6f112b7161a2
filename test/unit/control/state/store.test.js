import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { emptyDesired } from '../../../../daemon/control/state/desired.js';
import { startSpecs } from '../../../../daemon/control/state/changes.js';
import { readSealed, writeSealed } from '../../../../daemon/control/state/durable-file.js';
import { createStore } from '../../../../daemon/control/state/store.js';
import { makeSpec } from '../make-spec.js';

let folder;
let paths;
let store;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-store-'));
  paths = {
    state: join(folder, 'state.json'),
    stateBackup: join(folder, 'state.json.bak'),
    reserve: join(folder, 'state.reserve'),
  };
  store = createStore(paths, () => 1234);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const withApps = (...names) =>
  startSpecs(
    emptyDesired(),
    names.map((name) => makeSpec({ name, env: { 1: 'b', a: 'ü"}\n' } })),
    { isForced: false, isIdle: () => true, cpus: 1, nowMs: 5 },
  ).desired;

test('a home without a state has an empty list', () => {
  expect(store.load()).toEqual({ desired: emptyDesired(), isExact: false, isNew: true, notices: [] });
});

test('a saved state is loaded, and only its owner can read it', () => {
  store.save(withApps('api'));
  expect(store.load()).toEqual({ desired: withApps('api'), isExact: true, notices: [] });
  expect(statSync(paths.state).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(['state.json', 'state.reserve']);
});

test('a state of an earlier version gets defaults for missing fields', () => {
  const desired = withApps('api');
  const { logShip, maxSurge, ...earlier } = desired.apps[0].spec;
  store.save({
    ...desired,
    apps: [{ ...desired.apps[0], spec: earlier, previous: [{ generation: 0, spec: earlier }] }],
  });
  const [app] = store.load().desired.apps;
  expect([app.spec, app.previous[0].spec]).toEqual([
    { ...earlier, logShip, maxSurge },
    { ...earlier, logShip, maxSurge },
  ]);
});

test('the previous state is kept', () => {
  store.save(withApps('api'));
  store.save(withApps('api', 'web'));
  expect(readSealed(paths.stateBackup)).toMatchObject({ kind: 'good', value: { apps: [{ spec: { name: 'api' } }] } });
});

test('a truncated file gives the previous state and a notice, and is kept aside', () => {
  store.save(withApps());
  store.save(withApps('api'));
  const whole = readFileSync(paths.state);
  for (let length = whole.length - 1; length >= 0; length--) {
    // Truncates the same file again, because this is faster than writing a new file.
    truncateSync(paths.state, length);
    const { desired, isExact, notices } = store.load();
    expect(desired.apps).toEqual([]);
    expect([length, isExact, notices.length]).toEqual([length, false, 1]);
    expect(notices[0]).toContain('state.json.bad-1234');
    expect(notices[0]).toContain('The state before the last change is used instead');
    expect(statSync(`${paths.state}.bad-1234`).size).toBe(length);
    renameSync(`${paths.state}.bad-1234`, paths.state);
  }
});

test('a changed byte is detected anywhere', () => {
  store.save(withApps('api'));
  const whole = readFileSync(paths.state);
  for (let at = 0; at < whole.length; at += 7) {
    const changed = Buffer.from(whole);
    changed[at] ^= 1;
    writeFileSync(paths.state, changed);
    const { desired, notices } = store.load();
    expect([at, desired.apps, notices.length]).toEqual([at, [], 1]);
  }
});

test.each([
  ['nothing', ''],
  ['zeros', '\0'.repeat(4096)],
  ['other JSON', '{"apps":[]}'],
  ['no JSON', 'hello\n'],
  ['nested garbage', '['.repeat(100_000)],
])('%s in both files gives an empty list and a notice', (_what, text) => {
  writeFileSync(paths.state, text);
  writeFileSync(paths.stateBackup, text);
  const { desired, isExact, notices } = store.load();
  expect(desired).toEqual(emptyDesired());
  expect(isExact).toBe(false);
  expect(notices[0]).toContain('no usable copy');
});

test('a state of a later version is not changed but kept aside', () => {
  writeSealed(paths.state, { v: 2, apps: 'who knows' });
  expect(store.load().notices[0]).toContain('its version is 2');
});

test('a folder in place of the state causes a notice, not a crash', () => {
  mkdirSync(paths.state);
  expect(store.load().notices).toHaveLength(1);
});

test('a save after a bad state keeps the good copy until there is a better one', () => {
  store.save(withApps('api'));
  store.save(withApps('api', 'web'));
  writeFileSync(paths.state, 'x');
  const { desired } = store.load();
  store.save(desired);
  expect(store.load()).toMatchObject({ isExact: true, desired: { apps: [{ spec: { name: 'api' } }] } });
});

test('a save fails if the folder is gone', () => {
  rmSync(folder, { recursive: true });
  expect(() => store.save(withApps('api'))).toThrow(
    expect.objectContaining({ code: 'ERR_NCLUST_STATE_WRITE', message: expect.stringContaining('ENOENT') }),
  );
});
