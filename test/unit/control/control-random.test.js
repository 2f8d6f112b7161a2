import { expect, test } from 'vitest';
import { createRandom, pickOne } from '../../helpers/random.js';
import { FakeKeeper } from '../../helpers/fake-keeper.js';
import { asOrphans, createRig } from './control-rig.js';

const NAMES = ['api', 'web', 'job'];
const STEPS = 250;

function behaviour(random) {
  const chance = random();
  if (chance < 0.05) return { refuses: 'EMFILE' };
  if (chance < 0.15)
    return { exitsAfterMs: Math.floor(random() * 50), code: 1, goneAfterMs: Math.floor(random() * 20) };
  if (chance < 0.2) return { listensAfterMs: 5, exitsAfterMs: 1_500, signal: 'SIGSEGV' };
  if (chance < 0.25) return { stopsAfterMs: 200 };
  if (chance < 0.35) return { spawnsAfterMs: 30, listensAfterMs: 5 };
  if (chance < 0.4) return { listensAfterMs: 5, readyAfterMs: 5, isHung: true };
  if (chance < 0.45) return { listensAfterMs: 5, readyAfterMs: 5, ports: [4000] };
  if (chance < 0.5) return { bootsAfterMs: 40 };
  if (chance < 0.53) return { bootsAfterMs: Infinity };
  return {
    listensAfterMs: Math.floor(random() * 40),
    readyAfterMs: 20,
    stopsAfterMs: Math.floor(random() * 60),
    goneAfterMs: Math.floor(random() * 30),
  };
}

const DEEDS = [
  (rig, random) =>
    rig.start(
      {
        name: pickOne(random, NAMES),
        instances: 1 + Math.floor(random() * 4),
        waitReady: random() < 0.3,
        listenTimeoutMs: 100,
        minUptimeMs: pickOne(random, [30, 1_000]),
        mode: random() < 0.5 ? 'cluster' : 'fork',
        autorestart: random() < 0.9,
      },
      { force: random() < 0.1 },
    ),
  (rig, random) => rig.call('restart', { targets: [pickOne(random, NAMES)] }),
  (rig, random) => rig.call('start', { targets: [pickOne(random, NAMES)] }),
  (rig, random) => reload(rig, random, pickOne(random, NAMES)),
  (rig, random) => reload(rig, random, pickOne(random, NAMES)),
  (rig, random) => reload(rig, random, String(Math.floor(random() * 20))),
  (rig, random) => rig.call('stop', { targets: [pickOne(random, NAMES)] }),
  (rig, random) => rig.call('stop', { targets: [String(Math.floor(random() * 20))] }),
  (rig, random) => rig.call('delete', { targets: [pickOne(random, NAMES)] }),
  (rig, random) =>
    rig.call('scale', { target: pickOne(random, NAMES), instances: pickOne(random, ['1', '5', '+2', '-1', 'max']) }),
  (rig, random) => crash(rig, random),
  (rig, random) => crash(rig, random),
  (rig) => rig.boot(),
  (rig) => (rig.isDoomed ? bothDie(rig) : leaveOrphans(rig)),
  (rig) => bothDie(rig),
  (rig, random) => rig.boot(dyingAfter(Math.floor(random() * 12))),
];

function reload(rig, random, target) {
  const spec = {
    rollbackWindowMs: pickOne(random, [0, 0, 300]),
    maxSurge: pickOne(random, [0, 1, 1, 2]),
    maxUnavailable: pickOne(random, [0, 0, 1]),
  };
  return rig.call('reload', { targets: [target], env: random() < 0.5 ? { V: String(random()) } : {}, spec });
}

async function crash(rig, random) {
  const victim = pickOne(random, rig.keeper.alive);
  if (victim)
    rig.keeper.exit(victim.instanceId, random() < 0.5 ? { signal: 'SIGKILL' } : { code: Math.floor(random() * 3) });
}

function leaveOrphans(rig) {
  rig.orphans = asOrphans(rig.keeper.alive);
  rig.keeper.die();
}

async function bothDie(rig) {
  rig.control.close();
  leaveOrphans(rig);
  rig.keeper = new FakeKeeper(rig.clock, { firstPid: 9000 });
  await rig.boot();
}

function dyingAfter(steps) {
  let left = steps;
  return () => left-- > 0;
}

/** Waits longer than every back-off and drain. */
async function calmDown(rig) {
  rig.keeper.behave = () => ({ listensAfterMs: 5, readyAfterMs: 5 });
  await rig.boot();
  await rig.turn(40_000);
}

test.each(Array.from({ length: 6 }, (_, seed) => seed))(
  'the wanted instances run after any operations (seed %i)',
  async (seed) => {
    const random = createRandom(seed);
    const rig = createRig({ seed });
    await rig.boot();
    for (let step = 0; step < STEPS; step++) {
      rig.keeper.behave = () => behaviour(random);
      // Some operations are refused, and some never complete. This does not matter here.
      void Promise.resolve(pickOne(random, DEEDS)(rig, random)).catch(() => {});
      await rig.turn(Math.floor(random() * 80));
      if (step % 50 !== 49) continue;
      await calmDown(rig);
      expect([step, rig.running()]).toEqual([step, rig.wanted()]);
      expect([step, rig.keeper.alive.length, rig.control.registry.seats.size]).toEqual([
        step,
        rig.wanted().length,
        rig.wanted().length,
      ]);
      expect([step, rig.keeper.alive.filter(({ isGated, isParked }) => isGated || isParked)]).toEqual([step, []]);
      expect([
        step,
        rig.control.registry.desired.apps.filter(
          ({ rollout, previous = [], slots }) =>
            rollout.isGuarded || previous.length >= slots.length || slots.some((slot) => slot.former),
        ),
      ]).toEqual([step, []]);
      expect([step, (await rig.list()).filter(({ status }) => status !== 'online' && status !== 'stopped')]).toEqual([
        step,
        [],
      ]);
    }
    expect(rig.events.filter(({ event }) => event === 'impossible' || event === 'keeper-refused')).toEqual([]);
  },
);
