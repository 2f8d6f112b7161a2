import { once } from 'node:events';
import { symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fixturePath } from '../../helpers/fixtures.js';
import { takePort } from '../../helpers/ports.js';
import { sandbox } from '../../helpers/sandbox.js';

const FRAMEWORKS = fileURLToPath(new URL('../../frameworks', import.meta.url));
const MIN_UPTIME_MS = 1_000;
/** This program loads for longer than min_uptime, and fails only after the load, at listen(). */
const LOADS_MS = { nest: 4_000 };

const APPS = [
  ['express 5', join(FRAMEWORKS, 'express.js'), {}],
  ['express 4', join(FRAMEWORKS, 'express.js'), { EXPRESS: 'express4' }],
  ['fastify', join(FRAMEWORKS, 'fastify.mjs'), {}],
  ['koa', join(FRAMEWORKS, 'koa.js'), {}],
  ['nest', join(FRAMEWORKS, 'nest.js'), {}],
  ['http', fixturePath('http-echo'), {}],
  ['net', fixturePath('tcp-greets'), {}],
];

async function holdPort(home) {
  const outside = await takePort();
  const server = createServer().listen(outside);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const holder = await home.app('tcp-greets', { name: 'holder' });
  return [
    [outside, `(pid ${process.pid})`],
    [holder.port, 'the app "holder"'],
  ];
}

describe.each([
  ['cluster', ['-i', '2']],
  ['fork', []],
])('a taken port in %s mode', (_mode, instances) => {
  test.each(APPS)('%s fails with the taken port and its holder', { timeout: 120_000 }, async (name, script, env) => {
    const home = await sandbox();
    symlinkSync(join(FRAMEWORKS, 'node_modules'), join(home.work, 'node_modules'));
    for (const [port, holder] of await holdPort(home)) {
      const free = { env: { ...env, PORT: String(await takePort()) } };
      const taken = { env: { ...env, PORT: String(port) } };
      const start = ['start', script, '--name', 'app', ...instances, '--min-uptime', String(MIN_UPTIME_MS)];
      for (const attempt of [start, ['restart', 'app', '--update-env'], ['reload', 'app', '--update-env']]) {
        if (attempt !== start) expect(await home.nclust(...start, free)).toMatchObject({ exitStatus: 0 });
        const failed = await home.nclust(...attempt, taken);
        expect(failed, `${attempt[0]} ${failed.stderr}`).toMatchObject({ exitStatus: 1 });
        expect(failed.stderr, attempt[0]).toMatch(new RegExp(`could not listen on (port |[\\w.:\\[\\]]+:)${port}`));
        expect(failed.stderr, attempt[0]).toContain(holder);
        const [{ lastDeath }] = (await home.list()).filter((slot) => slot.name === 'app');
        if (attempt !== start || lastDeath)
          expect(lastDeath?.uptimeMs).toBeLessThan(MIN_UPTIME_MS + 1_000 + (LOADS_MS[name] ?? 0));
        await home.nclust('delete', 'app');
      }
    }
  });
});
