import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { createRig, watch } from './control-rig.js';
import { makeSpec } from './make-spec.js';

const FILE = '/srv/ecosystem.config.js';
const LATER = { answers: 42, list: [{ deep: true }] };

let rig;

/** Every level of the state contains a field that only a later version knows. */
beforeEach(async () => {
  rig = createRig();
  await rig.boot();
  await done('start', { specs: [makeSpec({ instances: 2 })] });
  const { desired } = rig.store.load();
  const [app] = desired.apps;
  rig.store.save({
    ...desired,
    ofList: LATER,
    apps: [
      {
        ...app,
        ofApp: LATER,
        spec: { ...app.spec, ofSpec: LATER },
        slots: app.slots.map((slot) => ({ ...slot, ofSlot: LATER })),
      },
    ],
  });
  await rig.boot();
  await rig.turn(1_000);
});

async function done(method, params) {
  const request = watch(rig.call(method, params));
  await rig.turn(8_000);
  expect([method, request.state, request.error]).toEqual([method, 'done', null]);
}

function expectAllKept({ name = 'api' } = {}) {
  const { desired } = rig.store.load();
  expect(desired.ofList).toEqual(LATER);
  const app = desired.apps.find(({ spec }) => spec.name === name);
  expect(app).toMatchObject({ ofApp: LATER, spec: { ofSpec: LATER } });
  for (const slot of app.slots.slice(0, 2)) expect(slot.ofSlot).toEqual(LATER);
}

test.each([
  ['the start of another app', ['start', { specs: [makeSpec({ name: 'other' })] }]],
  ['scale', ['scale', { target: 'api', instances: '3' }]],
  ['stop and start', ['stop', { targets: ['api'] }], ['start', { targets: ['api'] }]],
  ['restart', ['restart', { targets: ['api'], spec: { killTimeoutMs: 1_000 }, env: { A: '1' } }]],
  [
    'restart of one slot, which keeps the spec before for the others',
    ['restart', { targets: ['0'], spec: { args: ['x'] } }],
  ],
  ['reload', ['reload', { targets: ['api'], spec: { args: ['x'] } }]],
  ['another name', ['restart', { targets: ['api'], spec: { name: 'web' } }]],
  ['apply of a live change', ['apply', { specs: [makeSpec({ instances: 2, killTimeoutMs: 1_000 })], file: FILE }]],
  ['apply of a rollout', ['apply', { specs: [makeSpec({ instances: 2, args: ['x'] })], file: FILE, updateEnv: true }]],
  [
    'reload of a file',
    ['restartFromFile', { specs: [makeSpec({ instances: 2, args: ['x'] })], file: FILE, how: 'reload' }],
  ],
  [
    'restart of a file',
    ['restartFromFile', { specs: [makeSpec({ instances: 2, args: ['x'] })], file: FILE, how: 'restart' }],
  ],
])('fields of a later version survive %s', async (what, ...requests) => {
  for (const [method, params] of requests) await done(method, params);
  await rig.boot();
  await rig.turn(1_000);
  expectAllKept({ name: what === 'another name' ? 'web' : 'api' });
  for (const past of rig.store.load().desired.apps[0].previous ?? [])
    expect(past.spec).toMatchObject({ ofSpec: LATER });
});

test('the saved list restores them as well, and a scale by hand', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-dump-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  Object.assign(rig.context.paths, { dump: join(folder, 'dump.json'), reserve: join(folder, 'reserve') });
  await done('scale', { target: 'api', instances: '3' });
  for (const [method, params] of [
    ['save', {}],
    ['delete', { targets: ['api'] }],
    ['resurrect', {}],
  ])
    await done(method, params);
  expect(rig.store.load().desired.apps).toMatchObject([
    { ofApp: LATER, spec: { ofSpec: LATER, instances: 3 }, scaledFrom: 2 },
  ]);
});

test('a file with the same settings starts nothing because of them', async () => {
  const pids = rig.keeper.alive.map(({ pid }) => pid);
  const plan = await rig.call('apply', { specs: [makeSpec({ instances: 2 })], file: FILE, dryRun: true });
  expect(plan.plan).toMatchObject([{ action: 'none', changes: [] }]);
  await done('apply', { specs: [makeSpec({ instances: 2 })], file: FILE });
  expect(rig.keeper.alive.map(({ pid }) => pid)).toEqual(pids);
});

test('an unknown field from a client is not kept', async () => {
  await done('start', { specs: [{ ...makeSpec({ name: 'other' }), ofSpec: LATER }] });
  await done('restart', { targets: ['other'], spec: { ofSpec: LATER } });
  expect(rig.store.load().desired.apps.find(({ spec }) => spec.name === 'other').spec).not.toHaveProperty('ofSpec');
});
