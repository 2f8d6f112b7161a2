import { expect, test } from 'vitest';
import { createRandom, pickOne } from '../../helpers/random.js';
import { createRig, watch } from './control-rig.js';

const STEPS = 60;
const NAMES = ['api', 'web'];
/** Longer than any command waits, because commands do not wait for back-offs. */
const PATIENCE_MS = 60_000;

const CODES = [
  () => ({ listensAfterMs: 10, readyAfterMs: 10, stopsAfterMs: 40 }),
  () => ({ listensAfterMs: 10, readyAfterMs: 10, stopsAfterMs: 40 }),
  () => ({ exitsAfterMs: 5, code: 3 }),
  () => ({ listensAfterMs: 5, readyAfterMs: 5, exitsAfterMs: 700, code: 1 }),
  () => ({ listensAfterMs: 5, readyAfterMs: 5, isHung: true }),
  () => ({ bootsAfterMs: Infinity }),
  () => ({}),
  () => ({ refuses: 'EACCES' }),
  ({ label }) => ({ listensAfterMs: 5, readyAfterMs: 5, ...(label.slot === 1 ? { exitsAfterMs: 20, code: 1 } : {}) }),
  () => ({ exitsAfterMs: 20, code: 0 }),
];

const target = (random) => pickOne(random, [...NAMES, ...NAMES, 'all', '0', '1', '2']);
const rollout = (random) => ({
  rollbackWindowMs: pickOne(random, [0, 0, 300]),
  maxSurge: pickOne(random, [0, 1, 2]),
  maxUnavailable: pickOne(random, [0, 1]),
});

const COMMANDS = [
  (rig, random) => [
    'start',
    rig.start(
      {
        name: pickOne(random, NAMES),
        instances: 1 + Math.floor(random() * 3),
        mode: pickOne(random, ['cluster', 'fork']),
        waitReady: random() < 0.2,
        listenTimeoutMs: 200,
        minUptimeMs: pickOne(random, [30, 1_000]),
        maxRestarts: pickOne(random, [2, 16]),
        autorestart: random() < 0.9,
      },
      { force: random() < 0.2 },
    ),
  ],
  ...['restart', 'restart', 'start', 'stop', 'delete'].map((name) => (rig, random) => [
    name,
    rig.call(name, { targets: [target(random)] }),
  ]),
  ...Array(4).fill((rig, random) => [
    'reload',
    rig.call('reload', {
      targets: [target(random)],
      env: random() < 0.5 ? { V: String(random()) } : {},
      spec: rollout(random),
    }),
  ]),
  (rig, random) => [
    'scale',
    rig.call('scale', { target: pickOne(random, NAMES), instances: pickOne(random, ['1', '3', '+1', '-1']) }),
  ],
];

function crash(rig, random) {
  const victim = pickOne(random, rig.keeper.alive);
  if (victim) rig.keeper.exit(victim.instanceId, { signal: 'SIGKILL' });
}

test.each(Array.from({ length: 20 }, (_, seed) => seed))(
  'every command is answered, whatever the code does and whatever was requested before (seed %i)',
  async (seed) => {
    const random = createRandom(4_000 + seed);
    const rig = createRig({ seed });
    await rig.boot();
    rig.keeper.behave = CODES[0];
    const asked = [];
    for (let step = 0; step < STEPS; step += 1) {
      if (random() < 0.3) rig.keeper.behave = pickOne(random, CODES);
      if (random() < 0.2) crash(rig, random);
      const [name, answer] = pickOne(random, COMMANDS)(rig, random);
      asked.push({ step, name, request: watch(answer) });
      await rig.turn(pickOne(random, [0, 10, 300, 2_000, 10_000]));
      if (step % 10 !== 9) continue;
      await rig.turn(PATIENCE_MS);
      expect(
        asked.filter(({ request }) => request.state === 'pending').map(({ step: at, name: what }) => [at, what]),
      ).toEqual([]);
    }
  },
);

const WELL = { listensAfterMs: 10, stopsAfterMs: 40 };
const SLOW = { ...WELL, stopsAfterMs: 5_000 };

async function running(fields, behaviour) {
  const rig = createRig();
  await rig.boot();
  rig.keeper.behave = () => behaviour;
  void rig.start({ mode: 'cluster', ...fields });
  await rig.turn(5_000);
  return rig;
}

test('a start is answered though one instance has finished its work and another command restarts it', async () => {
  const rig = await running({ instances: 2, autorestart: false }, SLOW);
  void rig.call('stop', { targets: ['1'] });
  await rig.turn(10_000);
  rig.keeper.behave = () => WELL;
  const start = watch(rig.call('start', { targets: ['api'] }));
  await rig.turn(2_000);
  rig.keeper.exit(rig.keeper.alive.find(({ label }) => label.id === 1).instanceId, { code: 0 });
  await rig.turn(100);
  void rig.call('start', { targets: ['1'] });
  await rig.turn(100);
  expect(start.state).toBe('pending');
  await rig.turn(20_000);
  expect([start.state, rig.running()]).toEqual(['done', ['api/0', 'api/1']]);
});

test('a reload is answered once it is done, though a later restart by another client is not', async () => {
  const rig = await running({ instances: 2 }, SLOW);
  rig.keeper.behave = () => WELL;
  const reload = watch(rig.call('reload', { targets: ['1'] }));
  await rig.turn(3_000);
  rig.keeper.behave = () => ({ exitsAfterMs: 5, code: 3 });
  const restart = watch(rig.call('restart', { targets: ['api'] }));
  await rig.turn(10_000);
  expect([reload.state, restart.state, rig.keeper.alive.map(({ label }) => [label.id, label.generation])]).toEqual([
    'done',
    'failed',
    [[1, 2]],
  ]);
});

test('a halted reload is answered, though another command came before all old instances were back', async () => {
  const rig = await running({ instances: 2, minUptimeMs: 10_000, listenTimeoutMs: 20_000 }, WELL);
  await rig.turn(20_000);
  rig.keeper.behave = ({ label }) =>
    label.generation === 2 ? { exitsAfterMs: 5, code: 3 } : { listensAfterMs: 3_000, stopsAfterMs: 40 };
  const reload = watch(rig.call('reload', { targets: ['api'], spec: { maxSurge: 0, maxUnavailable: 1 } }));
  await rig.turn(1_000);
  expect([reload.state, rig.control.registry.desired.apps[0].rollout.failure?.kind]).toEqual(['pending', 'halted']);
  void rig.call('restart', { targets: ['1'] });
  await rig.turn(60_000);
  expect(reload.error).toMatchObject({ code: 'ERR_NCLUST_NOT_UP', exitStatus: 1 });
  expect(reload.error.message).toContain('was rolled back, and another command has changed it since');
  expect(rig.running()).toEqual(['api/0', 'api/1']);
});
