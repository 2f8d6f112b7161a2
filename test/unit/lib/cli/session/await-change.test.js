import { expect, test } from 'vitest';
import { pattern } from '../../../../helpers/pattern.js';
import { waitFor } from '../../../../helpers/wait-for.js';
import { runProgram } from '../../../../../lib/cli/program.js';
import { openServer } from '../../rpc-server.js';
import { slotStatus } from '../../slots.js';

const slots = [slotStatus(), slotStatus({ id: 1, slot: 1 })];

async function waiting(argv, { isTTY = true, env = {} } = {}) {
  const asked = [];
  const server = await openServer({
    list: () => ({ slots, notices: [] }),
    reload: (params) => void asked.push(params),
    stop: (params) => void asked.push(params),
  });
  let stderr = '';
  const listeners = new Set();
  const done = runProgram(argv, {
    print: async () => {},
    printMessage: (text) => {
      stderr += text;
    },
    isTTY,
    isTalkTTY: isTTY,
    colourLevels: async () => ({ stdout: isTTY ? 1 : 0, stderr: isTTY ? 1 : 0 }),
    columns: null,
    talkSize: () => ({ columns: 80, rows: 24 }),
    cwd: '/',
    platform: 'linux',
    onInterrupt: (listener) => (listeners.add(listener), () => listeners.delete(listener)),
    env: { PATH: '/usr/bin:/bin', NCLUST_HOME: server.home, NO_COLOR: '1', ...env },
    node: { file: process.execPath, version: process.version },
  });
  await waitFor('the request', () => asked.length > 0);
  return {
    asked,
    done,
    stderr: () => stderr,
    interrupt: () => listeners.forEach((listener) => listener()),
    listeners,
    tell: (fields) =>
      server.notify('progress', {
        token: asked[0].token,
        done: 1,
        total: 2,
        waiting: [{ id: 1, name: 'api', slot: 1, phase: 'soaking', forMs: 0, detail: null, leftMs: 800 }],
        ...fields,
      }),
    answer: (message) => {
      for (const socket of server.sockets) socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: 2, ...message })}\n`);
    },
  };
}

test('progress is one block on a terminal, and one line replaces it at the end', async () => {
  const one = await waiting(['reload', 'api']);
  expect(one.asked[0]).toMatchObject({ progress: true });
  one.tell({});
  await waitFor('the block', () => one.stderr().includes('soaking'));
  expect(one.stderr()).toBe(
    'Reloading api: 1 of 2 done, 0s\u001b[K\n  api 1  soaking         0s  1s left\u001b[K\n\u001b[J',
  );
  one.tell({ done: 2, waiting: [] });
  await waitFor('the next one', () => one.stderr().includes('2 of 2'));
  expect(one.stderr()).toMatch(/\r\u001b\[2AReloading api: 2 of 2 done, 0s\u001b\[K\n\u001b\[J$/);
  one.answer({ result: { slots } });
  expect(await one.done).toBe(0);
  expect(one.stderr()).toMatch(/\r\u001b\[1A\u001b\[JReloaded "api" \(2 instances\)\.\n/);
  expect(one.listeners.size).toBe(0);
});

test('the progress of another request is not shown', async () => {
  const one = await waiting(['reload', 'api']);
  one.tell({ token: 'another', waiting: [] });
  one.tell({});
  await waitFor('the block', () => one.stderr().includes('soaking'));
  expect(one.stderr().match(/Reloading/g)).toHaveLength(1);
  one.answer({ result: { slots } });
  await one.done;
});

test('a failure replaces the block', async () => {
  const one = await waiting(['reload', 'api']);
  one.tell({});
  await waitFor('the block', () => one.stderr().includes('soaking'));
  const failure = {
    code: 'ERR_NCLUST_RELOAD_FAILED',
    exitStatus: 1,
    hint: 'Look.',
    data: { slots: [{ id: 0, name: 'api', slot: 0, reason: 'exited with code 1', lastLines: ['no database'] }] },
  };
  one.answer({ error: { code: -32_000, message: 'Reload of "api" stopped.', data: failure } });
  expect(await one.done).toBe(1);
  expect(one.stderr()).toMatch(
    pattern(
      /\u001b\[2A\u001b\[Jnclust: Reload of "api" stopped\.\n/,
      / {2}api, instance 0 \(id 0\): exited with code 1\n/,
      / {2}\| no database\n/,
      /next: Look\.\n$/,
    ),
  );
});

test.each([
  ['no terminal', { isTTY: false }, []],
  ['a dumb terminal', { env: { TERM: 'dumb' } }, []],
  ['--json', {}, ['--json']],
])('with %s, the command prints only once that an app still loads', async (_, o, more) => {
  const one = await waiting(['reload', 'api', ...more], o);
  const waits = (phase, forMs) => ({ id: 1, name: 'api', slot: 1, phase, forMs, detail: null, leftMs: null });
  one.tell({});
  one.tell({ waiting: [waits('loading', 10_000), waits('loading', 10_000)] });
  one.tell({ waiting: [waits('loading', 15_000)] });
  one.answer({ result: { slots } });
  expect(await one.done).toBe(0);
  expect(one.stderr().replace(/^Reloaded .*\n/m, '')).toBe(
    '"api" still loads after 10s. nclust gives it up to 5 minutes while it uses the CPU or files.\n',
  );
});

test.each([
  [['reload', 'api'], true, /^nclust: Reloading api goes on in the manager; "nclust list" shows its progress\.\n$/],
  [['stop', 'api'], false, /^nclust: Stopping api goes on/],
  [['reload', 'api', '--json'], false, /^\{"error":\{"code":"ERR_NCLUST_INTERRUPTED".*"exitStatus":130\}\}\n$/],
])('Ctrl-C ends %j and prints that the change continues', async (argv, isTTY, said) => {
  const one = await waiting(argv, { isTTY });
  one.interrupt();
  expect(await one.done).toBe(130);
  expect(one.stderr()).toMatch(said);
  expect(one.listeners.size).toBe(0);
});
