import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openServer } from '../rpc-server.js';
import { runCommandLine } from '../run-command-line.js';

let folder;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-from-file-'));
  writeFileSync(join(folder, 'app.js'), '');
  const apps = [
    { name: 'good', script: './app.js', instances: 2 },
    { name: 'bad', script: './app.js', kill_timeout: 'many' },
    { name: 'fine', script: './app.js' },
  ];
  writeFileSync(join(folder, 'ecosystem.config.json'), JSON.stringify({ apps }));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function nclust(...argv) {
  const slots = ['good', 'good', 'fine'].map((name, id) => ({ id, name }));
  const { home } = await openServer({
    list: () => ({ slots: [], notices: [] }),
    restartFromFile: () => ({ slots, plan: [] }),
  });
  return runCommandLine(argv, { cwd: folder, env: { NCLUST_HOME: home, PATH: process.env.PATH } });
}

test.each([
  ['start', 'started'],
  ['restart', 'restarted'],
  ['reload', 'reloaded'],
])('%s of a file with a faulty app names the other apps, which were %s', async (command, done) => {
  const { exitStatus, stderr } = await nclust(command, 'ecosystem.config.json');
  expect(exitStatus).toBe(1);
  expect(stderr).toContain(`The other apps were ${done}: "good", "fine".`);
  expect(stderr).not.toContain('starts nothing');
  const { stdout, ...json } = await nclust(command, 'ecosystem.config.json', '--json');
  expect(json.exitStatus).toBe(1);
  expect(JSON.parse(stdout || json.stderr)).toMatchObject({
    error: { data: { faults: [{ keyPath: 'apps[1].kill_timeout' }], started: ['good', 'fine'] } },
  });
});
