import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createRig, watch } from '../control-rig.js';
import { makeSpec } from '../make-spec.js';

const disk = vi.hoisted(() => ({ looks: 0, hangs: null }));
vi.mock('../../../../lib/shared/host/git-folder.js', async (original) => {
  const { readGitFolder } = await original();
  return {
    async readGitFolder(folder, user) {
      disk.looks += 1;
      await disk.hangs;
      return readGitFolder(folder, user);
    },
  };
});
const reading = await vi.importActual('../../../../lib/shared/host/git-folder.js');

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
const versioning = () => rig.control.registry.desired.apps[0].spec.versioning;

/** Also waits in real time, because reads of real files do not depend on the fake clock. */
async function through(request) {
  const seen = watch(request);
  while (seen.state === 'pending') {
    for (let look = 0; look < 5; look += 1) await reading.readGitFolder(root, null);
    await rig.turn(100);
  }
}

async function started(fields = {}) {
  await through(
    rig.call('start', { specs: [makeSpec({ versioning: { ...VERSIONING, repo_path: root }, ...fields })] }),
  );
}

test.each([['restart'], ['reload'], ['start']])(
  '%s reads the revision that starts, and leaves fields unknown that only git knows',
  async (method) => {
    await started();
    await through(rig.call(method, { targets: ['api'] }));
    expect(versioning()).toEqual({ ...VERSIONING, repo_path: root });
    commit(NEW);
    await through(rig.call(method, { targets: ['api'] }));
    expect(versioning()).toMatchObject({ revision: NEW, comment: null, unstaged: null, ahead: false, repo_path: root });
  },
);

test('a missing checkout, and an app that does not want one, stay as they are', async () => {
  await started({ vizion: false });
  commit(NEW);
  await through(rig.call('restart', { targets: ['api'] }));
  expect(versioning()).toMatchObject({ revision: OLD });
});

test('a hanging disk holds one read, and requests wait a second; the revision is unknown then', async () => {
  await started();
  commit(NEW);
  let back = () => {};
  disk.hangs = new Promise((resolve) => {
    back = () => resolve();
  });
  const before = disk.looks;
  const first = watch(rig.call('reload', { targets: ['api'] }));
  await rig.turn(999);
  expect([first.state, rig.running()]).toEqual(['pending', ['api/0']]);
  await rig.turn(30_000);
  expect(first.state).toBe('done');
  expect(versioning()).toMatchObject({ revision: null, comment: null, unstaged: null, repo_path: root });
  // The next request does not wait for the read that hangs, and starts no other read.
  await through(rig.call('restart', { targets: ['api'] }));
  expect(disk.looks - before).toBe(1);

  back();
  disk.hangs = null;
  await vi.waitFor(async () => {
    await through(rig.call('restart', { targets: ['api'] }));
    expect(versioning()).toMatchObject({ revision: NEW });
  });
});
