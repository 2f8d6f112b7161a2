import { spawn } from 'node:child_process';
import { cpSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lost } from '../../helpers/ledger.js';
import { takePort } from '../../helpers/ports.js';
import { sandbox } from '../../helpers/sandbox.js';
import { startTraffic } from '../../helpers/traffic/traffic.js';

// Tests npm packages that look for a free port. Each app must get the port that it asks
// for.

const FRAMEWORKS = fileURLToPath(new URL('../../frameworks', import.meta.url));
const PACKAGES = ['detect-port', 'get-port', 'portfinder', 'tcp-port-used'];
const ROUNDS = 30;
const BUSY_MS = 600_000;

let busy = [];
beforeAll(() => {
  const loop = `const end = Date.now() + ${BUSY_MS}; while (Date.now() < end);`;
  busy = [1, 2].map(() => spawn(process.execPath, ['-e', loop], { stdio: 'ignore' }));
});
afterAll(() => {
  for (const one of busy) one.kill('SIGKILL');
});

/**
 * @param {number} instances  0: fork mode.
 * @returns {Promise<Record<string, number>>}  The port of each app. Writes apps.json.
 */
async function place(home, instances) {
  symlinkSync(join(FRAMEWORKS, 'node_modules'), join(home.work, 'node_modules'));
  cpSync(join(FRAMEWORKS, 'asks-port.mjs'), join(home.work, 'asks-port.mjs'));
  const mode = instances === 0 ? { exec_mode: 'fork' } : { exec_mode: 'cluster', instances };
  const shared = { ...mode, min_uptime: 300, kill_timeout: 30_000 };
  const ports = {};
  for (const name of ['serve', ...PACKAGES]) ports[name] = await takePort();
  const apps = [
    { name: 'serve', script: 'node_modules/serve/build/main.js', args: `-n -l ${ports.serve} ${home.work}`, ...shared },
    ...PACKAGES.map((name) => ({
      name,
      script: 'asks-port.mjs',
      env: { ASKS: name, PORT: String(ports[name]) },
      ...shared,
    })),
  ];
  writeFileSync(join(home.work, 'apps.json'), JSON.stringify({ apps }));
  return ports;
}

/**
 * @param {number[]} [before]
 * @returns {Promise<number[]>}
 */
async function expectOwnPorts(home, ports, before = []) {
  const slots = await home.waitFor(
    'all apps to listen',
    async () => {
      const all = await home.list();
      return all.every(({ pid, addresses }) => !before.includes(pid) && addresses.length > 0) && all;
    },
    { deadlineMs: 60_000 },
  );
  for (const { name, addresses } of slots)
    expect([name, ...addresses.map(({ port }) => port)]).toEqual([name, ports[name]]);
  return slots.map(({ pid }) => pid);
}

describe.each([
  ['fork', 0],
  ['cluster', 2],
])('apps that probe for a free port, in %s mode', { timeout: 180_000 }, (_mode, instances) => {
  test(`probing apps get their own ports on ${ROUNDS} fresh starts`, async () => {
    const home = await sandbox();
    const ports = await place(home, instances);
    for (let round = 0; round < ROUNDS; round += 1) {
      const started = await home.nclust('start', 'apps.json');
      expect(started, started.stderr).toMatchObject({ exitStatus: 0 });
      await expectOwnPorts(home, ports);
      expect(await home.nclust('delete', 'all')).toMatchObject({ exitStatus: 0 });
    }
  });

  test(`probing apps keep their ports over ${ROUNDS} restarts`, async () => {
    const home = await sandbox();
    const ports = await place(home, instances);
    const started = await home.nclust('start', 'apps.json');
    expect(started, started.stderr).toMatchObject({ exitStatus: 0 });
    for (let round = 0; round < ROUNDS; round += 1) {
      const restarted = await home.nclust('restart', 'all');
      expect(restarted, restarted.stderr).toMatchObject({ exitStatus: 0 });
      await expectOwnPorts(home, ports);
    }
  });

  test(`probing apps keep their ports over ${ROUNDS} kills`, async () => {
    const home = await sandbox();
    const ports = await place(home, instances);
    const started = await home.nclust('start', 'apps.json');
    expect(started, started.stderr).toMatchObject({ exitStatus: 0 });
    for (let round = 0; round < ROUNDS; round += 1) {
      const pids = (await home.list()).map(({ pid }) => pid);
      for (const pid of pids) process.kill(pid, 'SIGKILL');
      await expectOwnPorts(home, ports, pids);
    }
  });

  test('probing apps lose no request in a reload', async () => {
    const home = await sandbox();
    const ports = await place(home, instances);
    expect(await home.nclust('start', 'apps.json')).toMatchObject({ exitStatus: 0 });
    const traffic = PACKAGES.map((name) =>
      startTraffic({ url: `http://127.0.0.1:${ports[name]}` }, { 'one-shot': 1, 'keep-alive': 1 }, { pauseMs: 20 }),
    );
    try {
      for (let round = 0; round < 3; round += 1) {
        const reloaded = await home.nclust('reload', 'all');
        expect(reloaded, reloaded.stderr).toMatchObject({ exitStatus: 0 });
      }
    } finally {
      for (const one of traffic) await one.stop();
    }
    await expectOwnPorts(home, ports);
    expect(traffic.map(({ ledger }) => [lost(ledger), ledger.ok > 0])).toEqual(traffic.map(() => [0, true]));
  });
});
