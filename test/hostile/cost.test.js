import { createServer } from 'node:net';
import { chmodSync, cpSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { expect, onTestFinished, test } from 'vitest';
import { fixturePath } from '../helpers/fixtures.js';
import { openInstallation } from '../helpers/installation.js';
import { isRoot, NOBODY, userFolders } from '../helpers/other-user.js';
import { takePort } from '../helpers/ports.js';
import { readStat } from '../helpers/processes.js';
import { sandbox } from '../helpers/sandbox.js';
import { pause, slowdown } from '../helpers/wait-for.js';

/** How many messages a second an app sends of each kind: as many as the manager permits. */
const RATES = {
  listenFailed: 2_000,
  'listen, taken': 2_000,
  'listen, the same': 2_000,
  'listen and closed': 4_000,
  'listen and closed, paths': 4_000,
  'listen, a path': 2_000,
  listening: 2_000,
  vitals: 100,
  report: 100,
  answer: 60,
  'process.send()': 20_000,
  'axm:monitor': 1_000,
};
const MEASURED_MS = 3_000;
/** The budget is 15 %. Node.js itself needs up to 13 % between the messages. */
const SHARE_MAX = 0.35;
const ANSWER_MS = 1_000;
const KILL_MS = 15_000;
const SLACK_MS = 300;
const TEST_MS = 300_000;

/** Clock ticks of the kernel are 10 ms long. */
const cpuMs = (/** @type {number} */ pid) => (readStat(pid)?.cpuTicks ?? 0) * 10;

async function begin() {
  // Removed last, because the apps create files there.
  const { own, plant } = userFolders();
  const home = await sandbox({ isHostile: true, bin: openInstallation() });
  const taken = await takePort();
  const other = createServer().listen(taken, '127.0.0.1');
  onTestFinished(() => void other.close());
  chmodSync(join(home.work, '..'), 0o755);
  const script = plant('sends-often.js', (path) => cpSync(fixturePath('sends-often.js'), path));
  const owner = ['--uid', String(NOBODY.uid), '--gid', String(NOBODY.gid), '--cwd', own];
  const start = async (/** @type {string} */ kind, name = 'bad') => {
    const words = ['start', script, '--name', name, '--no-wait', '--kill-timeout', '2000', ...owner];
    const env = { KIND: kind, RATE: String(RATES[kind]), TAKEN: String(taken), FOLDER: own };
    const started = await home.nclust(...words, { env });
    expect(started, started.stderr).toMatchObject({ exitStatus: 0 });
  };
  return { home, start };
}

test.runIf(isRoot).each(Object.keys(RATES))(
  'an app that sends "%s" as often as it may takes a share of a core from keeper and control',
  { timeout: TEST_MS },
  async (kind) => {
    const { home, start } = await begin();
    await start(kind);
    const { keeperPid, controlPid } = await home.daemon();
    const wire = await home.wire();
    // The instance may take more at once while it starts.
    await pause(1_000);
    const before = [keeperPid, controlPid].map(cpuMs);
    const startedMono = performance.now();
    let slowestMs = 0;
    while (performance.now() - startedMono < MEASURED_MS) {
      const askedMono = performance.now();
      await wire.request('hello', {});
      slowestMs = Math.max(slowestMs, performance.now() - askedMono);
      await pause(50);
    }
    const tookMs = performance.now() - startedMono;
    const shares = [keeperPid, controlPid].map((pid, at) => (cpuMs(pid) - before[at]) / tookMs);
    const percent = (/** @type {number} */ share) => `${(share * 100).toFixed(0)} %`.padStart(5);
    process.stdout.write(
      `${kind.padEnd(26)} ${String(RATES[kind]).padStart(6)}/s: keeper ${percent(shares[0])}, control ` +
        `${percent(shares[1])}, slowest answer ${slowestMs.toFixed(0)} ms\n`,
    );
    expect(shares[0]).toBeLessThan(SHARE_MAX);
    expect(shares[1]).toBeLessThan(SHARE_MAX);
    expect(slowestMs).toBeLessThan(ANSWER_MS * slowdown());
  },
);

test.runIf(isRoot)(
  'three such apps double the time of a restart at most, and kill ends all',
  { timeout: TEST_MS },
  async () => {
    const { home, start } = await begin();
    await home.app('http-echo', { name: 'good', instances: 2 });
    const restart = async () => {
      const { exitStatus, durationMs } = await home.nclust('restart', 'good');
      expect(exitStatus).toBe(0);
      return durationMs;
    };
    const median = async () => [await restart(), await restart(), await restart()].sort((a, b) => a - b)[1];
    const alone = await median();
    for (const kind of ['listenFailed', 'listen, taken', 'listen and closed, paths']) await start(kind, kind.slice(-8));
    const beside = await median();
    const { exitStatus, durationMs } = await home.nclust('kill');
    process.stdout.write(
      `restart: ${alone.toFixed(0)} ms alone, ${beside.toFixed(0)} ms beside three apps; ` +
        `kill: ${durationMs.toFixed(0)} ms\n`,
    );
    expect(exitStatus).toBe(0);
    expect(durationMs).toBeLessThan(KILL_MS * slowdown());
    // The apps themselves also take CPU time from the restart.
    expect(beside).toBeLessThan(2 * alone + SLACK_MS);
  },
);
