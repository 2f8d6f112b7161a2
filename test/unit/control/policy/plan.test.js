import { describe, expect, test } from 'vitest';
import { createRandom, pickOne } from '../../../helpers/random.js';
import { plan } from '../../../../daemon/control/policy/plan.js';

const seat = (id, generation, state, more = {}) => ({
  id,
  generation,
  state,
  hasFailed: false,
  isClosing: false,
  comesBack: false,
  ...more,
});
const slots = (count, generation, want = 'up') => Array.from({ length: count }, (_, id) => ({ id, want, generation }));
const stopFirst = (count) => ({ maxSurge: 0, maxUnavailable: Math.ceil(count / 2) });
const besides = { maxSurge: 1, maxUnavailable: 0 };
const ids = (actions, what) => actions.filter((action) => action.do === what).map(({ id }) => id);

test('the plan starts all missing instances at once', () => {
  const actions = plan({ slots: slots(3, 1), rollout: besides }, []);
  expect(ids(actions, 'start')).toEqual([0, 1, 2]);
});

test.each(['starting', 'up', 'backoff', 'failed'])('the plan stops a seat that is %s and not wanted', (state) => {
  expect(plan({ slots: [], rollout: besides }, [seat(9, 1, state)])).toEqual([
    { do: 'stop', id: 9, generation: 1, drain: 'finish' },
  ]);
  expect(ids(plan({ slots: slots(1, 1, 'down'), rollout: besides }, [seat(0, 1, state)]), 'stop')).toEqual([0]);
});

test('the plan leaves a stopping seat alone, unless it would come back', () => {
  expect(plan({ slots: [], rollout: besides }, [seat(0, 1, 'stopping')])).toEqual([]);
  expect(ids(plan({ slots: [], rollout: besides }, [seat(0, 1, 'stopping', { comesBack: true })]), 'stop')).toEqual([
    0,
  ]);
});

test('a restart takes half of the instances down at a time, and hands their clients to the others', () => {
  const actions = plan(
    { slots: slots(4, 2), rollout: stopFirst(4) },
    [0, 1, 2, 3].map((id) => seat(id, 1, 'up')),
  );
  expect(actions).toEqual([
    { do: 'stop', id: 0, generation: 1, drain: 'handover' },
    { do: 'stop', id: 1, generation: 1, drain: 'handover' },
  ]);
});

test('a restart of a single instance stops it first and starts when the old one has exited', () => {
  const goal = { slots: slots(1, 2), rollout: stopFirst(1) };
  expect(plan(goal, [seat(0, 1, 'up')])).toEqual([{ do: 'stop', id: 0, generation: 1, drain: 'finish' }]);
  expect(plan(goal, [seat(0, 1, 'stopping')])).toEqual([]);
  expect(plan(goal, [])).toEqual([{ do: 'start', id: 0, generation: 2 }]);
});

test('a slot starts only after the surplus orphans of the slot, and other slots do not wait', () => {
  const goal = { slots: slots(2, 2).map((slot) => ({ ...slot, isOccupied: slot.id === 0 })), rollout: besides };
  expect(plan(goal, [])).toEqual([{ do: 'start', id: 1, generation: 2 }]);
});

test('an instance without a channel stops before its successor starts', () => {
  const goal = { slots: slots(2, 2), rollout: besides };
  const other = seat(1, 2, 'up');
  expect(plan(goal, [seat(0, 1, 'up', { isAlone: true }), other])).toEqual([
    { do: 'stop', id: 0, generation: 1, drain: 'handover' },
  ]);
  expect(plan(goal, [seat(0, 1, 'stopping', { isAlone: true }), other])).toEqual([]);
  expect(plan(goal, [other])).toEqual([{ do: 'start', id: 0, generation: 2 }]);
});

test('an old instance without a channel stays while the canary of another slot is tried', () => {
  const former = { want: 'up', generation: 1 };
  const goal = {
    slots: slots(2, 2).map((slot) => ({ ...slot, former })),
    rollout: { ...besides, isGuarded: true },
  };
  const others = [seat(1, 1, 'up'), seat(1, 2, 'starting')];
  expect(plan(goal, others)).toEqual([{ do: 'start', id: 0, generation: 1 }]);
  expect(plan(goal, [seat(0, 1, 'starting', { isAlone: true }), ...others])).toEqual([]);
});

test('the plan takes no more instances down while a new one is not up', () => {
  const goal = { slots: slots(4, 2), rollout: stopFirst(4) };
  for (const state of ['starting', 'backoff', 'failed']) {
    expect(plan(goal, [seat(0, 2, 'up'), seat(1, 2, state), seat(2, 1, 'up'), seat(3, 1, 'up')])).toEqual([]);
  }
});

test.each(['backoff', 'failed'])(
  'a slot that is restarted alone does not wait for another slot that is in %s and has no change',
  (state) => {
    const goal = (rollout) => ({ slots: [...slots(1, 1), { id: 1, want: 'up', generation: 2 }], rollout });
    const broken = seat(0, 1, state, { hasFailed: true });
    expect(plan(goal(stopFirst(2)), [broken, seat(1, 1, 'up')])).toEqual([
      { do: 'stop', id: 1, generation: 1, drain: 'finish' },
    ]);
    expect(plan(goal(besides), [broken, seat(1, 1, 'up')])).toEqual([{ do: 'start', id: 1, generation: 2 }]);
    // The plan waits for an instance that is about to be up.
    expect(plan(goal(stopFirst(2)), [seat(0, 1, 'starting'), seat(1, 1, 'up')])).toEqual([]);
  },
);

test('a replacement is started beside the old one, which leaves when the new one is up', () => {
  const goal = { slots: slots(2, 2), rollout: besides };
  const old = [seat(0, 1, 'up'), seat(1, 1, 'up')];
  expect(plan(goal, old)).toEqual([{ do: 'start', id: 0, generation: 2 }]);
  expect(plan(goal, [...old, seat(0, 2, 'starting')])).toEqual([]);
  expect(plan(goal, [...old, seat(0, 2, 'up')])).toEqual([
    { do: 'stop', id: 0, generation: 1, drain: 'handover' },
    { do: 'start', id: 1, generation: 2 },
  ]);
});

test('a replacement that fails stops the rollout and leaves the old ones serving', () => {
  const goal = { slots: slots(2, 2), rollout: besides };
  const old = [seat(0, 1, 'up'), seat(1, 1, 'up')];
  for (const failing of [
    seat(0, 2, 'backoff', { hasFailed: true }),
    seat(0, 2, 'failed'),
    seat(0, 2, 'starting', { hasFailed: true }),
  ])
    expect(plan(goal, [...old, failing])).toEqual([]);
});

test('old seats that do not serve are replaced without using up the surge', () => {
  const actions = plan({ slots: slots(3, 2), rollout: besides }, [
    seat(0, 1, 'backoff'),
    seat(1, 1, 'failed'),
    seat(2, 1, 'starting'),
  ]);
  expect(ids(actions, 'stop')).toEqual([0, 1, 2]);
  expect(ids(actions, 'start')).toEqual([0, 1]);
});

test('nothing starts while a seat whose sockets are released with it is still there', () => {
  expect(plan({ slots: slots(1, 2), rollout: besides }, [seat(7, 1, 'stopping', { isClosing: true })])).toEqual([]);
});

const below = (random, limit) => Math.floor(random() * limit);

/** Carries out the actions of each plan. A seat that is starting may become up, or may fail. */
function simulate(random, { count, rollout, failsAlways = false, crashes = true }) {
  const goal = { slots: slots(count, 2), rollout };
  let seats = goal.slots.map(({ id }) => seat(id, 1, 'up'));
  const upSlots = () => new Set(seats.filter(({ state }) => state === 'up').map(({ id }) => id)).size;
  let fewest = count;
  let most = count;
  for (let round = 0; round < 400; round++) {
    for (const action of plan(goal, seats)) {
      const found = seats.find(({ id, generation }) => id === action.id && generation === action.generation);
      if (action.do === 'start') {
        expect(found).toBeUndefined();
        seats.push(seat(action.id, action.generation, 'starting'));
      } else if (found.state === 'backoff' || found.state === 'failed') seats = seats.filter((one) => one !== found);
      else found.state = 'stopping';
    }
    fewest = Math.min(fewest, upSlots());
    most = Math.max(most, seats.length);
    const one = pickOne(random, seats);
    if (!one) continue;
    if (one.state === 'stopping') seats = seats.filter((other) => other !== one);
    else if (one.state === 'backoff') one.state = 'starting';
    else if (one.state === 'starting')
      Object.assign(
        one,
        failsAlways || (crashes && below(random, 4) === 0)
          ? { state: 'backoff', hasFailed: true }
          : { state: 'up', hasFailed: false },
      );
  }
  return { seats, fewest, most };
}

test('a plan that keeps old and new apart stops all old ones at once, and starts none before all have exited', () => {
  const goal = { slots: [...slots(3, 2)], rollout: { maxSurge: 0, maxUnavailable: 1, isClearedFirst: true } };
  expect(ids(plan(goal, [seat(0, 1, 'up'), seat(1, 1, 'backoff')]), 'stop')).toEqual([0, 1]);
  expect(plan(goal, [seat(0, 1, 'stopping')])).toEqual([]);
  expect(plan(goal, [seat(9, 1, 'stopping')])).toEqual([]);
  expect(ids(plan(goal, []), 'start')).toEqual([0, 1, 2]);
  expect(ids(plan(goal, [seat(0, 2, 'up')]), 'start')).toEqual([1, 2]);
});

test.each(Array.from({ length: 60 }, (_, seed) => seed))(
  'rollouts converge within their numbers, whatever the order of events (seed %i)',
  (seed) => {
    const random = createRandom(seed);
    const count = 1 + below(random, 6);
    const maxSurge = below(random, 3);
    const maxUnavailable = below(random, count + 1);
    const { seats, fewest, most } = simulate(random, { count, rollout: { maxSurge, maxUnavailable } });
    expect(seats.map(({ id, generation, state }) => [id, generation, state]).sort()).toEqual(
      slots(count, 2).map(({ id }) => [id, 2, 'up']),
    );
    expect(fewest).toBeGreaterThanOrEqual(count - (maxSurge === 0 ? Math.max(1, maxUnavailable) : maxUnavailable));
    expect(most).toBeLessThanOrEqual(count * 2);
  },
);

test.each(Array.from({ length: 30 }, (_, seed) => seed))(
  'a rollout of code that never becomes ready stops where it is (seed %i)',
  (seed) => {
    const random = createRandom(1_000 + seed);
    const count = 1 + below(random, 6);
    const maxSurge = below(random, 2);
    const maxUnavailable = maxSurge === 1 ? 0 : Math.ceil(count / 2);
    const { seats } = simulate(random, { count, rollout: { maxSurge, maxUnavailable }, failsAlways: true });
    expect(seats.filter(({ generation, state }) => generation === 1 && state === 'up')).toHaveLength(
      count - maxUnavailable,
    );
  },
);

describe('a guarded rollout', () => {
  const guarded = { ...besides, isGuarded: true };
  const renewed = (count) => slots(count, 2).map((slot) => ({ ...slot, former: { want: 'up', generation: 1 } }));
  const old = (count) => Array.from({ length: count }, (_, id) => seat(id, 1, 'up'));

  const states = ['starting', 'soaking', 'entering', 'stopping', 'failed'];

  test.each([1, 2, 3, 9])('a rollout starts as many new seats as maxSurge allows, %i, and stops none', (maxSurge) => {
    const actions = plan({ slots: renewed(4), rollout: { ...guarded, maxSurge, maxUnavailable: 3 } }, old(4));
    expect(actions).toEqual([0, 1, 2, 3].slice(0, maxSurge).map((id) => ({ do: 'start', id, generation: 2 })));
  });

  test('a guarded rollout changes nothing while its new seats are on probation', () => {
    for (const state of states)
      expect(plan({ slots: renewed(4), rollout: guarded }, [...old(4), seat(0, 2, state)])).toEqual([]);
    for (const state of states)
      expect(
        plan({ slots: renewed(4), rollout: { ...guarded, maxSurge: 3 } }, [
          ...old(4),
          seat(0, 2, 'soaking'),
          seat(1, 2, state),
          seat(2, 2, 'starting'),
        ]),
      ).toEqual([]);
  });

  test('a guarded rollout that was interrupted tries as many as are missing, but none beside one that fails', () => {
    const rollout = { ...guarded, maxSurge: 3 };
    expect(plan({ slots: renewed(4), rollout }, [...old(4), seat(0, 2, 'soaking')])).toEqual([
      { do: 'start', id: 1, generation: 2 },
      { do: 'start', id: 2, generation: 2 },
    ]);
    for (const state of ['stopping', 'failed'])
      expect(plan({ slots: renewed(4), rollout }, [...old(4), seat(0, 2, state)])).toEqual([]);
    // The old seat of the canary's slot is gone.
    expect(plan({ slots: renewed(3), rollout: guarded }, [...old(3).slice(1), seat(0, 2, 'starting')])).toEqual([]);
  });

  test('a guarded rollout continues within its numbers when the canary is up', () => {
    const actions = plan({ slots: renewed(4), rollout: { ...guarded, maxSurge: 2 } }, [...old(4), seat(0, 2, 'up')]);
    expect(actions).toEqual([
      { do: 'stop', id: 0, generation: 1, drain: 'handover' },
      { do: 'start', id: 1, generation: 2 },
      { do: 'start', id: 2, generation: 2 },
    ]);
  });

  test('a guarded rollout without room for a surge takes one seat down for the canary, and only one', () => {
    const rollout = { maxSurge: 0, maxUnavailable: 3, isGuarded: true };
    expect(plan({ slots: renewed(4), rollout }, old(4))).toEqual([
      { do: 'stop', id: 0, generation: 1, drain: 'handover' },
    ]);
    expect(plan({ slots: renewed(4), rollout }, [seat(0, 1, 'stopping'), ...old(4).slice(1)])).toEqual([]);
    expect(plan({ slots: renewed(4), rollout }, old(4).slice(1))).toEqual([{ do: 'start', id: 0, generation: 2 }]);
  });

  test('a guarded rollout restores an old seat that was lost', () => {
    expect(plan({ slots: renewed(3), rollout: guarded }, [...old(2), seat(0, 2, 'starting')])).toEqual([
      { do: 'start', id: 2, generation: 1 },
    ]);
  });

  test('a guarded rollout leaves old seats that crash to their restart policy', () => {
    for (const state of ['starting', 'backoff', 'failed'])
      expect(
        plan({ slots: renewed(2), rollout: guarded }, [seat(0, 1, 'up'), seat(1, 1, state), seat(0, 2, 'starting')]),
      ).toEqual([]);
  });

  test('a guarded rollout parks only the seats that it replaces while a rollback window is wanted', () => {
    const seats = [...old(2), seat(0, 2, 'up'), seat(0, 0, 'parked')];
    expect(plan({ slots: renewed(2), rollout: { ...guarded, windowMs: 1 } }, seats)).toEqual([
      { do: 'park', id: 0, generation: 1 },
      { do: 'stop', id: 0, generation: 0, drain: 'handover' },
      { do: 'start', id: 1, generation: 2 },
    ]);
  });

  test('a guarded rollout that was rolled back takes parked seats back before the new ones stop', () => {
    const goal = { slots: slots(2, 1), rollout: { ...besides, maxSurge: 2 } };
    const renewedSeats = [seat(0, 2, 'up'), seat(1, 2, 'up')];
    expect(plan(goal, [seat(0, 1, 'parked'), seat(1, 1, 'parked'), ...renewedSeats])).toEqual([
      { do: 'takeBack', id: 0, generation: 1 },
      { do: 'takeBack', id: 1, generation: 1 },
    ]);
    expect(plan(goal, [seat(0, 1, 'entering'), seat(1, 1, 'entering'), ...renewedSeats])).toEqual([]);
    expect(ids(plan(goal, [seat(0, 1, 'up'), seat(1, 1, 'entering'), ...renewedSeats]), 'stop')).toEqual([0]);
  });

  test('a guarded rollout that was given up leaves none of its seats that is not up', () => {
    const goal = { slots: slots(1, 1), rollout: besides };
    for (const state of ['starting', 'soaking', 'entering'])
      expect(plan(goal, [seat(0, 1, 'starting'), seat(0, 2, state)])).toEqual([
        { do: 'stop', id: 0, generation: 2, drain: 'finish' },
      ]);
  });
});
