import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { runProgram } from '../../helpers/run-program.js';
import { nodeUnderTest, sandbox } from '../../helpers/sandbox.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** @param {string} code  The body of an async function that prints JSON. */
function program(home, code) {
  mkdirSync(join(home.work, 'node_modules'), { recursive: true });
  symlinkSync(ROOT, join(home.work, 'node_modules', 'nclust'));
  const file = join(home.work, 'program.cjs');
  writeFileSync(
    file,
    `const pm2 = require('nclust/pm2'); const out = (value) => console.log(JSON.stringify(value));
     (async () => { ${code} })().catch((error) => { out(error.message); process.exit(9); });`,
  );
  return runProgram(nodeUnderTest(), [file], { env: home.env, cwd: home.work, timeoutMs: 20_000 });
}

async function answerOf(home, code) {
  const result = await program(home, code).done;
  expect(result, result.stderr + result.stdout).toMatchObject({ exitStatus: 0 });
  return result.json();
}

test('relative scripts, config files and folders are resolved from the cwd of custom()', async () => {
  const home = await sandbox();
  const elsewhere = join(home.work, 'elsewhere');
  mkdirSync(join(elsewhere, 'sub'), { recursive: true });
  writeFileSync(join(elsewhere, 'app.js'), 'setInterval(() => {}, 1000);');
  writeFileSync(join(elsewhere, 'pm2.config.js'), `module.exports = { apps: [{ name: 'listed', script: 'app.js' }] };`);
  const answer = await answerOf(
    home,
    `const own = new pm2.custom({ cwd: ${JSON.stringify(elsewhere)} });
     await own.start('app.js', { name: 'script' });
     await own.start({ name: 'object', script: 'app.js' });
     await own.start({ name: 'folder', script: 'app.js', cwd: 'sub' }).catch(() => {});
     await own.start('pm2.config.js');
     const all = await own.list();
     out(all.map(({ name, pm2_env: { cwd, pm_exec_path } }) => [name, cwd, pm_exec_path]));
     await own.disconnect();`,
  );
  const script = join(elsewhere, 'app.js');
  expect(answer).toEqual([
    ['script', elsewhere, script],
    ['object', elsewhere, script],
    ['folder', join(elsewhere, 'sub'), script],
    ['listed', elsewhere, script],
  ]);
});

test('connect() keeps the program alive until disconnect()', async () => {
  const home = await sandbox();
  await home.app('keeps-alive');
  const running = program(
    home,
    `pm2.connect((error) => out(error ?? 'connected')); process.on('SIGUSR2', () => pm2.disconnect());`,
  );
  await home.waitFor('the connection', () => running.stdout().includes('connected'));
  expect(await home.nclust('restart', 'all')).toMatchObject({ exitStatus: 0 });
  expect(running.child.exitCode).toBeNull();
  running.child.kill('SIGUSR2');
  expect(await running.done).toMatchObject({ exitStatus: 0, stderr: '' });
});

test('a connected program survives the end of the manager', async () => {
  const home = await sandbox();
  await home.app('keeps-alive');
  // The timer fires only if something else keeps the program alive.
  const running = program(
    home,
    `await pm2.connect(); const bus = await pm2.launchBus(); out('connected');
     bus.sock.on('close', () => setTimeout(() => { out('lives'); pm2.disconnect(); }, 500).unref());`,
  );
  await home.waitFor('the connection', () => running.stdout().includes('connected'));
  expect(await home.nclust('kill')).toMatchObject({ exitStatus: 0 });
  expect(await running.done).toMatchObject({ exitStatus: 0, stdout: '"connected"\n"lives"\n' });
});

test('clearDump() empties the saved list', async () => {
  const home = await sandbox();
  await home.app('keeps-alive', { name: 'saved' });
  const answer = await answerOf(
    home,
    `await pm2.dump(); const done = await pm2.clearDump(); await pm2.delete('all');
     out([done, await pm2.resurrect(), await pm2.list()]); await pm2.disconnect();`,
  );
  expect(answer).toEqual([{ success: true }, [], []]);
});

test.each([
  ['exception', `throw new TypeError('boom')`, 'TypeError', 'boom'],
  ['rejection', `void Promise.reject(new Error('refused'))`, 'Error', 'refused'],
])('the bus reports an uncaught %s', async (_, code, name, message) => {
  const home = await sandbox();
  writeFileSync(join(home.work, 'throws.js'), `setTimeout(() => { ${code}; }, 1500);`);
  const answer = await answerOf(
    home,
    `const bus = await pm2.launchBus();
     const exception = new Promise((resolve) => bus.on('process:exception', resolve));
     await pm2.start('throws.js', { autorestart: false });
     const { at, data, process } = await exception;
     out([typeof at, data.name, data.message, data.stack.split('\\n')[0], process]); await pm2.disconnect();`,
  );
  expect(answer).toEqual([
    'number',
    name,
    message,
    `${name}: ${message}`,
    { pm_id: 0, name: 'throws', namespace: 'default' },
  ]);
});

test('ids start at 0 again once the list is empty', async () => {
  const home = await sandbox();
  await home.app('keeps-alive', { name: 'one' });
  await home.app('keeps-alive', { name: 'two' });
  await home.nclust('restart', 'one');
  await home.nclust('delete', 'one');
  await home.app('keeps-alive', { name: 'three' });
  expect((await home.list()).map(({ id }) => id)).toEqual([1, 2]);
  await home.nclust('delete', 'all');
  await home.app('keeps-alive', { name: 'four' });
  expect(await home.list()).toMatchObject([{ id: 0, name: 'four', restarts: 0 }]);
});

test('numbers and booleans of env stay numbers and booleans in the list, and are strings in the app', async () => {
  const home = await sandbox();
  writeFileSync(
    join(home.work, 'says.js'),
    `console.log(typeof process.env.N, process.env.B); setInterval(() => {}, 9e6);`,
  );
  const answer = await answerOf(
    home,
    `await pm2.start({ script: 'says.js', port: 0, env: { N: 3, F: 1.5, B: true, S: '7' } });
     const [{ pm2_env: { env, N, S } }] = await pm2.list();
     out([env.N, env.F, env.B, env.S, N, S]); await pm2.disconnect();`,
  );
  expect(answer).toEqual([3, 1.5, true, '7', 3, '7']);
  const logged = await home.nclust('logs', 'says', '--nostream', '--raw');
  expect(logged.stdout).toContain('string true');
});
