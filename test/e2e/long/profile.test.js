import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { isRoot, NOBODY, SECRET, userFolders } from '../../helpers/other-user.js';
import { loopbackPorts } from '../../helpers/ports.js';
import { sandbox } from '../../helpers/sandbox.js';

const profilesIn = ({ work }) => readdirSync(work).filter((name) => /profile$|heapsnapshot$/.test(name));
const lineOf = (script, text) =>
  readFileSync(script, 'utf8')
    .split('\n')
    .findIndex((line) => line.includes(text)) + 1;
/** Checks what DevTools needs: lists of the length in the head, and edges that lead to nodes. */
function isHeapSnapshot({ snapshot: { meta, node_count: nodeCount, edge_count: edgeCount }, nodes, edges, strings }) {
  const [nodeFields, edgeFields] = [meta.node_fields, meta.edge_fields];
  expect(nodeFields).toEqual(expect.arrayContaining(['type', 'name', 'id', 'self_size', 'edge_count']));
  expect(edgeFields).toEqual(expect.arrayContaining(['type', 'name_or_index', 'to_node']));
  expect(nodeCount).toBeGreaterThan(1_000);
  expect([nodes.length, edges.length]).toEqual([nodeCount * nodeFields.length, edgeCount * edgeFields.length]);
  const column = (flat, fields, name) => flat.filter((_, at) => at % fields.length === fields.indexOf(name));
  expect(column(nodes, nodeFields, 'edge_count').reduce((sum, count) => sum + count, 0)).toBe(edgeCount);
  expect(new Set(column(nodes, nodeFields, 'id')).size).toBe(nodeCount);

  const isAt = (list) => (at) => Number.isInteger(at) && at >= 0 && at < list.length;
  const [isString, isOfNode] = [isAt(strings), isAt(nodes)];
  const [nodeTypes, edgeTypes] = [
    meta.node_types[nodeFields.indexOf('type')],
    meta.edge_types[edgeFields.indexOf('type')],
  ];
  expect(column(nodes, nodeFields, 'type').every(isAt(nodeTypes))).toBe(true);
  expect(column(nodes, nodeFields, 'name').every(isString)).toBe(true);
  const types = column(edges, edgeFields, 'type');
  expect(types.every(isAt(edgeTypes))).toBe(true);
  expect(column(edges, edgeFields, 'to_node').every((at) => isOfNode(at) && at % nodeFields.length === 0)).toBe(true);
  // Edges of type "element" and "hidden" have a number instead of a name.
  expect(
    column(edges, edgeFields, 'name_or_index').every(
      (name, at) => ['element', 'hidden'].includes(edgeTypes[types[at]]) || isString(name),
    ),
  ).toBe(true);
  expect(strings.every((text) => typeof text === 'string')).toBe(true);
}

/** Checks that the nodes are a tree with one root, and that each sample has a node and a time. */
function isCpuProfile({ nodes, samples, timeDeltas, startTime, endTime }) {
  const ids = new Set(nodes.map(({ id }) => id));
  expect(ids.size).toBe(nodes.length);
  const children = nodes.flatMap((node) => node.children ?? []);
  expect(children.filter((id) => !ids.has(id))).toEqual([]);
  expect([children.length, new Set(children).size]).toEqual([nodes.length - 1, nodes.length - 1]);
  expect(nodes[0].callFrame.functionName).toBe('(root)');
  expect(samples.length).toBeGreaterThan(0);
  expect(timeDeltas.length).toBe(samples.length);
  expect(samples.filter((id) => !ids.has(id))).toEqual([]);
  expect(endTime).toBeGreaterThan(startTime);
}

const functionsOf = ({ nodes }) => nodes.map(({ callFrame }) => callFrame.functionName);

/** Starts a profile, and resolves when the worker has opened the file of the profile. */
async function longProfile(home, pid) {
  const command = home.follow('profile', 'api', '--cpu', '5m');
  await home.waitFor('the profile to start', () =>
    readdirSync(`/proc/${pid}/fd`).some((fd) => targetOf(`/proc/${pid}/fd/${fd}`).endsWith('.cpuprofile')),
  );
  return command;
}

function targetOf(link) {
  try {
    return readlinkSync(link);
  } catch {
    return ''; // Closed since.
  }
}

async function spinner(home, o = {}) {
  const until = join(home.work, 'until');
  const app = await home.app('spins', { name: 'api', env: { UNTIL: until }, ...o });
  const [pid] = await app.pids();
  return { app, pid, free: () => writeFileSync(until, '') };
}

test('profile writes CPU and heap files for Chrome, and stack shows where a busy worker loops', async () => {
  const home = await sandbox();
  const { app, pid } = await spinner(home, { instances: 1, flags: ['-i', '1'] });
  const idle = await home.nclust('stack', 'api');
  expect(idle).toMatchObject({
    exitStatus: 0,
    stderr: '',
    stdout: expect.stringContaining(`"api" (id 0, pid ${pid}) `),
  });

  await app.get('/hot');
  const cpu = await home.nclust('profile', 'api', '--cpu', '500ms');
  expect(cpu).toMatchObject({ exitStatus: 0, stderr: expect.stringMatching(/for 500ms[^]*Open it in Chrome/) });
  expect(profilesIn(home)).toEqual([expect.stringMatching(/^api-0-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.cpuprofile$/)]);
  const taken = JSON.parse(readFileSync(cpu.stdout.trim(), 'utf8'));
  isCpuProfile(taken);
  expect(functionsOf(taken)).toContain('work');
  const hot = (await home.nclust('stack', 'api', '--json')).json();
  expect(hot).toMatchObject({ slot: { id: 0, name: 'api', pid }, isHeldUp: false });
  expect(hot.busy).toBeGreaterThan(0);
  expect(hot.frames.map(({ file }) => file)).toContain(app.script);
  await app.get('/cool');

  const heap = await home.nclust('profile', '0', '--heap', '-o', 'a.heapsnapshot', '--json');
  expect(heap).toMatchObject({ exitStatus: 0, stderr: '' });
  expect(heap.json()).toMatchObject({
    slot: { id: 0 },
    kind: 'heap',
    durationMs: null,
    file: join(home.work, 'a.heapsnapshot'),
    by: 'itself',
  });
  isHeapSnapshot(JSON.parse(readFileSync(join(home.work, 'a.heapsnapshot'), 'utf8')));
  expect(await home.nclust('profile', '0', '--heap', '-o', 'a.heapsnapshot')).toMatchObject({
    exitStatus: 1,
    stdout: '',
    stderr: expect.stringContaining('already exists'),
  });
  expect(await app.pids()).toEqual([pid]);
});

test('stack and profile work on a blocked worker, which then runs on with its inspector closed', async () => {
  const home = await sandbox();
  const { app, pid, free } = await spinner(home);
  await app.get('/spin');
  const { stdout, exitStatus } = await home.nclust('stack', 'api');
  const frames = stdout.split('\n');
  expect([exitStatus, frames[0]]).toEqual([0, `"api" (id 0, pid ${pid}) does not return to its event loop:`]);
  expect(stdout).toMatch(
    new RegExp(`^    at spinUntilThere \\(${app.script}:${lineOf(app.script, 'while (!fs.existsSync')}:\\d+\\)$`, 'm'),
  );
  const taking = home.follow('profile', 'api', '--cpu', '2s', '-o', 'a.cpuprofile');
  const inspector = () => loopbackPorts(pid).find((port) => port !== app.port);
  await home.waitFor('the inspector', () => inspector() !== undefined);
  // Another user of the machine cannot learn the address.
  expect((await fetch(`http://127.0.0.1:${inspector()}/json/list`)).status).toBe(404);
  const cpu = await taking.done;
  expect(cpu).toMatchObject({ exitStatus: 0, stderr: expect.stringContaining('nclust attaches a debugger') });
  // Checks only the URL of the script, not the function, because Node.js 20 counts a function that
  // was optimised before the profile as part of its caller.
  const taken = JSON.parse(readFileSync(join(home.work, 'a.cpuprofile'), 'utf8'));
  isCpuProfile(taken);
  expect(taken.nodes.map(({ callFrame }) => callFrame.url)).toContain(pathToFileURL(app.script).href);
  free();
  expect(await app.get()).toEqual({ pid });
  // Because of the signal, Node.js opens its inspector once more when the event loop runs again.
  await home.waitFor('the inspector to be closed', () => loopbackPorts(pid).every((port) => port === app.port));
  expect(await app.pids()).toEqual([pid]);
  expect((await home.nclust('logs', 'api', '--nostream')).stdout).not.toMatch(/Debugger|For help/);
});

test('a worker that returns from a system call during stack is shown as held up, without a wrong frame', async () => {
  const home = await sandbox();
  const { app, pid, free } = await spinner(home);
  await app.get('/call');
  const command = home.follow('stack', 'api');
  await home.waitFor('the debugger to attach', () => command.stderr().includes('nclust attaches a debugger'));
  free();
  const { stdout, exitStatus } = await command.done;
  expect([exitStatus, stdout]).toEqual([
    0,
    expect.stringContaining(`"api" (id 0, pid ${pid}) was blocked until now, and runs again:`),
  ]);
  expect(await app.get()).toEqual({ pid });
});

test('a worker that never leaves its ticks is shown as held up, even if all frames are of Node.js', async () => {
  const home = await sandbox();
  const { app, pid, free } = await spinner(home);
  await app.get('/ticks');
  const { stdout, exitStatus } = await home.nclust('stack', 'api');
  expect([exitStatus, stdout.split('\n')[0]]).toEqual([
    0,
    `"api" (id 0, pid ${pid}) does not return to its event loop:`,
  ]);
  free();
  expect(await app.get()).toEqual({ pid });
});

test('a worker has one profile at a time, and Ctrl-C or the death of the worker leaves no file', async () => {
  const home = await sandbox();
  const { app, pid } = await spinner(home);
  const first = await longProfile(home, pid);
  const refused = await home.nclust('profile', 'api', '--heap', '-o', 'other.heapsnapshot');
  expect(refused).toMatchObject({
    exitStatus: 1,
    stdout: '',
    stderr: expect.stringContaining('A profile of "api" (id 0) is already running (cpu).'),
  });
  first.child.kill('SIGINT');
  expect(await first.done).toMatchObject({
    exitStatus: 130,
    stdout: '',
    stderr: expect.stringContaining('was cancelled'),
  });
  expect(profilesIn(home)).toEqual([]);
  expect(await app.get()).toEqual({ pid });

  const second = await longProfile(home, pid);
  process.kill(pid, 'SIGKILL');
  const ended = await second.done;
  expect([ended.exitStatus, ended.stdout]).toEqual([1, '']);
  expect(ended.stderr).toContain('"api" (id 0) has just exited.');
  expect(profilesIn(home)).toEqual([]);
});

test('a killed profile command leaves no file, and a program other than Node.js is refused', async () => {
  const home = await sandbox();
  const { app, pid } = await spinner(home);
  const killed = await longProfile(home, pid);
  killed.child.kill('SIGKILL');
  await killed.done;
  await home.waitFor('the file to be removed', () => profilesIn(home).length === 0);
  expect(await app.get()).toEqual({ pid });
  await home.nclust('start', '/bin/sleep 1000', '--name', 'sleeper');
  for (const command of ['stack', 'profile'])
    expect(await home.nclust(command, 'sleeper')).toMatchObject({
      exitStatus: 1,
      stdout: '',
      stderr: expect.stringMatching(/is not a Node.js program[^]*py-spy/),
    });
  expect(profilesIn(home)).toEqual([]);
});

/** Puts a link in place of the file of a profile as soon as the folder shows its name. */
const EXCHANGES = `
  const { renameSync, symlinkSync, watch } = require('node:fs');
  const watcher = watch('.', (_event, name) => {
    if (!/profile$|heapsnapshot$/.test(name)) return;
    watcher.close();
    renameSync(name, 'exchanged');
    symlinkSync(process.env.TARGET, name);
  });
  setInterval(() => {}, 1e6);
  console.log('watching');`;

test.skipIf(!isRoot).each([['--cpu', '100ms'], ['--heap-sampling', '100ms'], ['--heap']])(
  'root writes no file to which the user of the app makes a link (%s)',
  async (...kind) => {
    const home = await sandbox();
    const { own, closed, plant } = userFolders();
    const script = plant('app.js', (path) => writeFileSync(path, EXCHANGES));
    const env = { TARGET: join(closed, 'secret') };
    const o = { env, cwd: own };
    const started = await home.nclust('start', script, '--name', 'api', '--uid', `${NOBODY.uid}`, o);
    expect(started, started.stderr).toMatchObject({ exitStatus: 0 });
    await home.waitFor('the app to watch', async () =>
      (await home.nclust('logs', 'api', '--nostream')).stdout.includes('watching'),
    );
    expect(await home.nclust('profile', 'api', ...kind, o)).toMatchObject({
      exitStatus: 1,
      stderr: expect.stringMatching(/Another program has removed or replaced/),
    });
    expect(readFileSync(env.TARGET, 'utf8').trim()).toBe(SECRET);
  },
);
