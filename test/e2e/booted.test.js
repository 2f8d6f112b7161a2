import { expect, test } from 'vitest';
import { sandbox } from '../helpers/sandbox.js';

test('a program that is still loading its main module is not up, even with --min-uptime 0', async () => {
  const home = await sandbox();
  const result = await home.nclust(
    'start',
    home.place('hangs-at-boot'),
    '--name',
    'slow',
    '--min-uptime',
    '0',
    '--listen-timeout',
    '1200',
    '--kill-timeout',
    '800',
  );
  expect(result).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringMatching(/it was still loading its main module/),
  });
  expect((await home.list())[0].status).not.toBe('online');
});

test('an ES module that throws after 1.5 s of top-level await is a failed start', async () => {
  const home = await sandbox();
  const failed = await home.nclust('start', home.place('throws-after-await.mjs'), '--name', 'late');
  expect(failed).toMatchObject({
    exitStatus: 1,
    stderr: expect.stringMatching(/no database[^]*exited with code 1|exited with code 1[^]*no database/),
  });
  const [slot] = await home.list();
  expect(slot).toMatchObject({ unstableRestarts: 1, lastDeath: { wasReady: false } });
});
