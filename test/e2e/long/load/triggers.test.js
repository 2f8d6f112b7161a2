import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loseNothing, serve, untilNothingIsLeftOver } from '../../../helpers/reloads.js';
import { sandbox } from '../../../helpers/sandbox.js';
import { triggered, untilWatching } from '../../../helpers/triggers.js';

const QUICK = ['--min-uptime', '100'];
const CLIENTS = { 'one-shot': 3, 'keep-alive': 3, slow: 1, upload: 1 };

test('three watch reloads of four workers lose no request', async () => {
  const home = await sandbox();
  const app = await serve(home, 'serves-all', { instances: 4, flags: [...QUICK, '--watch'] });
  await untilWatching(home, app.name);
  await loseNothing(app, CLIENTS, async () => {
    for (let n = 1; n <= 3; n++) {
      const before = await app.pids();
      for (let file = 0; file < 50; file++) writeFileSync(join(home.work, `change-${file}.js`), String(n));
      await home.waitFor(
        'all workers to be new',
        async () => (await app.instances()).every(({ pid, isReady }) => isReady && !before.includes(pid)),
        { deadlineMs: 30_000 },
      );
    }
  });
  expect(triggered(home).length).toBeGreaterThanOrEqual(3);
  await untilNothingIsLeftOver(home);
});

test('five cron reloads, one each second, lose no request', async () => {
  const home = await sandbox();
  const app = await serve(home, 'serves-all', { instances: 2, flags: [...QUICK, '--cron', '* * * * * *'] });
  await loseNothing(app, CLIENTS, () =>
    home.waitFor('five cron reloads', () => triggered(home).length >= 5, { deadlineMs: 60_000 }).then(() => {}),
  );
});

test('the memory limit replaces three instances one after the other and loses no request', async () => {
  const home = await sandbox();
  const grows = join(home.work, 'grows.cjs');
  writeFileSync(grows, 'process.on("SIGUSR2", () => { globalThis.taken = Buffer.alloc(300 * 1024 ** 2, 1); });');
  const app = await serve(home, 'serves-all', {
    instances: 2,
    flags: [...QUICK, '--node-args', `--require ${grows}`, '--max-memory-restart', '300M'],
  });
  await loseNothing(app, CLIENTS, async () => {
    for (let n = 1; n <= 3; n++) {
      const [greedy] = await app.pids();
      process.kill(greedy, 'SIGUSR2');
      await home.waitFor(
        'the instance to be replaced',
        async () => {
          const [slot] = await app.instances();
          return slot.isReady && slot.pid !== greedy;
        },
        { deadlineMs: 30_000 },
      );
    }
  });
  expect(triggered(home)).toEqual([1, 2, 3].map(() => expect.stringMatching(/^memory: \d+ MB above 300 MB$/)));
  await untilNothingIsLeftOver(home);
});
