// The user of an app, or a read-only client, chooses how much control has to look through. Control
// answers other clients in the meantime.
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isRoot, NOBODY, userFolders } from '../helpers/other-user.js';
import { sandbox } from '../helpers/sandbox.js';
import { openWire } from '../helpers/wire.js';

const ANSWER_MS = 1_000;
const NAMES = 100_000;

/** The longest time that control took to answer "hello" until `work` ended, in ms. */
async function longestAnswer({ home }, work) {
  let isOver = false;
  let longestMs = 0;
  const ask = async () => {
    const startedMono = performance.now();
    const wire = await openWire(join(home, 'nclust.sock'));
    await wire.request('hello');
    wire.close();
    longestMs = Math.max(longestMs, performance.now() - startedMono);
  };
  const asking = async () => {
    while (!isOver) await ask();
  };
  await Promise.all([asking(), work().finally(() => (isOver = true))]);
  return longestMs;
}

/** Peak of the memory of control, in MB. */
async function peakOf(home) {
  const { controlPid } = await home.daemon();
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${controlPid}/status`, 'utf8'))[1]) / 1024;
}

/** As segments of out.log. */
function plantNames(folder) {
  const beganMs = Date.UTC(2026, 0, 1);
  for (let at = 0; at < NAMES; at += 1) {
    const time = new Date(beganMs + at).toISOString().replace(/[:.]/g, '-');
    closeSync(openSync(join(folder, `out__${time}.log`), 'w'));
  }
}

test.skipIf(!isRoot)(
  'control answers while the log folder of a user has 100,000 names',
  async () => {
    const { own, plant } = userFolders();
    plantNames(own);
    const script = plant('app.js', (path) => writeFileSync(path, "console.log('hello');setInterval(() => {}, 1e6);"));
    const home = await sandbox();
    const files = ['--output', join(own, 'out.log'), '--error', join(own, 'err.log')];
    const nclust = async (...words) => {
      const result = await home.nclust(...words, { cwd: own, timeoutMs: 120_000 });
      expect(result, result.stderr).toMatchObject({ exitStatus: 0 });
      return result;
    };
    await home.app('keeps-alive'); // Starts the manager.
    const longestMs = await longestAnswer(home, async () => {
      await nclust('start', script, '--name', 'api', '--uid', `${NOBODY.uid}`, ...files);
      expect((await nclust('logs', 'api', '--nostream', '--lines', '10')).stdout).toContain('hello');
      await home.waitFor('the notice', async () => (await nclust('list')).stderr.includes('more than 25000 files'));
      await nclust('flush', 'api');
    });
    expect(longestMs).toBeLessThan(ANSWER_MS);
    expect(readdirSync(own).filter((name) => name.startsWith('out__'))).toEqual([]);
    expect(await peakOf(home)).toBeLessThan(300);
  },
  240_000,
);

/** The characters "abab" make a search for /a.*b.*c/ take as long as possible. */
const ABAB = `
  const line = 'ab'.repeat(35) + '\\n';
  let left = 64 * 1024 * 1024;
  const next = () => {
    left -= 65536;
    if (left > 0) process.stdout.write(line.repeat(65536 / line.length), next);
    else process.stdout.write('done\\n');
  };
  next();
  setInterval(() => {}, 1e6);`;

test.each([
  ['searches of old lines', { lines: 100_000 }],
  ['searches of old and new lines', { lines: 100_000, follow: true }],
])(
  'control answers during ten slow %s',
  async (_what, query) => {
    const home = await sandbox();
    writeFileSync(join(home.work, 'abab.js'), ABAB);
    await home.nclust('start', 'abab.js', '--name', 'abab', '--log-max-size', '100M');
    if (!query.follow)
      await home.waitFor('the lines', async () =>
        (await home.nclust('logs', 'abab', '--nostream')).stdout.includes('done'),
      );
    const wire = await home.wire();
    const longestMs = await longestAnswer(home, async () => {
      for (let at = 0; at < 10; at += 1)
        wire.write(`${JSON.stringify({ jsonrpc: '2.0', id: `search ${at}`, method: 'logs', params: paramsOf(at) })}\n`);
      for (let answers = 0; answers < 100; answers += 1) await home.list();
    });
    expect(longestMs).toBeLessThan(ANSWER_MS);

    function paramsOf(at) {
      return { targets: ['all'], grep: { source: 'a.*b.*c', flags: '' }, subscription: String(at), ...query };
    }
  },
  120_000,
);
