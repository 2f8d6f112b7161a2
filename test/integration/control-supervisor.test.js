import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createControlSupervisor } from '../../daemon/keeper/control-supervisor.js';
import { waitFor } from '../helpers/wait-for.js';

const HANGS = 'for (;;);';
const GETS_READY = "process.on('message', () => {}); process.send('ready');";

function installation(first) {
  const root = mkdtempSync(join(tmpdir(), 'nclust-supervisor-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const program = (text) => {
    mkdirSync(join(root, 'daemon/control'), { recursive: true });
    writeFileSync(join(root, 'package.json'), '{"type":"module"}');
    writeFileSync(join(root, 'daemon/control/main.js'), text);
  };
  program(first);
  return { root, program };
}

function started(first = HANGS) {
  const { root, program } = installation(first);
  const logged = [];
  const controls = [];
  const said = [];
  const supervisor = createControlSupervisor({
    env: { PATH: process.env.PATH ?? '' },
    root,
    onStarted: (peer) => {
      controls.push(peer);
      peer.on('message', (message) => {
        said.push(message);
        if (message === 'ready') supervisor.ready(false);
      });
    },
    onEnded: () => {},
    onMoved: () => {},
    onMissing: () => {},
    ping: () => {},
    log: (event, fields) => void logged.push({ event, ...fields }),
  });
  onTestFinished(() => {
    supervisor.stop();
    for (const control of controls) control.kill('SIGKILL');
  });
  supervisor.start();
  return { supervisor, root, program, controls, said, logged, events: () => logged.map(({ event }) => event) };
}

test('a control that hangs while it exits is killed and not started again', async () => {
  const { controls, logged, supervisor } = started();
  supervisor.stop();
  supervisor.killControl();
  await waitFor('the control to exit', () => logged.some(({ event }) => event === 'control-ended'));
  expect(logged).toMatchObject([
    { event: 'control-started' },
    { event: 'control-hangs', pid: controls[0].pid },
    { event: 'control-ended', signal: 'SIGKILL' },
  ]);
  supervisor.killControl();
  expect(logged).toHaveLength(3);
});

test('the keeper kills and restarts a control that hangs at boot, and leaves a ready one alone', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { program, controls, said, logged, events } = started();
  vi.advanceTimersByTime(29_000);
  expect(events()).toEqual(['control-started']);
  vi.advanceTimersByTime(1_000);
  program(GETS_READY);
  await waitFor('the second control to be ready', () => said.includes('ready'), {
    context: () => JSON.stringify(logged),
  });
  vi.advanceTimersByTime(120_000);
  expect(events()).toEqual(['control-started', 'control-hangs', 'control-ended', 'control-started']);
  expect(logged[2]).toMatchObject({ pid: controls[0].pid, signal: 'SIGKILL' });
  expect([controls[1].killed, controls[1].connected]).toEqual([false, true]);
});

test('a running control is not replaced by an offer, and an offered one that fails is taken back', async () => {
  // Makes the second between two starts short. The deadlines below are longer for this reason.
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() * 20);
  onTestFinished(() => void vi.restoreAllMocks());
  const { supervisor, root, program, controls, said, logged, events } = started(GETS_READY);
  const until = (what, isTrue) => waitFor(what, isTrue, { deadlineMs: 200_000, context: () => JSON.stringify(logged) });
  await until('control to be ready', () => said.includes('ready'));
  rmSync(root, { recursive: true });
  const offered = installation('process.exit(3);');
  const offer = { node: process.execPath, root: offered.root };
  supervisor.offer(offer);
  expect(events()).toEqual(['control-started']);

  controls[0].kill('SIGKILL');
  await until('the package to be missing', () => events().includes('control-not-started'));
  supervisor.offer(offer);
  program(GETS_READY);
  await until('the old package to be used again', () => said.filter((message) => message === 'ready').length === 2);
  expect(logged.find(({ event }) => event === 'control-refused')).toMatchObject({ root: offered.root, instead: root });
  expect(supervisor.snapshot().root).toBe(root);
});
