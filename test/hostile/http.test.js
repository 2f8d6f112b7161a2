import { expect, test } from 'vitest';
import { countDescriptors } from '../helpers/footprint.js';
import { attack, drip } from '../helpers/hostile-connections.js';
import { CANARY, PAGE, site } from '../helpers/hostile-requests.js';
import { fetchRaw, openPage, partsOf } from '../helpers/page.js';
import { takePort } from '../helpers/ports.js';
import { privateBytes } from '../helpers/processes.js';
import { createRandom } from '../helpers/random.js';
import { sandbox } from '../helpers/sandbox.js';
import { soakScale, soakSeed } from '../helpers/soak.js';
import { startStaticServer } from '../helpers/static-server.js';
import { waitFor } from '../helpers/wait-for.js';

const FILE = 'test/hostile/http.test.js';
const REQUESTS = Math.round(50_000 * soakScale);
const AT_ONCE = 12;

const WARM_UP = 500;

/** Limit for the growth of memory. It is high, because V8 may not have collected its heap yet. */
const GROWTH_MAX_BYTES = 96 * 1024 * 1024;

const inMb = (bytes) => Math.round(bytes / 1024 / 1024);

async function attackMany(what, target, count, seed) {
  const random = createRandom(seed);
  const table = {};
  let left = count;

  async function attackOn() {
    while (left > 0) {
      left -= 1;
      const { kind, statuses, text } = await attack(random, target);
      for (const secret of [CANARY, 'root:x:', ...(target.token === null ? [] : [target.token])])
        if (text.includes(secret)) throw new Error(`${what} has sent ${secret}:\n${text.slice(0, 2_000)}`);
      const row = (table[kind] ??= {});
      for (const status of statuses.length > 0 ? statuses : ['closed']) row[status] = (row[status] ?? 0) + 1;
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, attackOn));
  console.log(`${what}: ${count} connections`);
  console.table(table);
  return table;
}

const serverErrors = (table) =>
  Object.entries(table).flatMap(([kind, row]) =>
    Object.keys(row)
      // 503 is not an error for these kinds, because the dashboard limits the number of open pages.
      .filter((status) => status.startsWith('5') && !(status === '503' && ['upgrade', 'pipelined'].includes(kind)))
      .map((status) => `${kind}: ${status}`),
  );

test('metrics and dashboard answer or close hostile HTTP requests, and control survives', async () => {
  const seed = soakSeed(FILE, 'test:hostile');
  const { root } = site();
  const home = await sandbox();
  await home.app('http-echo', { instances: 2 });
  const metricsPort = await takePort();
  await home.nclust('set', 'metrics.listen', `127.0.0.1:${metricsPort}`);
  const url = (await home.nclust('web', '--listen', '127.0.0.1:0')).stdout.trim();
  const { token } = partsOf(url);
  const metrics = { port: metricsPort, paths: ['/metrics', '/metrics?x'], root, token: null };
  const dashboard = { port: Number(new URL(url).port), paths: ['/', '/uplot.js', '/app.js?v=1'], root, token };
  const before = await home.daemon();
  const pid = before.controlPid;
  // Warms up first, because some modules load with the first request.
  for (const target of [metrics, dashboard]) await attackMany('warm up', target, WARM_UP, seed + 1);
  const [fdsBefore, bytesBefore] = [countDescriptors(pid), privateBytes(pid)];

  const slow = [metrics, dashboard].flatMap(({ port }) => [
    drip(port, 'GET / HTTP/1.1\r\nX: ', 200),
    drip(port, 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999\r\n\r\n', 200),
  ]);
  const tables = [
    await attackMany('metrics', metrics, Math.round(REQUESTS * 0.3), seed + 2),
    await attackMany('dashboard', dashboard, Math.round(REQUESTS * 0.35), seed + 3),
  ];

  expect(tables.map(serverErrors)).toEqual([[], []]);
  expect((await Promise.all(slow)).map((text) => text.slice(9, 12)).sort()).toEqual(['405', '405', '408', '408']);
  await waitFor('control to close its connections', () => countDescriptors(pid) <= fdsBefore + 2, {
    deadlineMs: 60_000,
  });
  console.log(`control: ${fdsBefore} descriptors, then ${countDescriptors(pid)}`);
  console.log(`control: ${inMb(bytesBefore)} MB of its own, then ${inMb(privateBytes(pid))} MB`);
  expect(privateBytes(pid) - bytesBefore).toBeLessThan(GROWTH_MAX_BYTES);
  expect(await home.daemon()).toMatchObject({ keeperPid: before.keeperPid, controlPid: pid });
  expect(home.logTail()).not.toMatch(/control-crashed|web-failed|metrics-export-failed/);
  expect(await fetchRaw(`http://127.0.0.1:${metricsPort}`, '/metrics')).toMatchObject({ status: 200 });
  const page = await openPage(url);
  expect((await page.request('list')).slots).toHaveLength(2);
  page.close();
});

test.each([
  ['a plain folder', {}, 0.2],
  ['a single-page app with a listing', { isSpa: true, hasListing: true }, 0.15],
])('serve answers or closes hostile HTTP requests: %s', async (what, settings, part) => {
  const seed = soakSeed(FILE, 'test:hostile');
  const { root, path } = site();
  const { port, child, ask, stderr } = await startStaticServer(path, settings);
  const pid = child.pid;
  const target = { port, paths: ['/', '/large.js', '/a/b/c.txt', '/missing'], root, token: null };
  await attackMany('warm up', target, WARM_UP, seed + 4);
  const [fdsBefore, bytesBefore] = [countDescriptors(pid), privateBytes(pid)];
  const slow = drip(port, 'GET / HTTP/1.1\r\nX: ', 200);
  const table = await attackMany(what, target, Math.round(REQUESTS * part), seed + 5);

  expect(serverErrors(table)).toEqual([]);
  expect((await slow).slice(9, 12)).toBe('408');
  await waitFor('serve to close its connections', () => countDescriptors(pid) <= fdsBefore, { deadlineMs: 60_000 });
  console.log(`serve: ${fdsBefore} descriptors, then ${countDescriptors(pid)}`);
  console.log(`serve: ${inMb(bytesBefore)} MB of its own, then ${inMb(privateBytes(pid))} MB`);
  expect(privateBytes(pid) - bytesBefore).toBeLessThan(GROWTH_MAX_BYTES);
  expect([child.exitCode, child.signalCode, stderr()]).toEqual([null, null, '']);
  expect(await ask('/')).toMatchObject({ status: 200, body: PAGE });
});
