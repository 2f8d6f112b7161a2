import { expect, test } from 'vitest';
import { NclustError } from '../../../../lib/shared/errors.js';
import { asOrphans, createRig, watch } from '../control-rig.js';

const installation = (control, keeper) => ({
  control: { version: '2.0.0', digest: control },
  keeper: { version: '2.0.0', digest: keeper },
});

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

async function bootNext(rig) {
  const { root } = rig.keeper;
  rig.own = { root, node: process.execPath, digest: rig.installed[root].control.digest };
  await rig.boot();
}

async function takeBack(rig, why) {
  Object.assign(rig.keeper, { refusedRoot: rig.keeper.root, refusedWhy: why, root: '/fake' });
  await bootNext(rig);
}

const asked = (rig, verb) => rig.keeper.requests.filter((request) => request.verb === verb).map(({ params }) => params);

test('an update of control alone gives the keeper the new root, and the next control answers', async () => {
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

test('an update of the keeper replaces it by the new installation, which learns what to go back to', async () => {
  const rig = await updatable();
  const old = rig.keeper;
  const first = update(rig, '/new');
  await rig.turn();

  expect(old.requests.at(-1)).toEqual({ verb: 'abdicate', params: {} });
  expect([rig.launched, first.state, rig.hasMadeWay]).toEqual([['/new'], 'pending', true]);
  expect(asked(rig, 'use-installation')).toEqual([{ root: '/new', before: '/fake' }]);
});

test('an update without changes answers at once, and sends the keeper no request', async () => {
  const rig = await updatable();
  const before = rig.keeper.requests.length;
  const only = update(rig, '/fake');
  await rig.turn();
  expect([only.state, rig.keeper.requests.length, rig.hasMadeWay]).toEqual(['done', before, false]);
});

test('an installation that cannot run replaces nothing', async () => {
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

test('a keeper that refuses to exit is not replaced, and control keeps working with it', async () => {
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

test('a keeper of the running version takes over when the new one fails to start, and update reports it', async () => {
  const rig = await updatable();
  rig.nextKeeper = (from) => {
    if (from) throw new Error('the keeper exited at once (7)');
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

test('update fails, and does not wait forever, if no keeper can be started', async () => {
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
])(
  'if the keeper dies during %s, update asks the next keeper, or accepts it as the new one',
  async (verb, root, launched) => {
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
  },
);

test.each(['/next', '/new'])('an update to %s waits for the next keeper if there is none', async (root) => {
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

test('a control without a keeper waits for one before an update, so that it knows which apps were up', async () => {
  const rig = await updatable();
  rig.orphans = asOrphans(rig.keeper.alive);
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

test.each(['/next', '/new'])('two simultaneous updates to %s become one, and both are answered', async (root) => {
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

test('two simultaneous updates that fail both report the reason', async () => {
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

test('a second update, to another installation, is refused while the first is in progress', async () => {
  const rig = await updatable();
  const [first, second] = [update(rig, '/new'), update(rig, '/other')];
  await rig.turn();
  expect(second.error).toMatchObject({
    code: 'ERR_NCLUST_UPDATE_BUSY',
    message: 'Another update, to "/new", is under way.',
  });
  expect([first.state, first.error, rig.keeper.root]).toEqual(['pending', null, '/new']);
});

test('the later of two updates wins: the first does not undo it when it is repeated', async () => {
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
])('the command and the list report a control that was taken back (%s), until the next update', async (why, text) => {
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

test('control announces to the keeper that it answers pings, and answers them', async () => {
  const rig = await updatable();
  rig.control.session.announceReady();
  rig.keeper.ask();
  await rig.turn();
  expect([asked(rig, 'control-ready').at(-1), asked(rig, 'pong')]).toEqual([{ isAnswering: true }, [{}]]);
});
