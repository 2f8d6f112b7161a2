import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { takeFrame } from '../../../../daemon/control/profiling/frame.js';
import { createRig } from '../control-rig.js';

/** @param {((message: any) => any) | null} first  The result of each message to the inspector. */
async function blocked(first) {
  const answer = { with: first, seq: 1 };
  const rig = createRig();
  await rig.boot();
  await Promise.all([rig.start({ name: 'api' }), rig.turn(2_000)]);
  const instance = rig.control.registry.instances.get(rig.keeper.alive[0].instanceId);
  Object.assign(instance, { pid: process.pid, errPipe: '/pipe' });
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  onTestFinished(() => new Promise((resolve) => void server.close(resolve)));
  server.on('connection', (socket) =>
    socket.on('message', (data) => {
      const { id, params } = JSON.parse(String(data));
      if (params.expression.includes('.close()')) return socket.close();
      socket.send(JSON.stringify({ id, result: answer.with(params) }));
    }),
  );
  const said = [];
  let print = () => {};
  // Replaces the fake keeper, because its processes exit at every signal.
  rig.control.askKeeper = async (verb, { signal, question }) => {
    if (verb === 'reports') return { reports: { [instance.instanceId]: { seq: answer.seq } } };
    said.push(signal ?? question?.step ?? verb);
    if (signal) print(`ws://127.0.0.1:${server.address().port}/x`);
    return { failure: null };
  };
  rig.context.parts.logs.hideInspector = (_instanceId, onUrl) => {
    print = onUrl;
    return () => {};
  };
  const { cwd } = rig.control.registry.desired.apps[0].spec;
  return { instance, said, take: (id = instance.instanceId) => takeFrame(rig.context, '0', id), cwd, answer };
}

const stackOf =
  (...lines) =>
  () => ({ result: { value: lines.join('\n') } });

test.runIf(process.platform === 'linux')('the frame is the innermost one outside of packages and Node.js', async () => {
  const { take, cwd, said, answer } = await blocked(null);
  answer.with = stackOf(
    '<anonymous>:6:12',
    '<anonymous>:11:3',
    'JSON.parse (<anonymous>)',
    `parse (${cwd}/node_modules/pg/lib/parse.js:7:3)`,
    `Report.render (file://${cwd}/lib/report.js:31:5)`,
    `Server.<anonymous> (${cwd}/server.js:8:14)`,
    'process.processTimers (node:internal/timers:518:7)',
  );
  expect(await take()).toEqual({
    where: 'Report.render (lib/report.js:31)',
    stack: [
      'JSON.parse (<anonymous>)',
      `parse (${cwd}/node_modules/pg/lib/parse.js:7:3)`,
      `Report.render (file://${cwd}/lib/report.js:31:5)`,
      `Server.<anonymous> (${cwd}/server.js:8:14)`,
      'process.processTimers (node:internal/timers:518:7)',
    ],
  });
  expect(said).toEqual(['SIGUSR1', 'shut']);
});

test.runIf(process.platform === 'linux')('code that runs after the block is not the frame', async () => {
  const { take, answer } = await blocked(null);
  answer.with = () => {
    answer.seq += 1;
    return { result: { value: 'next (/srv/a.js:1:1)' } };
  };
  expect(await take()).toBe('turned');
  expect(await take('of-an-earlier-instance')).toBe('turned');
});

test.runIf(process.platform === 'linux')('the agent is asked to close the inspector before it is open', async () => {
  const { take, said, answer } = await blocked(null);
  answer.with = () => {
    expect(said).toEqual(['SIGUSR1', 'shut']);
    return { result: { value: 'render (/srv/a.js:1:1)' } };
  };
  expect(await take()).toMatchObject({ stack: ['render (/srv/a.js:1:1)'] });
  expect(said).toEqual(['SIGUSR1', 'shut']);
});

test.runIf(process.platform === 'linux')('a worker that runs only code of Node.js has no frame', async () => {
  const { take } = await blocked(stackOf('<anonymous>:6:12', 'processTimers (node:internal/timers:518:7)'));
  expect(await take()).toBe(null);
});

test.runIf(process.platform === 'linux').each([
  ['nothing', () => null],
  ['no text', () => ({ result: { value: { a: 1 } } })],
  ['control characters', stackOf('\x1b[2J (/srv/a.js:1:1)')],
  ['many long lines', stackOf(...Array.from({ length: 500 }, () => `${'x'.repeat(400)} (/srv/a.js:1:1)`))],
])('a false inspector can answer with %s', async (_what, answer) => {
  const { take } = await blocked(answer);
  const { where, stack } = (await take()) ?? { where: null, stack: [] };
  expect(stack.length).toBeLessThanOrEqual(20);
  expect([where ?? '', ...stack].every((line) => line.length <= 200 && !line.includes('\x1b'))).toBe(true);
});

test('a false inspector with an answer that is too long is an error', async () => {
  const { take } = await blocked(stackOf('x'.repeat(300 * 1024)));
  await expect(take()).rejects.toThrow();
});

test.each([
  ['started without a secret address', (instance) => (instance.label.hasSecretInspector = false)],
  ['writes a snapshot', (instance) => (instance.snapshots = 1)],
  ['has a debugger of a command', (instance) => (instance.breakIn = Promise.resolve())],
])('nclust does not look into a worker that %s', async (_what, change) => {
  const { instance, take, said } = await blocked(stackOf('render (/srv/a.js:1:1)'));
  change(instance);
  expect([await take(), said]).toEqual([null, []]);
});
