import { cpSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { endsAlone, expectStopped } from '../../helpers/alone.js';
import { lost } from '../../helpers/ledger.js';
import { takePort } from '../../helpers/ports.js';
import { sandbox } from '../../helpers/sandbox.js';
import { startTraffic } from '../../helpers/traffic/traffic.js';

const FRAMEWORKS = fileURLToPath(new URL('../../frameworks', import.meta.url));
const TSCONFIG = { compilerOptions: { module: 'commonjs', esModuleInterop: true }, 'ts-node': { transpileOnly: true } };

const LOADERS = [
  '--import tsx',
  '-r tsx/cjs',
  '-r ts-node/register',
  '-r @swc-node/register',
  '--import @swc-node/register/esm-register',
];

function place(home) {
  symlinkSync(join(FRAMEWORKS, 'node_modules'), join(home.work, 'node_modules'));
  writeFileSync(join(home.work, 'tsconfig.json'), JSON.stringify(TSCONFIG));
  writeFileSync(join(home.work, 'package.json'), '{ "type": "commonjs" }');
  cpSync(join(FRAMEWORKS, 'typescript-enum.ts'), join(home.work, 'app.ts'));
}

describe.each([
  ['cluster', ['-i', '2']],
  ['fork', []],
])('TypeScript loaders in %s mode', (_mode, instances) => {
  describe.each(['node_args', 'NODE_OPTIONS'])('set with %s', (where) => {
    test.each(LOADERS)('%s runs TypeScript, and a reload loses no request', async (loader) => {
      const home = await sandbox();
      place(home);
      const port = await takePort();
      const env = { PORT: String(port), ...(where === 'NODE_OPTIONS' ? { NODE_OPTIONS: loader } : {}) };
      const alone = where === 'node_args' ? [...loader.split(' '), 'app.ts'] : ['app.ts'];
      const aloneMs = await endsAlone(home, alone, env);
      const args = where === 'node_args' ? [`--node-args=${loader}`] : [];
      const started = await home.nclust('start', 'app.ts', ...instances, ...args, { env });
      expect(started, started.stderr).toMatchObject({ exitStatus: 0 });
      const traffic = startTraffic(
        { url: `http://127.0.0.1:${port}` },
        { 'one-shot': 1, 'keep-alive': 1 },
        { pauseMs: 10 },
      );
      try {
        const reloaded = await home.nclust('reload', 'app');
        expect(reloaded, reloaded.stderr).toMatchObject({ exitStatus: 0 });
      } finally {
        await traffic.stop();
      }
      expect([lost(traffic.ledger), traffic.ledger.ok > 0]).toEqual([0, true]);
      await expectStopped(home, 'app', aloneMs);
    });
  });
});
