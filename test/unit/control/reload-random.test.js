import { expect, test } from 'vitest';
import { createRandom, pickOne } from '../../helpers/random.js';
import { createRig } from './control-rig.js';

const STEPS = 120;
const COUNT = 4;

/** Kinds of app versions. The first instance of a bad version already shows the fault. */
const KINDS = [
  { isGood: true, behaviour: () => ({ listensAfterMs: 10, stopsAfterMs: 40 }) },
  {
    isGood: true,
    behaviour: (random) => ({ listensAfterMs: Math.floor(random() * 80), stopsAfterMs: Math.floor(random() * 200) }),
  },
  { isGood: true, behaviour: () => ({ spawnsAfterMs: 20, listensAfterMs: 5 }) },
  { isGood: true, behaviour: () => ({ bootsAfterMs: 120, listensAfterMs: 150 }) },
  { isGood: false, behaviour: () => ({ exitsAfterMs: 5, code: 1 }) },
  { isGood: false, behaviour: () => ({ listensAfterMs: 5, exitsAfterMs: 60, code: 0 }) },
  { isGood: false, behaviour: () => ({}) },
  { isGood: false, behaviour: () => ({ listensAfterMs: 5, isHung: true }) },
  { isGood: false, behaviour: () => ({ refuses: 'EACCES' }) },
];

const isServing = (child) =>
  !child.exit && child.addresses.length > 0 && !child.isGated && !child.isParked && !child.isRetiring;
const serving = (rig) => rig.keeper.alive.filter(isServing);

/**
 * Adds a fault if control retires or parks a serving instance while no other instance of its slot
 * serves, or if control admits an instance of a bad version.
 */
function watchOver(rig, kinds, faults) {
  rig.keeper.onDone = (verb, { instanceId }) => {
    const child = rig.keeper.children.get(instanceId);
    if (verb === 'admit') child.admittedAtMs = rig.clock.nowMs();
    if (verb === 'admit' && !kinds[child.env.V].isGood)
      faults.push(`${instanceId} of bad version ${child.env.V} was let in`);
    if (verb !== 'retire' && verb !== 'park') return;
    // Ignores an instance that was admitted just now, because control does not know this yet.
    if (child.admittedAtMs === rig.clock.nowMs()) return;
    const wasServing =
      child.addresses.length > 0 && !child.isGated && (verb === 'park' || !child.isParked) && !child.exit;
    if (wasServing && !serving(rig).some((other) => other.label.id === child.label.id))
      faults.push(`${verb} of ${instanceId} left slot ${child.label.slot} alone`);
  };
}

function deeds(kinds) {
  const reload = (rig, random) => {
    kinds.push(pickOne(random, KINDS));
    return rig.call('reload', {
      targets: [pickOne(random, ['api', 'api', 'api', '1'])],
      env: { V: String(kinds.length - 1) },
      spec: { rollbackWindowMs: pickOne(random, [0, 0, 200]), maxSurge: pickOne(random, [1, 2, 3]) },
    });
  };
  const dyingAfter = (steps) => () => steps-- > 0;
  return [
    reload,
    reload,
    async (rig, random) => rig.keeper.exit(pickOne(random, rig.keeper.alive)?.instanceId, { code: 1 }),
    (rig) => rig.boot(),
    (rig, random) => rig.boot(dyingAfter(Math.floor(random() * 15))),
    async () => {},
    async () => {},
  ];
}

test.each(Array.from({ length: 8 }, (_, seed) => seed))(
  'a reload never admits a bad version and forgets no slot, whatever else happens (seed %i)',
  async (seed) => {
    const random = createRandom(700 + seed);
    const rig = createRig({ seed });
    const kinds = [KINDS[0]];
    const faults = [];
    await rig.boot();
    rig.keeper.behave = ({ env }) => kinds[env.V].behaviour(random);
    watchOver(rig, kinds, faults);
    void rig.start({ instances: COUNT, env: { V: '0' }, minUptimeMs: 100, listenTimeoutMs: 300 });
    await rig.turn(500);
    for (let step = 0; step < STEPS; step++) {
      void Promise.resolve(pickOne(random, deeds(kinds))(rig, random)).catch(() => {});
      await rig.turn(Math.floor(random() * 150));
      expect([step, faults]).toEqual([step, []]);
      if (step % 40 !== 39) continue;
      await rig.boot();
      await rig.turn(40_000);
      expect([
        step,
        serving(rig)
          .map(({ label }) => label.slot)
          .sort(),
        rig.keeper.alive.length,
      ]).toEqual([step, [0, 1, 2, 3], COUNT]);
      expect([step, serving(rig).filter(({ env }) => !kinds[env.V].isGood)]).toEqual([step, []]);
    }
    expect(rig.events.filter(({ event }) => event === 'impossible')).toEqual([]);
  },
);
