import { cpSync, existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { endsAlone, expectStopped } from '../../helpers/alone.js';
import { lost } from '../../helpers/ledger.js';
import { takePort } from '../../helpers/ports.js';
import { sandbox } from '../../helpers/sandbox.js';
import { startTraffic } from '../../helpers/traffic/traffic.js';

// These programs close their server on SIGTERM, and do not call process.exit().

const FRAMEWORKS = fileURLToPath(new URL('../../frameworks', import.meta.url));

function place(home) {
  symlinkSync(join(FRAMEWORKS, 'node_modules'), join(home.work, 'node_modules'));
  cpSync(join(FRAMEWORKS, 'ends.js'), join(home.work, 'ends.js'));
}

describe.each([
  ['cluster', ['-i', '2']],
  ['fork', []],
])('reload and stop in %s mode', (_mode, instances) => {
  test.each(['close', 'flush', 'http-terminator', 'stoppable', 'terminus'])(
    'a program that ends with %s loses no request in a reload, and stops as fast as it would alone',
    async (way) => {
      const home = await sandbox();
      place(home);
      const env = { PORT: String(await takePort()), ENDS: way };
      const aloneMs = await endsAlone(home, ['ends.js'], env);
      const started = await home.nclust('start', 'ends.js', ...instances, { env });
      expect(started, started.stderr).toMatchObject({ exitStatus: 0 });
      const traffic = startTraffic(
        { url: `http://127.0.0.1:${env.PORT}` },
        { 'one-shot': 1, 'keep-alive': 1 },
        { pauseMs: 10 },
      );
      try {
        const reloaded = await home.nclust('reload', 'ends');
        expect(reloaded, reloaded.stderr).toMatchObject({ exitStatus: 0 });
      } finally {
        await traffic.stop();
      }
      expect([lost(traffic.ledger), traffic.ledger.ok > 0]).toEqual([0, true]);
      const pids = (await home.list()).map(({ pid }) => pid);
      await expectStopped(home, 'ends', aloneMs);
      if (way === 'flush') expect(pids.every((pid) => existsSync(join(home.work, `flushed-${pid}`)))).toBe(true);
    },
  );
});
