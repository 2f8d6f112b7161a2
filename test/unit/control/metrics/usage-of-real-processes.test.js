import { afterEach, beforeEach, expect, test } from 'vitest';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import pidusage from 'pidusage';
import { createPidusageReader } from '../../../../daemon/control/metrics/pidusage-reader.js';
import { readProcRow } from '../../../../daemon/control/host/processes.js';
import { createSampler, createUsageReader } from '../../../../daemon/control/metrics/usage.js';
import { countDescriptors } from '../../../helpers/footprint.js';
import { readStat, residentBytes } from '../../../helpers/processes.js';
import { waitFor } from '../../../helpers/wait-for.js';

const MB = 1024 ** 2;
const TICK_MS = 10;

/** Prints a character after every 300 ms of CPU time. */
const BUSY =
  'for (let reported = 0; ; ) { const { user, system } = process.cpuUsage(); if ((user + system) / 1e3 > reported + ' +
  '300) { reported += 300; fs.writeSync(1, "x"); } }';
const STILL =
  'globalThis.kept = [Buffer.alloc(64 * 1024 ** 2, 1), ...Array.from({ length: 40 }, () => ' +
  'fs.openSync("/dev/null"))]; setInterval(() => {}, 1e6); fs.writeSync(1, "x");';
const PARENT =
  'require("child_process").spawn(process.execPath, ["-e", "process.stdin.resume(); fs.writeSync(1, `x`)"], ' +
  '{ stdio: ["pipe", "inherit", "inherit"] });';

let children;
let read;

beforeEach(() => {
  children = [];
  // `maxage` is shorter than in control, so that a test can see that descriptors are closed.
  read = createUsageReader({ readPids: createPidusageReader({ stat: (pids) => pidusage(pids, { maxage: 2_000 }) }) });
});

afterEach(async () => {
  await Promise.all(children.map(end));
});

async function started(code) {
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  await once(child.stdout, 'data');
  return child;
}

/** Also waits for the children of the process, because they hold its output open. */
async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'close');
  child.kill('SIGKILL');
  await ended;
}

const alone = (...pids) => pids.map((pid) => ({ pid, isTree: false }));

async function look(pid) {
  const before = { atMono: performance.now(), cpuMs: readStat(pid).cpuTicks * TICK_MS, rssBytes: residentBytes(pid) };
  const usage = (await read(alone(process.pid, pid))).get(pid);
  const after = { cpuMs: readStat(pid).cpuTicks * TICK_MS, rssBytes: residentBytes(pid), atMono: performance.now() };
  return { before, usage, after };
}

/** The number of descriptors that this process has for /proc/<pid>/stat. */
function descriptorsOf(pid) {
  return readdirSync('/proc/self/fd').filter((fd) => linkOf(fd) === `/proc/${pid}/stat`).length;
}

function linkOf(fd) {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    // readdirSync() has closed this descriptor, which it used to read the folder.
    return '';
  }
}

test('CPU of a busy process is that of /proc', async () => {
  const busy = await started(BUSY);
  const first = await look(busy.pid);
  expect(first.usage.cpu).toBeGreaterThan(0);
  expect(first.usage.cpuMs).toBeGreaterThanOrEqual(first.before.cpuMs);
  expect(first.usage.cpuMs).toBeLessThanOrEqual(first.after.cpuMs);
  await once(busy.stdout, 'data');
  const second = await look(busy.pid);
  expect(second.usage.cpuMs).toBeGreaterThanOrEqual(second.before.cpuMs);
  expect(second.usage.cpuMs).toBeLessThanOrEqual(second.after.cpuMs);
  const least = (second.before.cpuMs - first.after.cpuMs) / (second.after.atMono - first.before.atMono);
  const most = (second.after.cpuMs - first.before.cpuMs) / (second.before.atMono - first.after.atMono);
  expect(least).toBeGreaterThan(0);
  // Accepts a difference of 0.1, because control rounds the value to a tenth.
  expect(second.usage.cpu).toBeGreaterThanOrEqual(least * 100 - 0.1);
  expect(second.usage.cpu).toBeLessThanOrEqual(most * 100 + 0.1);
});

test('memory and descriptors of an idle process are those of /proc, and it uses no CPU', async () => {
  const still = await started(STILL);
  const { before, usage, after } = await look(still.pid);
  expect(usage.memoryBytes).toBeGreaterThan(64 * MB);
  expect(usage.memoryBytes).toBeGreaterThan(Math.min(before.rssBytes, after.rssBytes) - MB);
  expect(usage.memoryBytes).toBeLessThan(Math.max(before.rssBytes, after.rssBytes) + MB);
  expect(usage.processes).toBe(1);
  expect(usage.fds).toBe(countDescriptors(still.pid));
  expect(usage.fds).toBeGreaterThan(40);
  const { cpuMs } = await waitFor('it to have come to rest', async () => {
    const now = await look(still.pid);
    return now.usage.cpu === 0 && now.usage;
  });
  expect(readStat(still.pid).cpuTicks * TICK_MS).toBeGreaterThanOrEqual(cpuMs);
});

test('a tree and a single process are read at once', async () => {
  const parent = await started(PARENT);
  const still = await started(STILL);
  const found = await read([{ pid: parent.pid, isTree: true }, ...alone(still.pid)]);
  expect(found.get(parent.pid)).toMatchObject({ processes: 2 });
  expect(found.get(parent.pid).memoryBytes).toBeGreaterThan(residentBytes(parent.pid));
  expect(found.get(still.pid)).toMatchObject({ processes: 1 });
});

test('an exited process is missing, alone and beside others, at its first look and later', async () => {
  const [first, second, third] = await Promise.all([started(STILL), started(STILL), started(STILL)]);
  await read(alone(first.pid, second.pid));
  await Promise.all([first, second, third].map(end));
  expect((await read(alone(first.pid))).size).toBe(0);
  expect([...(await read(alone(process.pid, second.pid, third.pid))).keys()]).toEqual([process.pid]);
  expect((await createUsageReader()(alone(third.pid))).size).toBe(0);
});

test('simultaneous looks leave one descriptor for each process, and none when it has exited', async () => {
  const processes = await Promise.all([started(STILL), started(STILL), started(STILL)]);
  const pids = processes.map(({ pid }) => pid);
  const sampler = createSampler({ read, wanted: () => alone(process.pid, ...pids) });
  const count = () => pids.map(descriptorsOf);
  await Promise.all(Array.from({ length: 50 }, (_, at) => (at % 2 ? sampler.measure() : sampler.measureNew())));
  expect(count()).toEqual([1, 1, 1]);
  for (const pid of pids) expect(sampler.usageOf(pid).memoryBytes).toBeGreaterThan(64 * MB);
  await Promise.all(processes.map(end));
  await sampler.measure();
  for (const pid of pids) expect(sampler.usageOf(pid).processes).toBe(0);
  await waitFor('no descriptor', () => count().every((left) => left === 0));
});

test('nothing is printed without getconf, and the settings of control are kept', async () => {
  const ask = (env) => {
    const module = new URL('../../../../daemon/control/metrics/usage.js', import.meta.url);
    const code =
      `const { createUsageReader } = await import(${JSON.stringify(module)}); const found = ` +
      `await createUsageReader()([{ pid: process.pid, isTree: false }]); ` +
      `console.log(found.get(process.pid).memoryBytes > 0, process.env.PIDUSAGE_SILENT);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
      env: { PATH: '/nowhere', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    return Promise.all([child.stdout, child.stderr].map(async (stream) => (await stream.toArray()).join('')));
  };
  expect(await ask({})).toEqual(['true 1\n', '']);
  expect(await ask({ PIDUSAGE_SILENT: 'yes' })).toEqual(['true yes\n', '']);
});

test('a process reads the same figures about itself as the system reports', async () => {
  const own = readProcRow(process.pid);
  expect(own).toMatchObject({ pid: process.pid, ppid: process.ppid });
  expect(Math.abs(own.rssBytes - process.memoryUsage.rss())).toBeLessThan(16 * MB);
});
