import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runProgram } from '../../../../lib/cli/program.js';
import { NclustError } from '../../../../lib/shared/errors.js';
import { notificationLine, resultLine } from '../../../../lib/shared/wire/rpc.js';
import { waitFor } from '../../../helpers/wait-for.js';
import { openServer } from '../rpc-server.js';
import { slotStatus } from '../slots.js';

let cwd;
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'nclust-logs-'));
});
afterAll(() => rmSync(cwd, { recursive: true }));

const entry = (line, more = {}) => ({
  id: 0,
  name: 'api',
  stream: 'out',
  line,
  atMs: null,
  ...more,
});
const subscription = 'logs';

function logs(home, words, { isTTY = false, print = async () => {} } = {}) {
  const said = { stdout: '', stderr: '' };
  const listeners = new Set();
  const exitStatus = runProgram(['logs', ...words], {
    print: async (text) => {
      said.stdout += text;
      await print(text);
    },
    printMessage: (text) => {
      said.stderr += text;
    },
    isTTY,
    isTalkTTY: isTTY,
    colourLevels: async () => ({ stdout: isTTY ? 1 : 0, stderr: isTTY ? 1 : 0 }),
    columns: isTTY ? 100 : null,
    talkSize: () => ({ columns: 80, rows: 24 }),
    onInterrupt: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    cwd,
    env: { PATH: '/usr/bin:/bin', NCLUST_HOME: home },
    platform: 'linux',
    node: { file: process.execPath, version: process.version },
  });
  return {
    said,
    exitStatus,
    listeners,
    interrupt: () => {
      for (const listener of listeners) listener();
    },
  };
}

const manager = (slots, onLogs = () => ({ subscription })) =>
  openServer({ list: () => ({ slots, notices: [] }), logs: onLogs });

const apps = (count) => Array.from({ length: count }, (_, id) => slotStatus({ id, name: `app-${id}` }));

const tell = (socket, entries, more = {}) => socket.write(notificationLine('log', { subscription, entries, ...more }));

describe('logs explains an empty output', () => {
  test.each([
    ['no app', 0, ['--nostream'], 'There is no app in the list.\n'],
    ['an app without output', 1, ['--nostream'], 'There is no line of "app-0".\n'],
    ['apps without output', 3, ['--nostream'], 'There is no line of the 3 apps.\n'],
    ['nothing that matches', 3, ['--nostream', '--grep', 'x'], 'No line of the 3 apps matches.\n'],
    ['--lines 0', 1, ['--nostream', '--lines', '0'], ''],
    [
      '500 apps without output',
      500,
      ['--nostream'],
      'These are the lines of all 500 apps; for one app: nclust logs <name>\nThere is no line of the 500 apps.\n',
    ],
    ['500 apps that the user named', 500, ['all', '--nostream', '--lines', '0'], ''],
  ])('logs explains an empty output: %s', async (_what, count, words, stderr) => {
    const { home } = await manager(apps(count));
    const run = logs(home, words);
    expect(await run.exitStatus).toBe(0);
    expect(run.said).toEqual({ stdout: '', stderr });
  });

  test('logs explains an unknown app before it requests lines', async () => {
    const server = await openServer({
      list: () => {
        throw new NclustError('ERR_NCLUST_APP_NOT_FOUND', 'There is no "wroker".', { hint: 'Did you mean "worker"?' });
      },
    });
    const run = logs(server.home, ['wroker']);
    expect(await run.exitStatus).toBe(1);
    expect(run.said).toEqual({ stdout: '', stderr: 'nclust: There is no "wroker".\nnext: Did you mean "worker"?\n' });
    expect(server.callsTo('logs')).toEqual([]);
  });

  test('logs explains that there is no manager', async () => {
    const run = logs(join(cwd, 'none'), []);
    expect(await run.exitStatus).toBe(3);
    expect(run.said.stderr).toMatch(/No nclust runs in .*\nnext: Start an app/);
  });

  test('logs explains that there is no app yet, and follows the first', async () => {
    const { home } = await manager([], (_params, socket) => {
      socket.write(resultLine(socket.lastId, { subscription }));
      tell(socket, [entry('born')]);
    });
    const run = logs(home, [], { isTTY: true });
    await waitFor('the line', () => run.said.stdout.includes('born'));
    expect(run.said.stderr).toBe(
      'There is no app in the list yet; the lines of the first one will be shown here. Press Ctrl-C to quit.\n',
    );
    run.interrupt();
    expect(await run.exitStatus).toBe(0);
  });
});

test.each([
  [
    'with names for several apps',
    2,
    '3 lines of "app-0" were left out: this terminal reads too slowly.\nSome lines of "app-0" cannot be ' +
      'shown, because their log file was deleted before the manager was back.\n',
  ],
  [
    'without a name for the only app',
    1,
    '3 lines were left out: this terminal reads too slowly.\nSome lines cannot be shown, because their log ' +
      'file was deleted before the manager was back.\n',
  ],
])('missing lines are reported %s', async (_what, count, stderr) => {
  const { home } = await manager(apps(count), (_params, socket) => {
    tell(socket, [entry('x')], { missed: 3, missedOf: { 'app-0': 3 }, gap: true, gapOf: ['app-0'] });
    return { subscription };
  });
  const run = logs(home, ['--nostream']);
  expect([await run.exitStatus, run.said.stderr]).toEqual([0, stderr]);
});

test('an invalid option is refused before the first request', async () => {
  const server = await openServer();
  const run = logs(server.home, ['--nostream', '--lines', 'x']);
  expect(await run.exitStatus).toBe(2);
  expect(run.said.stderr).toContain('--lines is "x"');
  expect(server.sockets.size).toBe(0);
});

describe('Ctrl-C on a terminal', () => {
  test('Ctrl-C ends the command, and removes its listener', async () => {
    const { home } = await manager(apps(1), (_params, socket) => {
      tell(socket, [entry('old')]);
      socket.write(resultLine(socket.lastId, { subscription }));
    });
    const run = logs(home, [], { isTTY: true });
    await waitFor('the line', () => run.said.stdout.includes('old'));
    await waitFor('the answer', () => run.listeners.size === 1);
    run.interrupt();
    expect(await run.exitStatus).toBeOneOf([0, 130]);
    expect(run.listeners.size).toBe(0);
    expect(run.said.stdout).toMatch(/old\n$/);
  });

  test('Ctrl-C before the end of the past lines exits 130', async () => {
    const { home } = await manager(apps(1), (_params, socket) => void tell(socket, [entry('1')]));
    const run = logs(home, ['--nostream'], { isTTY: true });
    await waitFor('the line', () => run.said.stdout.includes('1'));
    run.interrupt();
    expect(await run.exitStatus).toBe(130);
    expect(run.said.stderr).toContain('There were more lines.');
  });

  test('Ctrl-C has no listener without a terminal', async () => {
    const { home } = await manager(apps(1), (_params, socket) => void tell(socket, [entry('1')]));
    const run = logs(home, []);
    await waitFor('the line', () => run.said.stdout.includes('1'));
    expect(run.listeners.size).toBe(0);
  });
});

test('logs waits for slow past lines, and fails with the error of the manager', async () => {
  const { home } = await manager(apps(1), (_params, socket) => {
    tell(socket, [entry('1')]);
    throw new NclustError('ERR_NCLUST_BAD_SELECTOR', 'It went wrong.');
  });
  const run = logs(home, ['--raw']);
  expect(await run.exitStatus).toBe(2);
  expect(run.said).toEqual({ stdout: '1\n', stderr: 'nclust: It went wrong.\n' });
});

test('logs stops reading while its reader does not read', async () => {
  const page = Array.from({ length: 64 }, () => entry('x'.repeat(1_000)));
  const PAGES = 1_000;
  let sent = 0;
  const { home } = await manager(apps(1), (_params, socket) => {
    const { lastId } = socket;
    const more = () => {
      while (sent < PAGES) if ((sent++, !tell(socket, page))) return void socket.once('drain', more);
      socket.write(resultLine(lastId, { subscription }));
    };
    more();
  });
  let release = () => {};
  const reading = new Promise((resolve) => {
    release = resolve;
  });
  let bytes = 0;
  const run = logs(home, ['--raw', '--nostream'], {
    print: async (text) => {
      bytes += text.length;
      await reading;
    },
  });
  let before = -1;
  // Waits until the buffers of the socket and of the command are full.
  await waitFor('the pages to stop', async () => {
    const hasStopped = sent === before && bytes > 0;
    before = sent;
    return hasStopped;
  });
  expect(sent).toBeLessThan(100);
  release();
  expect(await run.exitStatus).toBe(0);
  expect(bytes).toBe(PAGES * 64 * 1_001);
});
