import { expect, test } from 'vitest';
import { NclustError } from '../../../../lib/shared/errors.js';
import { createRig, watch } from '../control-rig.js';

const installation = (control, keeper) => ({
  control: { version: '2.0.0', digest: control },
  keeper: { version: '2.0.0', digest: keeper },
});

/** A manager from /fake with two instances that are up, and other installations. */
async function updatable() {
  const rig = createRig();
  rig.installed = {
    '/fake': installation('control', 'fake'),
    '/next': installation('control 2', 'fake'),
    '/other': installation('control 3', 'fake'),
    '/new': installation('control 4', 'keeper 4'),
  };
  rig.nextKeeper = (from) => (from ? rig.installed[from.root].keeper.digest : 'fake');
  await rig.boot();
  void rig.start({ instances: 2 });
  await rig.turn();
  return rig;
}

const update = (rig, root, token = rig.token()) =>
  watch(rig.call('update', { root, node: process.execPath, nodeVersion: process.version, token }));

/** The keeper starts the next control from its present root. */
async function bootNext(rig) {
  const { root } = rig.keeper;
  rig.own = { root, node: process.execPath, digest: rig.installed[root].control.digest };
  await rig.boot();
}

/** The keeper takes an installation back. */
async function takeBack(rig, why) {
  Object.assign(rig.keeper, { refusedRoot: rig.keeper.root, refusedWhy: why, root: '/fake' });
  await bootNext(rig);
}

const asked = (rig, verb) => rig.keeper.requests.filter((request) => request.verb === verb).map(({ params }) => params);

test('an update of control alone tells the keeper the new root, and the next control answers for it', async () => {
  const rig = await updatable();
  const token = rig.token();
  const first = update(rig, '/next', token);
  await rig.turn();
  expect([first.state, rig.hasMadeWay, asked(rig, 'use-installation')]).toEqual(['pending', true, [{ root: '/next' }]]);

  await bootNext(rig);
  const again = update(rig, '/next', token);
  await rig.turn();

  expect([again.error, again.result?.slots.map(({ slot, status }) => [slot, status])]).toEqual([
    null,
    [
      [0, 'online'],
      [1, 'online'],
    ],
  ]);
  expect(again.result.manager).toMatchObject({ controlPid: process.pid, keeperPid: 1 });
  expect([rig.spawned().length, rig.launched, asked(rig, 'use-installation').length]).toEqual([2, [], 1]);
});

test('keeper too: it makes way for one of the new installation, which learns what to go back to', async () => {
  const rig = await updatable();
  const old = rig.keeper;
  const first = update(rig, '/new');
  await rig.turn();

  expect(old.requests.at(-1)).toEqual({ verb: 'abdicate', params: {} });
  expect([rig.launched, first.state, rig.hasMadeWay]).toEqual([['/new'], 'pending', true]);
  expect(asked(rig, 'use-installation')).toEqual([{ root: '/new', before: '/fake' }]);
});

test('nothing new: it answers at once, and asks the keeper for nothing', async () => {
  const rig = await updatable();
  const before = rig.keeper.requests.length;
  const only = update(rig, '/fake');
  await rig.turn();
  expect([only.state, rig.keeper.requests.length, rig.hasMadeWay]).toEqual(['done', before, false]);
});

test('an installation that cannot be run replaces nothing', async () => {
  const rig = await updatable();
  rig.installed['/next'] = new NclustError('ERR_NCLUST_UPDATE_FAILED', 'half an installation');
  const only = update(rig, '/next');
  await rig.turn();
  expect([only.error?.code, asked(rig, 'use-installation'), rig.hasMadeWay]).toEqual([
    'ERR_NCLUST_UPDATE_FAILED',
    [],
    false,
  ]);
});

test('a keeper that does not make way: nothing is replaced, and control goes on with it', async () => {
  const rig = await updatable();
  rig.keeper.lacks.add('abdicate');
  const only = update(rig, '/new');
  await rig.turn();
  expect(only.error).toMatchObject({
    code: 'ERR_NCLUST_UPDATE_FAILED',
    message: expect.stringContaining('does not exit'),
  });
  const more = watch(rig.call('scale', { target: 'api', instances: '3' }));
  await rig.turn();
  expect([more.state, rig.running().length, rig.launched]).toEqual(['done', 3, []]);
});

test('a keeper of the running version takes over when the new one fails to come up, and update says so', async () => {
  const rig = await updatable();
  rig.nextKeeper = (from) => {
    if (from) throw new Error('The keeper exited at once (7).');
    return 'fake';
  };
  const only = update(rig, '/new');
  await rig.turn(3_000);
  expect([rig.launched, rig.hasMadeWay]).toEqual([['/new', null], false]);
  expect(only.error).toMatchObject({
    code: 'ERR_NCLUST_UPDATE_FAILED',
    message: expect.stringContaining('"/new" did not become ready'),
  });
});

test('when no keeper can be started at all the command is told, and does not wait for ever', async () => {
  const rig = await updatable();
  rig.nextKeeper = () => {
    throw new Error('no such folder');
  };
  const only = update(rig, '/new');
  await rig.turn(3_000);
  expect(only.error).toMatchObject({
    code: 'ERR_NCLUST_UPDATE_FAILED',
    message: expect.stringContaining('another one could not be started yet (no such folder)'),
  });

  rig.nextKeeper = () => 'fake';
  await rig.turn(3_000);
  expect((await rig.list()).map(({ status }) => status)).toEqual(['online', 'online']);
});

test.each([
  ['use-installation', '/next', [null]],
  ['abdicate', '/new', ['/new']],
])('a keeper that dies when it is asked to %s: the next one is asked, or is the one', async (verb, root, launched) => {
  const rig = await updatable();
  rig.keeper.diesAt = verb;
  const only = update(rig, root);
  await rig.turn();
  expect([only.state, only.error, rig.launched, rig.keeper.root, rig.hasMadeWay]).toEqual([
    'pending',
    null,
    launched,
    root,
    true,
  ]);
});

test.each(['/next', '/new'])('while there is no keeper an update to %s waits for the next one', async (root) => {
  const rig = await updatable();
  rig.nextKeeper = (from) => {
    if (rig.launched.length === 1) throw new Error('out of memory');
    return from ? rig.installed[from.root].keeper.digest : 'fake';
  };
  rig.keeper.die();
  const only = update(rig, root);
  await rig.turn(10);
  expect([only.state, rig.hasMadeWay]).toEqual(['pending', false]);
  await rig.turn(3_000);
  expect([only.state, only.error, rig.keeper.root, rig.hasMadeWay]).toEqual(['pending', null, root, true]);
});

test('a control that has met no keeper yet waits for one, so that it knows what was up', async () => {
  const rig = await updatable();
  rig.orphans = rig.keeper.alive.map(({ instanceId, pid, startedAtMs, label }) => ({
    instanceId,
    pid,
    startTicks: '1',
    startedAtMs,
    name: 'api',
    id: label.id,
    outPipe: null,
    errPipe: null,
  }));
  rig.keeper.diesAt = 'snapshot';
  rig.nextKeeper = () => {
    if (rig.launched.length === 1) throw new Error('out of memory');
    return 'fake';
  };
  await rig.boot();
  const only = update(rig, '/fake');
  expect([rig.control.keeper, rig.launched.length]).toEqual([null, 1]);
  await rig.turn(3_000);
  expect([only.error, only.result?.slots.map(({ slot, status }) => [slot, status])]).toEqual([
    null,
    [
      [0, 'online'],
      [1, 'online'],
    ],
  ]);
});

test.each(['/next', '/new'])('two updates to %s at once are one, and both are answered', async (root) => {
  const rig = await updatable();
  const tokens = [rig.token(), rig.token()];
  const both = tokens.map((token) => update(rig, root, token));
  await rig.turn();
  expect([asked(rig, 'use-installation').length, rig.launched.length, both.map(({ error }) => error)]).toEqual([
    1,
    root === '/new' ? 1 : 0,
    [null, null],
  ]);

  await bootNext(rig);
  const again = tokens.map((token) => update(rig, root, token));
  await rig.turn();
  expect([again.map(({ state }) => state), rig.hasMadeWay]).toEqual([['done', 'done'], false]);
});

test('of two updates at once that fail both say why', async () => {
  const rig = await updatable();
  const tokens = [rig.token(), rig.token()];
  for (const token of tokens) update(rig, '/next', token);
  await rig.turn();
  await takeBack(rig, 'unready');
  const again = tokens.map((token) => update(rig, '/next', token));
  await rig.turn();
  expect([again.map(({ error }) => error?.code), rig.hasMadeWay]).toEqual([
    ['ERR_NCLUST_UPDATE_FAILED', 'ERR_NCLUST_UPDATE_FAILED'],
    false,
  ]);
});

test('a second update, to another installation, is refused while the first is under way', async () => {
  const rig = await updatable();
  const [first, second] = [update(rig, '/new'), update(rig, '/other')];
  await rig.turn();
  expect(second.error).toMatchObject({
    code: 'ERR_NCLUST_UPDATE_BUSY',
    message: 'Another update, to "/new", is under way.',
  });
  expect([first.state, first.error, rig.keeper.root]).toEqual(['pending', null, '/new']);
});

test('of two updates in turn the last counts: the first does not undo it when it asks again', async () => {
  const rig = await updatable();
  const first = rig.token();
  update(rig, '/next', first);
  await rig.turn();
  await bootNext(rig);
  update(rig, '/other');
  await rig.turn();
  await bootNext(rig);

  const again = update(rig, '/next', first);
  await rig.turn();
  expect([again.error?.code, again.error?.message]).toEqual([
    'ERR_NCLUST_UPDATE_BUSY',
    'A later update, to "/other", replaced this one.',
  ]);
  expect([rig.keeper.root, rig.hasMadeWay]).toEqual(['/other', false]);
});

test.each([
  ['unready', 'did not become ready'],
  ['crashed', 'kept exiting soon after it was ready'],
  ['silent', 'stopped answering soon after it was ready'],
])('a control that was taken back (%s): the command and the list say so, until the next update', async (why, text) => {
  const rig = await updatable();
  const token = rig.token();
  update(rig, '/next', token);
  await rig.turn();
  await takeBack(rig, why);

  const again = update(rig, '/next', token);
  await rig.turn();
  const message = `The manager of "/next" ${text}, so the previous manager keeps running.`;
  expect(again.error).toMatchObject({ code: 'ERR_NCLUST_UPDATE_FAILED', message });
  expect((await rig.call('list')).notices).toEqual([message]);

  update(rig, '/next');
  await rig.turn();
  expect([asked(rig, 'use-installation').length, rig.hasMadeWay]).toEqual([2, true]);
  await bootNext(rig);
  expect((await rig.call('list')).notices).toEqual([]);
});

test('control says that it can be asked whether it is there, and answers', async () => {
  const rig = await updatable();
  rig.control.announceReady();
  rig.keeper.ask();
  await rig.turn();
  expect([asked(rig, 'control-ready').at(-1), asked(rig, 'pong')]).toEqual([{ isAnswering: true }, [{}]]);
});
