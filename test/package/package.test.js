import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { reload } from '../helpers/reloads.js';
import { runProgram } from '../helpers/run-program.js';
import { nodeUnderTest, openSandbox, sandbox } from '../helpers/sandbox.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('the packed package starts, reloads and kills a cluster when installed into an empty prefix', async () => {
  const outside = await sandbox();
  const prefix = join(outside.work, 'prefix');
  mkdirSync(prefix);
  const npm = (...words) =>
    execFileSync('npm', words, {
      cwd: outside.work,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, npm_config_cache: process.env.npm_config_cache },
    });
  const [{ filename, files }] = JSON.parse(npm('pack', ROOT, '--json', '--pack-destination', outside.work));
  const packed = files.map((file) => file.path);
  expect(packed).toEqual(
    expect.arrayContaining([
      'bin/nclust.js',
      'lib/index.js',
      'daemon/keeper/main.js',
      'daemon/control/main.js',
      'LICENSE',
      'README.md',
      'CHANGELOG.md',
    ]),
  );
  expect(packed.filter((path) => /^(test|\.ci|node_modules)\//.test(path))).toEqual([]);
  npm(
    'install',
    '--global',
    '--prefix',
    prefix,
    '--no-audit',
    '--no-fund',
    '--prefer-offline',
    join(outside.work, filename),
  );

  const bin = join(prefix, 'bin', 'nclust');
  const version = await runProgram(bin, ['--version'], { env: outside.env }).done;
  expect(version.stdout.trim()).toContain(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version);

  const home = openSandbox({ bin: join(prefix, 'lib/node_modules/nclust/bin/nclust.js') });
  try {
    const app = await home.app('http-echo', { instances: 2 });
    expect(await app.get()).toMatchObject({ pid: expect.any(Number) });
    expect(home.processes().find((one) => one.role === 'app')?.command).toContain(
      `${prefix}/lib/node_modules/nclust/daemon/agent/`,
    );

    writeFileSync(
      join(home.work, 'program.mjs'),
      `
      import { connect } from ${JSON.stringify(join(prefix, 'lib/node_modules/nclust/lib/index.js'))};
      const client = await connect();
      console.log(JSON.stringify((await client.request('list')).slots.map(({ name, status }) => ({ name, status }))));
      await client.close();`,
    );
    const program = await runProgram(nodeUnderTest(), ['program.mjs'], { env: home.env, cwd: home.work }).done;
    expect(program.json()).toEqual([
      { name: 'http-echo', status: 'online' },
      { name: 'http-echo', status: 'online' },
    ]);

    await reload(home, app);
    expect(await app.get()).toMatchObject({ pid: expect.any(Number) });
    expect(await home.nclust('kill')).toMatchObject({ exitStatus: 0 });
    expect(home.processes()).toEqual([]);
  } finally {
    await home.close();
  }
});
