import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findSurvivors } from '../../../../lib/client/survivors.js';
import { notRunningError, printNotRunning } from '../../../../lib/client/not-running.js';
import { OF_KEEPER } from '../../../../lib/shared/daemon/keeper-process.js';
import { homeMark } from '../../../../lib/shared/daemon/home-processes.js';
import { list } from '../../../../lib/commands/list.js';
import { renderList } from '../../../../lib/render/list.js';

/** Runs for as long as the test, with a child that has the same environment. */
async function survive(home, instance, name) {
  const code = `
    const stdio = ['pipe', 'ignore', 'ignore'];
    require('child_process').spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio });
    process.stdin.on('end', () => process.exit()).resume();
    console.log('up');`;
  const env = { NCLUST_HOME: home, NCLUST_INSTANCE: instance, name };
  const app = spawn(process.execPath, ['-e', code], { stdio: ['pipe', 'pipe', 'inherit'], env });
  onTestFinished(() => void app.stdin.destroy());
  await once(app.stdout, 'data');
  return app.pid;
}

test.runIf(process.platform === 'linux')('without a manager, processes of its apps are named', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-left-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const link = `${folder}.link`;
  symlinkSync(folder, link);
  onTestFinished(() => rmSync(link));
  const said = [];
  const context = { home: link, printMessage: (text) => said.push(text), runningManager: async () => null };
  const left = [await survive(folder, 'i1', 'shop'), await survive(folder, 'i2', 'shop')];
  const mail = await survive(link, 'i3', 'mail sender');
  await survive(tmpdir(), 'i4', 'of another home');

  const pids = left.sort((a, b) => a - b).join(', ');
  const text = `Processes of its apps still run without it: "shop" (pid ${pids}), "mail sender" (pid ${mail}). `;
  printNotRunning(context);
  writeFileSync(join(folder, 'state.json'), JSON.stringify({ apps: [{}, {}] }));
  printNotRunning(context);
  // Without its state, a manager would not know the apps.
  expect(said.splice(0)).toEqual([
    `No nclust runs in ${link}. ${text}End them with: kill ${[...left, mail].sort((a, b) => a - b).join(' ')}`,
    `No nclust runs in ${link}. ${text}Start a manager for them with: nclust resurrect`,
  ]);
  expect(notRunningError(context).hint).toContain('"shop"');
  const data = await list(context, [], {});
  expect([said.length, data.slots, renderList(data, { options: {} })]).toEqual([1, [], '']);
});

test.runIf(process.platform === 'linux')(
  'processes that only carry the variables of the home are not named',
  async () => {
    const home = mkdtempSync(join(tmpdir(), 'nclust-left-'));
    onTestFinished(() => rmSync(home, { recursive: true }));
    const pid = await survive(home, `i1${homeMark(home)}`, 'ours');
    await survive(home, 'i2.0123456789abcdef', 'a command of an app of another home');
    await survive(home, OF_KEEPER, 'a keeper');
    expect(findSurvivors(home)).toEqual([{ pid, name: 'ours' }]);

    const module = new URL('../../../../lib/client/survivors.js', import.meta.url);
    const look = `import { findSurvivors } from '${module}'; console.log(JSON.stringify(findSurvivors('${home}')));`;
    const env = { ...process.env, NCLUST_HOME: home, NCLUST_INSTANCE: 'abc', name: 'outer' };
    // The shell has the variables, too.
    const args = ['-c', '"$0" --input-type=module -e "$1"; true', process.execPath, look];
    expect(JSON.parse(execFileSync('sh', args, { env, encoding: 'utf8' }))).toEqual([{ pid, name: 'ours' }]);
  },
);
