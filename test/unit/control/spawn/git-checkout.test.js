import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createRig, watch } from '../control-rig.js';
import { makeSpec } from '../make-spec.js';

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

const VERSIONING = {
  type: 'git',
  url: null,
  revision: OLD,
  comment: 'first',
  unstaged: true,
  branch: 'HEAD',
  remotes: [],
  remote: null,
  branch_exists_on_remote: false,
  ahead: true,
  next_rev: null,
  prev_rev: null,
  update_time: '2026-01-01T00:00:00.000Z',
};
const versioning = () => rig.control.world.desired.apps[0].spec.versioning;

/**
 * Real files are read, and that takes no time of the clock.
 * @param {Promise<unknown>} request
 */
async function through(request) {
  const seen = watch(request);
  while (seen.state === 'pending') await rig.turn(100);
}

async function started(fields = {}) {
  await through(
    rig.call('start', { specs: [makeSpec({ versioning: { ...VERSIONING, repo_path: root }, ...fields })] }),
  );
}

test.each([['restart'], ['reload'], ['start']])(
  '%s finds out which revision begins; what only git knows of it is unknown',
  async (method) => {
    await started();
    await through(rig.call(method, { targets: ['api'] }));
    expect(versioning()).toEqual({ ...VERSIONING, repo_path: root });
    commit(NEW);
    await through(rig.call(method, { targets: ['api'] }));
    expect(versioning()).toMatchObject({ revision: NEW, comment: null, unstaged: null, ahead: false, repo_path: root });
  },
);

test('a checkout that is gone, and an app that does not want it, stay as they are', async () => {
  await started({ vizion: false });
  commit(NEW);
  await through(rig.call('restart', { targets: ['api'] }));
  expect(versioning()).toMatchObject({ revision: OLD });
});
