import { readdirSync, readFileSync, readlinkSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { NOTHING_LOST } from '../../helpers/ledger.js';
import { startLoad } from '../../helpers/load.js';
import { takePort } from '../../helpers/ports.js';
import { killIfThere, readStat } from '../../helpers/processes.js';
import { readPrometheus } from '../../helpers/prometheus.js';
import { fetchOnce } from '../../helpers/sandbox-app.js';
import { sandbox } from '../../helpers/sandbox.js';

async function metrics(home, params = {}) {
  const wire = await home.wire();
  return wire.request('metrics', params);
}

async function following(home, params) {
  const wire = await home.wire();
  await wire.request('metrics', { follow: true, ...params });
  return async () => JSON.parse((await wire.nextLine()) ?? '').params;
}

/** CPU time from the kernel, with a resolution of 10 ms. */
const cpuMs = (pid) => (readStat(pid)?.cpuTicks ?? 0) * 10;

/** @param {string} home */
function place(home, name, text) {
  const path = join(home, name);
  writeFileSync(path, text);
  return path;
}

test('CPU and memory match /proc, for a busy worker and for all processes of a program', async () => {
  const home = await sandbox();
  const busy = place(
    home.work,
    'busy.js',
    'setInterval(() => { for (const until = Date.now() + 15; Date.now() < until;); }, 30);',
  );
  const still = place(
    home.work,
    'still.js',
    'globalThis.kept = Buffer.alloc(64 * 1024 * 1024, 1); setInterval(() => {}, 1e6);',
  );
  const tree = place(home.work, 'tree.sh', 'sh -c "while :; do :; done" & exec sh -c "while :; do sleep 0.2; done"');
  await home.nclust('start', busy, '--name', 'busy');
  await home.nclust('start', still, '--name', 'still');
  await home.nclust('start', tree, '--name', 'tree', '--interpreter', 'sh');
  const tick = await following(home, {});
  const first = await tick();
  const named = (sample, name) => sample.workers.find((worker) => worker.name === name);
  const pid = named(first, 'busy').pid;
  const began = { cpuMs: cpuMs(pid), mono: performance.now() };
  const samples = [];
  for (let at = 0; at < 6; at += 1) samples.push(await tick());
  const truth = ((cpuMs(pid) - began.cpuMs) / (performance.now() - began.mono)) * 100;
  const mean = samples.reduce((sum, sample) => sum + named(sample, 'busy').cpu, 0) / samples.length;
  expect(truth).toBeGreaterThan(5);
  expect(Math.abs(mean - truth)).toBeLessThan(2);

  const { memoryBytes, pid: stillPid } = named(samples.at(-1), 'still');
  const rssBytes = Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${stillPid}/status`, 'utf8'))?.[1]) * 1024;
  expect(Math.abs(memoryBytes - rssBytes)).toBeLessThan(1024 ** 2);
  const [slot] = (await home.list()).filter(({ name }) => name === 'still');
  expect(Math.abs(slot.memoryBytes - rssBytes)).toBeLessThan(1024 ** 2);

  const job = named(samples.at(-1), 'tree');
  expect(job).toMatchObject({ isNode: false, elu: null, http: null });
  expect(job.processes).toBeGreaterThan(1);
  // The usage of the app includes the child of the program, which is busy.
  expect(job.cpu).toBeGreaterThan(10);
});

/** Reads the private memory, and the proportional memory (PSS). */
function readMemory(pid) {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const bytes = (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) * 1024;
  return { pssBytes: bytes('Pss'), privateBytes: bytes('Private_Clean') + bytes('Private_Dirty') };
}

/** @param {string} name  Name of a line in /proc/meminfo. */
const memInfoBytes = (name) =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) * 1024;

const loads = () => readFileSync('/proc/loadavg', 'utf8').split(' ').slice(0, 3).map(Number);

/** The ticks of all cores together, see proc(5). */
function readCpuTicks() {
  const [user, nice, system, idle, iowait, irq, softirq, steal] = readFileSync('/proc/stat', 'utf8')
    .split('\n')[0]
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return {
    busy: user + nice + system + irq + softirq + steal,
    all: user + nice + system + idle + iowait + irq + softirq + steal,
  };
}

const MB = 1024 ** 2;

test('private and proportional memory and open descriptors match /proc', async () => {
  const home = await sandbox();
  const program = place(
    home.work,
    'keeps.cjs',
    'globalThis.kept = [Buffer.alloc(64 * 1024 * 1024, 1), ...Array.from({ length: 40 }, () => ' +
      "require('node:fs').openSync('/dev/null'))]; setInterval(() => {}, 1e6);",
  );
  await home.nclust('start', program, '--name', 'keeps');
  const [{ pid }] = await home.list();
  // Reads PSS twice, because other Node.js processes share pages, and may start or exit.
  const before = readMemory(pid);
  const [worker] = (await metrics(home, { detail: true })).workers;
  const after = readMemory(pid);
  for (const key of ['pssBytes', 'privateBytes']) {
    expect(worker[key]).toBeGreaterThan(Math.min(before[key], after[key]) - MB);
    expect(worker[key]).toBeLessThan(Math.max(before[key], after[key]) + MB);
  }
  expect(worker.privateBytes).toBeGreaterThan(64 * MB);
  expect(worker.pssBytes).toBeGreaterThan(worker.privateBytes);
  expect((await metrics(home)).workers[0]).toMatchObject({ pssBytes: null, privateBytes: null });

  const count = () => readdirSync(`/proc/${pid}/fd`).length;
  expect(count()).toBeGreaterThan(40);
  // Waits, because nclust counts descriptors only on every tenth tick.
  await home.waitFor('all descriptors to be counted', async () => (await metrics(home)).workers[0].fds === count(), {
    deadlineMs: 20_000,
  });
});

test('CPU, memory, load and disk of the machine match /proc and its file system', async () => {
  const home = await sandbox();
  const busy = place(
    home.work,
    'busy.js',
    'setInterval(() => { for (const until = Date.now() + 25; Date.now() < until;); }, 30);',
  );
  await home.nclust('start', busy, '--name', 'busy');
  const tick = await following(home, {});
  await tick();
  let loadsBefore = loads();
  const ticksBefore = readCpuTicks();
  const samples = [];
  for (let at = 0; at < 6; at += 1) {
    const { host } = await tick();
    const availableBytes = memInfoBytes('MemAvailable');
    const loadsNow = loads();
    samples.push(host);
    expect(host.memoryTotalBytes).toBe(memInfoBytes('MemTotal'));
    expect(Math.abs(host.memoryUsedBytes - (host.memoryTotalBytes - availableBytes))).toBeLessThan(
      0.02 * host.memoryTotalBytes,
    );
    // Accepts the previous load too, because the kernel updates the load every five seconds.
    // Accepts a difference of 0.02, because the kernel shows hundredths.
    for (const [which, load] of [host.load1, host.load5, host.load15].entries()) {
      expect(load).toBeGreaterThan(Math.min(loadsBefore[which], loadsNow[which]) - 0.02);
      expect(load).toBeLessThan(Math.max(loadsBefore[which], loadsNow[which]) + 0.02);
    }
    loadsBefore = loadsNow;
  }
  const ticksNow = readCpuTicks();
  const truth = ((ticksNow.busy - ticksBefore.busy) / (ticksNow.all - ticksBefore.all)) * 100;
  const mean = samples.reduce((sum, { cpu }) => sum + cpu, 0) / samples.length;
  expect(truth).toBeGreaterThan(50 / samples[0].cores);
  expect(Math.abs(mean - truth)).toBeLessThan(2);
  expect(samples[0].cores).toBe(readFileSync('/proc/stat', 'utf8').match(/^cpu\d/gm)?.length);

  // Waits, because nclust measures the disk only every ten seconds, and other programs write to the
  // disk, too.
  await home.waitFor(
    'the disk figures to match',
    async () => {
      const { host } = await tick();
      const { blocks, bfree, bavail, bsize } = statfsSync(home.home);
      const off = [
        host.diskUsedBytes - (blocks - bfree) * bsize,
        host.diskTotalBytes - host.diskUsedBytes - bavail * bsize,
      ];
      return off.every((bytes) => Math.abs(bytes) < MB);
    },
    { deadlineMs: 30_000 },
  );
});

test('every request is counted once, across reloads, a restart and kills of control', async () => {
  const home = await sandbox();
  const app = await home.app('serves-all', { instances: 2 });
  const loads = [
    startLoad(app.url, { connections: 4, keepAlive: true, pauseMs: 1 }),
    startLoad(app.url, { connections: 2, pauseMs: 1 }),
  ];
  const totals = async () => (await metrics(home, { targets: [app.name] })).apps[0].http?.totals;
  await home.waitFor('the first requests', async () => ((await totals())?.requests ?? 0) > 20);
  for (const command of ['reload', 'kill', 'reload']) {
    const before = (await totals()).requests;
    if (command === 'reload') expect((await home.nclust('reload', app.name)).exitStatus).toBe(0);
    else killIfThere((await home.daemon()).controlPid);
    await home.waitFor('more requests', async () => (await totals().catch(() => null))?.requests > before);
  }
  const ledgers = await Promise.all(loads.map((load) => load.stop()));
  for (const ledger of ledgers) expect(ledger).toMatchObject(NOTHING_LOST);
  const requests = ledgers.reduce((sum, ledger) => sum + ledger.requests, 0);
  await home.waitFor('all requests to be counted', async () => (await totals()).requests >= requests);
  expect(await totals()).toMatchObject({ requests, aborted: 0, upgrades: 0, responses: { '2xx': requests, '5xx': 0 } });
  await home.nclust('restart', app.name);
  expect(await totals()).toMatchObject({ requests });
});

test('a blocked event loop is visible while it is blocked, and other workers keep reporting', async () => {
  const home = await sandbox();
  const app = await home.app('serves-all', { instances: 2 });
  const tick = await following(home, { targets: [app.name] });
  await home.waitFor('a report of each worker', async () =>
    (await tick()).workers.every((worker) => worker.elu !== null),
  );
  // Blocks for nine seconds, because an idle agent announces that its next report comes in five
  // seconds. Two seconds after that, control counts the report as late.
  const blocked = app.get('/block?ms=9000');
  let seen;
  await home.waitFor('the blocked loop in a report', async () => {
    seen = (await tick()).workers.find((worker) => worker.delayMaxMs > 3_000 && worker.activity !== null);
    return seen;
  });
  expect(seen.reportAgeMs).toBeGreaterThan(3_000);
  // On a busy machine, the worker may get less than half of a CPU.
  expect(['computes', 'no-cpu']).toContain(seen.activity);
  await blocked;
  const { apps } = await metrics(home, { targets: [app.name] });
  expect(apps[0].delayMaxMs).toBeGreaterThan(2_000);
});

test('a worker that blocks before its first report is blocked since it booted, also for the next control', async () => {
  const home = await sandbox();
  const beside = await home.app('http-echo');
  const code = `require('http').createServer().listen(0); setTimeout(() => { for (;;); }, 0);`;
  const script = place(home.work, 'blocks.js', code);
  for (const [name, ...mode] of [['fork'], ['cluster', '-i', '1']]) {
    const { exitStatus } = await home.nclust('start', script, '--name', name, ...mode, '--kill-timeout', '100');
    expect(exitStatus).toBe(0);
  }
  const blocked = async (ms) => {
    const { workers } = await metrics(home);
    return (
      workers
        .filter(({ reportAgeMs }) => Number(reportAgeMs) > ms)
        .map(({ name }) => name)
        .join() === 'fork,cluster' && workers
    );
  };
  const [first] = await home.waitFor('both to be blocked', () => blocked(3_000));
  expect(first.name).toBe(beside.name);
  const { controlPid } = await home.daemon();
  killIfThere(controlPid);
  await home.waitFor('the next control', async () => (await home.daemon()).controlPid !== controlPid);
  const seen = await home.waitFor('both to be blocked again', () => blocked(3_000));
  for (const { name, reportAgeMs, startedAtMs } of seen)
    if (name !== beside.name) expect(reportAgeMs).toBeGreaterThan(Date.now() - Number(startedAtMs) - 3_000);
});

test('/metrics serves valid Prometheus text, and keeps its series across restart and reload', async () => {
  const home = await sandbox();
  const app = await home.app('serves-all', { instances: 2 });
  const port = await takePort();
  expect((await home.nclust('set', 'metrics.listen', `0.0.0.0:${port}`)).stderr).toContain('metrics.allow_remote');
  expect((await home.nclust('set', 'metrics.listen', `127.0.0.1:${port}`)).exitStatus).toBe(0);
  const scrape = () => fetchOnce(`http://127.0.0.1:${port}/metrics`);
  const read = async () =>
    readPrometheus(await home.waitFor('an answer of /metrics', () => scrape().catch(() => null)));
  for (let at = 0; at < 10; at += 1) await app.get('/');
  const requests = async () =>
    (await read()).get('nclust_http_requests_total')?.samples.reduce((sum, { value }) => sum + value, 0);
  await home.waitFor('all requests to be counted', async () => (await requests()) === 10);
  const before = keysOf(await read());
  expect(before).toContain(
    `nclust_http_responses_total{"app":"${app.name}","instance":"1","namespace":"default","code":"2xx"}`,
  );
  for (const command of ['restart', 'reload']) {
    await home.nclust(command, app.name);
    await home.waitFor(
      'the same series as before',
      async () => JSON.stringify(keysOf(await read())) === JSON.stringify(before),
    );
    expect(await requests()).toBe(10);
  }
  await home.nclust('unset', 'metrics.listen');
  await home.waitFor('/metrics to be closed', () =>
    scrape().then(
      () => false,
      ({ code }) => code === 'ECONNREFUSED',
    ),
  );
});

function keysOf(families) {
  return [...families.values()]
    .flatMap(({ samples }) => samples.map(({ name, labels }) => `${name}${JSON.stringify(labels)}`))
    .sort();
}

test('an app with --no-metrics still has CPU and memory figures', async () => {
  const home = await sandbox();
  const app = await home.app('serves-all', { flags: ['--no-metrics'] });
  await app.get('/');
  const tick = await following(home, {});
  await tick();
  const { workers } = await tick();
  expect(workers[0]).toMatchObject({ isNode: true, elu: null, http: null });
  expect(workers[0].memoryBytes).toBeGreaterThan(1e7);
});

test('a program has its own limit of descriptors, and its sockets when it is close to that', async () => {
  const home = await sandbox();
  const holds = place(
    home.work,
    'holds.cjs',
    "const [fs, net] = [require('node:fs'), require('node:net')]; const held = Array.from({ length: 6 }, () => " +
      "net.createServer().listen(0)); for (let fds = 0; fds < 54; fds = fs.readdirSync('/proc/self/fd').length) " +
      "held.push(fs.openSync('/dev/null')); setInterval(() => {}, 1e6);",
  );
  const limited = place(home.work, 'limited.sh', `ulimit -n 60; exec "${process.execPath}" "${holds}"`);
  await home.nclust('start', limited, '--name', 'limited', '--interpreter', 'sh');
  const worker = async () => (await metrics(home)).workers[0];
  // Waits, because nclust counts descriptors only on every tenth tick.
  await home.waitFor('all descriptors to be counted', async () => (await worker()).sockets !== null, {
    deadlineMs: 20_000,
  });
  const { pid, fds, fdsLimit, sockets } = await worker();
  const count = readdirSync(`/proc/${pid}/fd`).filter((fd) =>
    readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith('socket:'),
  ).length;
  expect({ fdsLimit, sockets }).toEqual({ fdsLimit: 60, sockets: count });
  expect(fds).toBeGreaterThan(48);
  expect(count).toBeGreaterThanOrEqual(6);
});

test('a child that spins is in the tree of its Node.js worker, and the app has its error lines', async () => {
  const home = await sandbox();
  const parent = place(
    home.work,
    'parent.cjs',
    "require('node:child_process').spawn('sh', ['-c', 'while :; do :; done']); " +
      "for (let at = 0; at < 30; at += 1) console.error('Error: attempt ' + at); setInterval(() => {}, 1e6);",
  );
  await home.nclust('start', parent, '--name', 'parent');
  const tick = await following(home, {});
  const { workers, apps } = await home.waitFor(
    'the child in the tree',
    async () => {
      const sample = await tick();
      return (sample.workers[0].tree?.top?.cpu ?? 0) > 20 && sample;
    },
    { deadlineMs: 30_000 },
  );
  const [{ cpu, memoryBytes, processes, tree }] = workers;
  expect(tree).toMatchObject({ processes: 2, top: { program: 'sh' } });
  expect(readStat(tree.top.pid)?.ppid).toBe(workers[0].pid);
  expect(tree.cpu).toBeGreaterThanOrEqual(tree.top.cpu);
  expect(tree.memoryBytes).toBeGreaterThan(memoryBytes * 0.9);
  expect(processes).toBe(1);
  expect(cpu).toBeLessThan(20);
  expect(apps[0].errorLines).toMatchObject({ usualPerS: null, line: 'Error: attempt #', share: 1, total: 30 });
});
