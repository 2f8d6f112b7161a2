import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createRig } from './control-rig.js';
import { makeSpec } from './make-spec.js';

const OLD = '1'.repeat(40);
const NEW = '2'.repeat(40);

let rig;
let root;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'nclust-checkout-'));
  mkdirSync(join(root, '.git'));
  commit(OLD);
  rig = createRig();
  await rig.boot();
});
afterEach(() => rmSync(root, { recursive: true }));

/** @param {string} revision */
function commit(revision) {
  writeFileSync(join(root, '.git', 'HEAD'), `${revision}\n`);
}

const VERSIONING = { type: 'git', url: null, revision: OLD, comment: 'first', unstaged: true, branch: 'HEAD', remotes: [], remote: null, branch_exists_on_remote: false, ahead: true, next_rev: null, prev_rev: null, update_time: '2026-01-01T00:00:00.000Z' };
const versioning = () => rig.control.world.desired.apps[0].spec.versioning;

async function started(fields = {}) {
  void rig.call('start', { specs: [makeSpec({ versioning: { ...VERSIONING, repo_path: root }, ...fields })] });
  await rig.turn(2_000);
}

test.each([['restart'], ['reload'], ['start']])('%s finds out which revision begins; what only git knows of it is unknown', async (method) => {
  await started();
  void rig.call(method, { targets: ['api'] });
  await rig.turn(3_000);
  expect(versioning()).toEqual({ ...VERSIONING, repo_path: root });
  commit(NEW);
  void rig.call(method, { targets: ['api'] });
  await rig.turn(3_000);
  expect(versioning()).toMatchObject({ revision: NEW, comment: null, unstaged: null, ahead: false, repo_path: root });
});

test('a checkout that is gone, and an app that does not want it, stay as they are', async () => {
  await started({ vizion: false });
  commit(NEW);
  void rig.call('restart', { targets: ['api'] });
  await rig.turn(3_000);
  expect(versioning()).toMatchObject({ revision: OLD });
});
