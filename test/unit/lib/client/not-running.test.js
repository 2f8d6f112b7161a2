import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { notRunningError, printNotRunning } from '../../../../lib/client/not-running.js';
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
  const context = { home: link, talk: (text) => said.push(text), runningManager: async () => null };
  const left = [await survive(folder, 'i1', 'shop'), await survive(folder, 'i2', 'shop')];
  const mail = await survive(link, 'i3', 'mail sender');
  await survive(tmpdir(), 'i4', 'of another home');

  const pids = left.sort((a, b) => a - b).join(', ');
  const text = `Processes of its apps still run without it: "shop" (pid ${pids}), "mail sender" (pid ${mail}). `;
  printNotRunning(context);
  expect(said).toEqual([`No nclust runs in ${link}. ${text}Start a manager for them with: nclust resurrect`]);
  expect(notRunningError(context).hint).toContain('"shop"');
  const data = await list(context, [], {});
  expect([said.length, data.slots, renderList(data, { options: {} })]).toEqual([2, [], '']);
});
