import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sandbox } from '../helpers/sandbox.js';

test('a control whose keeper dies before they connect leaves the socket to the next manager', async () => {
  const home = await sandbox();
  const app = await home.app('http-echo');
  const { keeperPid, controlPid } = await home.daemon();
  process.kill(controlPid, 'SIGKILL');
  const late = await home.waitFor(
    'the next control',
    () => home.processes().find(({ role, pid }) => role === 'control' && pid !== controlPid)?.pid,
  );
  process.kill(late, 'SIGSTOP');
  try {
    process.kill(keeperPid, 'SIGKILL');
    expect(await home.nclust('start', home.place('keeps-alive'))).toMatchObject({ exitStatus: 0 });
  } finally {
    process.kill(late, 'SIGCONT');
  }
  await home.waitFor(
    'the late control to exit',
    () =>
      readFileSync(join(home.home, 'nclust.log'), 'utf8').includes('home-held-by-another-keeper') &&
      !home.processes().some(({ pid }) => pid === late),
  );
  expect((await home.list()).map(({ name }) => name).sort()).toEqual([app.name, 'keeps-alive'].sort());
});
