import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { processesOf } from '../../helpers/processes.js';
import { runProgram } from '../../helpers/run-program.js';
import { nodeUnderTest, sandbox } from '../../helpers/sandbox.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const NEWEST = join(ROOT, `test/nodes/node_modules/node26-${process.platform}-${process.arch}/bin/node`);

const NODES = [['this Node', nodeUnderTest()], ...(existsSync(NEWEST) ? [['Node 26', NEWEST]] : [])];

function install(home) {
  mkdirSync(join(home.work, 'node_modules'));
  symlinkSync(ROOT, join(home.work, 'node_modules', 'nclust'));
}

test.each(NODES)('programs exit once they have nothing left to wait for, on %s', async (_, node) => {
  const home = await sandbox();
  install(home);
  const script = home.place('has-actions');
  const run = (program) =>
    runProgram(node, [home.place(`uses-library/${program}`), script], {
      env: home.env,
      cwd: home.work,
      timeoutMs: 20_000,
    }).done;

  expect(await run('pm2-callbacks.cjs')).toMatchObject({
    exitStatus: 0,
    stderr: '',
    stdout: '["first","connect","asked","online",1,null]\n',
  });
  expect(await run('pm2-import.mjs')).toMatchObject({ exitStatus: 0, stderr: '', stdout: '[false,"hello",1]\n' });
  expect(await run('restarts.mjs')).toMatchObject({ exitStatus: 0, stderr: '', stdout: 'restarted\n' });
  expect(await run('closes-nothing.mjs')).toMatchObject({ exitStatus: 0, stderr: '', stdout: 'true\n' });
});

test('connect(true) of PM2 keeps the program alive, and its apps exit with it', async () => {
  const home = await sandbox();
  install(home);
  const running = runProgram(
    nodeUnderTest(),
    [home.place('uses-library/pm2-no-daemon.cjs'), home.place('has-actions')],
    {
      env: home.env,
      cwd: home.work,
    },
  );
  await home.waitFor('the app to be online', () => running.stdout().includes('online'));
  expect(processesOf(home.home).map(({ role }) => role)).toContain('app');
  running.child.kill('SIGTERM');
  expect(await running.done).toMatchObject({ exitStatus: 143, stderr: '' });
  await home.waitFor('all processes to exit', () => processesOf(home.home).length === 0);
});
