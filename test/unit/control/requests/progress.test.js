import { beforeEach, expect, test } from 'vitest';
import { createRig, watch } from '../control-rig.js';

let rig;

beforeEach(async () => {
  rig = createRig();
  await rig.boot();
});

const brief = () =>
  rig.published.map(({ done, total, waiting }) => [
    `${done}/${total}`,
    waiting.map(({ slot, phase }) => `${slot} ${phase}`).join(', '),
  ]);

test('a reload reports which instance is doing what, and for how long', async () => {
  rig.keeper.behave = () => ({ listensAfterMs: 200, stopsAfterMs: 400 });
  void rig.start({ instances: 2 });
  await rig.turn(5_000);
  const request = watch(rig.call('reload', { targets: ['api'], progress: true, token: 'mine' }));
  await rig.turn(3_000);
  expect(request.state).toBe('done');
  expect(brief()).toEqual([
    // Each phase of a new instance is reported again when its deadline is set or has passed.
    ['0/2', '0 starting'],
    ['0/2', '0 starting'],
    ['0/2', '0 soaking'],
    ['0/2', '0 soaking'],
    ['0/2', '0 draining, 1 starting'],
    ['0/2', '0 draining, 1 starting'],
    ['0/2', '0 draining, 1 draining'],
    ['1/2', '1 draining'],
  ]);
  expect(rig.published[0]).toEqual({
    kind: 'progress',
    token: 'mine',
    done: 0,
    total: 2,
    waiting: [
      {
        id: 0,
        name: 'api',
        slot: 0,
        phase: 'starting',
        forMs: 0,
        untilMs: null,
        leftMs: null,
        detail: 'it did not listen on [::]:3000',
      },
    ],
  });
});

test('a reload reports how long parked instances stay', async () => {
  void rig.start({ rollbackWindowMs: 20_000 });
  await rig.turn(5_000);
  watch(rig.call('reload', { targets: ['api'], progress: true }));
  await rig.turn(2_000);
  expect(rig.published.at(-1)).toMatchObject({
    done: 0,
    total: 1,
    waiting: [{ phase: 'parked', leftMs: 19_900, detail: null }],
  });
});

test.each([
  ['start', (rig) => rig.start({ instances: 2 }, { progress: true }), '0/2', 'starting'],
  ['stop', (rig) => rig.call('stop', { targets: ['other'], progress: true }), '0/1', 'draining'],
  ['delete', (rig) => rig.call('delete', { targets: ['other'], progress: true }), '0/1', 'draining'],
  ['restart', (rig) => rig.call('restart', { targets: ['other'], progress: true }), '0/1', 'draining'],
  ['scale', (rig) => rig.call('scale', { target: 'other', instances: '3', progress: true }), '0/2', 'starting'],
])('%s reports its progress on request', async (_method, call, count, phase) => {
  rig.keeper.behave = () => ({ listensAfterMs: 200, stopsAfterMs: 400 });
  void rig.start({ name: 'other' });
  await rig.turn(2_000);
  expect(rig.published).toEqual([]);
  const request = watch(call(rig));
  await rig.turn(50);
  expect([`${rig.published[0].done}/${rig.published[0].total}`, rig.published[0].waiting[0].phase]).toEqual([
    count,
    phase,
  ]);
  await rig.turn(2_000);
  expect(request.state).toBe('done');
});

test('a client gets at most ten reports a second', async () => {
  void rig.start({ instances: 60 }, { progress: true });
  let steps = 0;
  for (; steps < 20; steps++) {
    rig.keeper.behave = () => ({ listensAfterMs: steps });
    await rig.turn(10);
  }
  expect(rig.published.length).toBeLessThanOrEqual(3);
});
