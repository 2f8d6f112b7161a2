import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createActivityReader, createSharedTreeReader } from '../../../../daemon/control/metrics/activity.js';
import { takePort } from '../../../helpers/ports.js';
import { waitFor } from '../../../helpers/wait-for.js';

/**
 * Runs the code in Node.js, behind a shell if `isDeep`.
 * @param {string} code
 * @param {{ isDeep?: boolean, stdio?: any[], nodeArgs?: string[], env?: NodeJS.ProcessEnv }} [o]
 */
async function run(code, { isDeep = false, stdio = ['ignore', 'pipe', 'pipe'], nodeArgs = [], env = {} } = {}) {
  const words = isDeep ? ['sh', '-c', '"$@"; true', 'sh', process.execPath] : [process.execPath];
  const [file, ...args] = [...words, ...nodeArgs, '-e', `${code}; console.log('begins')`];
  const child = spawn(file, args, { stdio, detached: true, env: { ...process.env, ...env } });
  onTestFinished(() => void process.kill(-Number(child.pid), 'SIGKILL'));
  await once(/** @type {any} */ (child.stdout), 'data');
  return Number(child.pid);
}

const IDLE = 'setInterval(() => {}, 100)';
const BUSY = 'setInterval(() => { for (const end = Date.now() + 20; Date.now() < end; ); }, 25)';
const SERVER = "require('net').createServer().listen(0, '127.0.0.1')";
const PATH = join(tmpdir(), 'nclust-activity-');
const ON_PATH = `require('net').createServer().listen('${PATH}' + process.pid)`;

describe.runIf(process.platform === 'linux')('the activity of a process and its descendants', () => {
  test.each([
    ['computes', 'setTimeout(() => { for (;;); }, 50)', 'cpuMs', false],
    ['computes in a child', 'setTimeout(() => { for (;;); }, 50)', 'cpuMs', true],
    ['reads', "setInterval(() => require('fs').readFileSync(process.execPath), 100)", 'ioBytes', false],
    ['reads in a child', "setInterval(() => require('fs').readFileSync(process.execPath), 100)", 'ioBytes', true],
  ])('the activity of a process grows if it %s', async (_what, code, field, isDeep) => {
    const pid = await run(code, { isDeep });
    const read = createActivityReader();
    const before = (await read(pid, false))?.[field];
    const much = field === 'cpuMs' ? 200 : 1_000_000;
    await waitFor('progress', async () => (await read(pid, false))?.[field] - before > much);
  });

  test.each([
    ['no socket', IDLE, {}, false, false],
    ['a port', SERVER, {}, false, true],
    ['a port in a child', SERVER, { isDeep: true }, false, true],
    ['a port in a child of Node.js', SERVER, { isDeep: true }, true, true],
    ['a port that the agent reports', SERVER, {}, true, false],
    ['a Unix socket', ON_PATH, { temporary: '/elsewhere' }, false, true],
    ['a Unix socket among the temporary files, as of tsx', ON_PATH, {}, false, false],
    ['an abstract Unix socket', "require('net').createServer().listen('\\0nclust-' + process.pid)", {}, false, false],
    ['only a connection', 'CONNECT', {}, false, false],
  ])('the activity shows whether a process listens: %s', async (_what, code, o, isNode, expected) => {
    vi.stubEnv('TMPDIR', o.temporary ?? tmpdir());
    onTestFinished(() => void vi.unstubAllEnvs());
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    const pid = await run(code === 'CONNECT' ? `require('net').connect(${port}); ${IDLE}` : code, o);
    onTestFinished(() => rmSync(`${PATH}${pid}`, { force: true }));
    await waitFor('its sockets', async () => (await createActivityReader()(pid, isNode))?.isListening === expected);
  });

  test('the activity is that of each of several apps that are looked at together', async () => {
    const pids = await Promise.all(Array.from({ length: 4 }, () => run(`${BUSY}; ${SERVER}`, { isDeep: true })));
    const look = (getReader) => Promise.all(pids.map((pid) => getReader()(pid, false)));
    const isSeen = (activity) => activity?.isListening && activity.cpuMs > 200;
    await waitFor('the activity of all', async () => (await look(createActivityReader)).every(isSeen));
    const read = createActivityReader();
    expect((await look(() => read)).map(isSeen)).toEqual([true, true, true, true]);
  });

  test.each([
    ['in its arguments', (where) => ({ nodeArgs: [`--inspect=${where}`] }), IDLE, false],
    ['in NODE_OPTIONS', (where) => ({ env: { NODE_OPTIONS: `--inspect=127.0.0.1:${where}` } }), IDLE, false],
    ['and listens, too', (where) => ({ nodeArgs: [`--inspect=${where}`] }), SERVER, true],
  ])('the activity does not count the port of an inspector: %s', async (_what, optionsFor, code, expected) => {
    const pid = await run(code, optionsFor(await takePort()));
    await waitFor('its sockets', async () => (await createActivityReader()(pid, false))?.isListening === expected);
  });

  test('the activity is null for a process that has exited', async () => {
    const child = spawn('true');
    await once(child, 'exit');
    expect(await createActivityReader()(Number(child.pid), false)).toBe(null);
  });
});

test('looks of the same 100 ms share one table of the processes, and later looks have another one', () => {
  const row = (pid, ppid) => ({ pid, ppid, rssBytes: 1, start: String(pid), ownTicks: 1, waitedTicks: 0 });
  let nowMs = 0;
  let tables = 0;
  const read = createSharedTreeReader(
    () => {
      tables += 1;
      return [row(1e8, 1), row(1e8 + 1, 1e8), row(2e8, 1), row(2e8 + 1, 2e8)];
    },
    () => nowMs,
  );
  const look = () => [1e8, 2e8].map((pid) => read([pid]).get(pid)?.processes);
  expect([look(), tables]).toEqual([[2, 2], 1]);
  nowMs = 100;
  expect([look(), tables]).toEqual([[2, 2], 2]);
});

test('on macOS is the CPU time that pidusage reports', async () => {
  const reading = { start: '', cpuMs: 70, ageMs: 1, memoryBytes: 1, processes: 1, rows: [] };
  const read = createActivityReader({ readTrees: null, readPids: async () => new Map([[7, reading]]) });
  expect(await read(7, false)).toEqual({ cpuMs: 70, ioBytes: 0, isListening: false });
  expect(await read(8, false)).toBe(null);
});
