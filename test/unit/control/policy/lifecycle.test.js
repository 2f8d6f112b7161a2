import { describe, expect, test } from 'vitest';
import { next, TABLE } from '../../../../daemon/control/policy/lifecycle.js';
import { EVENTS, newLife, STATES } from '../../../../daemon/control/policy/seat.js';
import { makeSpec } from '../make-spec.js';

const asked = { cause: 'stop', by: 'stop' };

const EXAMPLES = {
  start: { type: 'start' },
  stop: { type: 'stop', asked, drain: 'finish' },
  spawned: { type: 'spawned', startedAtMs: 1_000 },
  booted: { type: 'booted' },
  refused: { type: 'refused' },
  ready: { type: 'ready' },
  exited: { type: 'exited', code: 1, uptimeMs: 10 },
  gone: { type: 'gone' },
  timer: { type: 'timer' },
  listenFailed: { type: 'listenFailed' },
  answered: { type: 'answered' },
  silent: { type: 'silent' },
  looked: { type: 'looked' },
  admitted: { type: 'admitted' },
  park: { type: 'park' },
  takeBack: { type: 'takeBack' },
};

const open = {
  isOnProbation: false,
  gate: 'open',
  missing: null,
  isLoading: false,
  mayBeLoading: true,
  isProgressing: null,
  mayListenOutside: true,
  isAlone: false,
  startedAtMs: 1_000,
  bootedAtMs: 1_000,
};
const late = { ...open, missing: 'it did not send "ready"', startedAtMs: -10_000, isProgressing: false };
const canary = { isOnProbation: true, gate: 'canary', missing: null, startedAtMs: 1_000, bootedAtMs: 1_000 };

const unheard = {
  ...open,
  missing: 'it could not listen on port 80',
  cannotListen: true,
  isAddressRefused: true,
  mayBeLoading: false,
};

const readinesses = [
  open,
  late,
  unheard,
  canary,
  { ...canary, gate: 'gated' },
  { ...canary, missing: 'it did not listen' },
];

const contexts = [true, false].flatMap((isWanted) =>
  [true, false].flatMap((autorestart) =>
    readinesses.map((readiness) => ({
      isWanted,
      readiness,
      nowMs: 5_000,
      policy: makeSpec({ autorestart }),
    })),
  ),
);

const cells = STATES.flatMap((state) => EVENTS.map((event) => [state, event]));

const lifeIn = (state) => ({ ...newLife(), state, asked: state === 'stopping' ? asked : null });

test.each(cells)(
  '%s has a cell for %s, which is pure and leads to a known state with known effects',
  (state, event) => {
    expect(TABLE[state][event]).toBeTypeOf('function');
    for (const context of contexts) {
      const life = lifeIn(state);
      const before = structuredClone(life);
      const step = next(life, EXAMPLES[event], context);
      expect(life).toEqual(before);
      expect(STATES).toContain(step.life.state);
      for (const effect of step.effects)
        expect([
          'spawn',
          'retire',
          'setTimer',
          'clearTimer',
          'look',
          'ping',
          'admit',
          'park',
          'unpark',
          'ended',
          'bug',
        ]).toContain(effect.type);
      expect(step.life.asked === null).toBe(step.life.state !== 'stopping');
    }
  },
);

test('the table has no other states and no other events', () => {
  expect(Object.keys(TABLE)).toEqual([...STATES]);
  for (const row of Object.values(TABLE)) expect(Object.keys(row)).toEqual([...EVENTS]);
});

test.each(STATES)('stop reaches down from %s in at most three events, whatever the keeper answers', (state) => {
  for (const context of contexts.filter(({ isWanted }) => !isWanted)) {
    for (const cause of state === 'stopping' ? ['stop', 'boot-timeout'] : ['none']) {
      const life = { ...lifeIn(state), asked: state === 'stopping' ? { cause, by: null } : null };
      for (const answers of [
        ['exited', 'gone'],
        ['refused'],
        ['spawned', 'exited', 'gone'],
        ['ready', 'exited', 'gone'],
      ]) {
        let at = next(life, EXAMPLES.stop, context).life;
        for (const event of answers) if (at.state === 'stopping') at = next(at, EXAMPLES[event], context).life;
        expect(at.state).toBe('down');
      }
    }
  }
});

test('a seat that stops for good stays down, and one that missed its boot deadline gets another try', () => {
  const context = { isWanted: true, readiness: late, nowMs: 5_000, policy: makeSpec() };
  expect(next(lifeIn('starting'), { type: 'timer' }, context).effects).toEqual([{ type: 'look', ms: 0 }]);
  const expelled = next(lifeIn('starting'), { type: 'looked' }, context);
  expect(expelled.life).toMatchObject({ state: 'stopping', asked: { cause: 'boot-timeout' } });
  expect(next(expelled.life, { type: 'gone' }, context)).toMatchObject({
    life: { state: 'backoff', streak: 1, hasFailed: true },
    effects: [{ type: 'setTimer', ms: 100 }],
  });
  expect(next(lifeIn('stopping'), { type: 'gone' }, context).life.state).toBe('down');
});

test('a seat with a step left at the age at which it counts as up gets the rest of its time', () => {
  const context = { isWanted: true, readiness: { ...late, startedAtMs: 4_000 }, nowMs: 5_000, policy: makeSpec() };
  expect(next(lifeIn('starting'), EXAMPLES.timer, context)).toMatchObject({
    life: { state: 'starting' },
    effects: [
      { type: 'setTimer', ms: 9_000 },
      { type: 'look', ms: 4_500 },
    ],
  });
  // The wall clock was set back by an hour, but the time of the seat is over.
  expect(next(lifeIn('starting'), EXAMPLES.looked, { ...context, nowMs: -3_600_000 }).life.state).toBe('stopping');
});

test('without waitReady a process counts as up at the age of minUptime, whenever control learnt of it', () => {
  const context = { isWanted: true, nowMs: 1_400, readiness: open, policy: makeSpec({ minUptimeMs: 1_000 }) };
  expect(next(lifeIn('starting'), EXAMPLES.spawned, context).effects).toEqual([{ type: 'setTimer', ms: 600 }]);
  expect(next(lifeIn('starting'), EXAMPLES.timer, context).life.state).toBe('up');
});

describe('a seat that loads at its deadline', () => {
  const loading = { ...open, missing: 'it was still loading its main module', isLoading: true, startedAtMs: 0 };
  const context = (nowMs, more) => ({
    isWanted: true,
    nowMs,
    readiness: { ...loading, ...more },
    policy: makeSpec({ listenTimeoutMs: 4_000 }),
  });
  const waits = [
    { type: 'setTimer', ms: 290_000 },
    { type: 'look', ms: 2_000 },
  ];

  test.each([
    ['has its event loop asked first', 'looked', 10_000, { isProgressing: true }, [{ type: 'ping', ms: 1_000 }]],
    ['gets more time if it makes progress', 'silent', 10_000, { isProgressing: true }, waits],
    ['gets more time if its progress is not known yet', 'silent', 10_000, { isProgressing: null }, waits],
    ['gets more time if it is not Node.js', 'looked', 10_000, { isProgressing: true, isLoading: false }, waits],
    ['gets more time if it was loaded meanwhile', 'answered', 10_000, { isLoading: false }, waits],
    ['is not judged before its deadline', 'looked', 3_999, { isProgressing: false, isLoading: false }, []],
  ])('a seat that loads at its deadline %s', (_what, type, nowMs, more, effects) => {
    expect(next(lifeIn('starting'), { type }, context(nowMs, more))).toEqual({ life: lifeIn('starting'), effects });
  });

  test.each([
    ['makes no progress', 4_000, { isProgressing: false }, 'it was still loading its main module'],
    ['stops to make progress', 34_400, { isProgressing: false }, 'it was still loading its main module after 34s'],
    ['loads for 5 minutes', 300_000, { isProgressing: true }, 'it was still loading its main module after 300s'],
    ['listens elsewhere', 4_000, { isProgressing: true, mayBeLoading: false }, 'it was still loading its main module'],
  ])('a seat that loads at its deadline is retired if it %s', (_what, nowMs, more, by) => {
    expect(next(lifeIn('starting'), { type: 'silent' }, context(nowMs, more)).life).toMatchObject({
      state: 'stopping',
      asked: { cause: 'boot-timeout', by },
    });
  });
});

describe('a seat whose socket the keeper may not know', () => {
  const context = (minUptimeMs, more = {}) => ({
    isWanted: true,
    nowMs: 5_000,
    readiness: { ...open, startedAtMs: 4_900, bootedAtMs: 4_900, ...more },
    policy: makeSpec({ minUptimeMs }),
  });
  const looks = (...args) =>
    next(lifeIn('starting'), EXAMPLES.spawned, context(...args)).effects.filter(({ type }) => type === 'look');

  test('a seat with an unknown socket is looked at more and more seldom, unless it is up soon anyway', () => {
    expect(looks(10_000)).toEqual([{ type: 'look', ms: 500 }]);
    expect(looks(10_000, { startedAtMs: 1_000 })).toEqual([{ type: 'look', ms: 1_000 }]);
    expect(looks(1_000)).toEqual([]);
    expect(looks(10_000, { mayListenOutside: false })).toEqual([]);
  });

  test('a seat with an unknown socket is looked at for 5 minutes, however long it takes to be up', () => {
    const looked = (startedAtMs) =>
      next(lifeIn('starting'), EXAMPLES.looked, { ...context(86_400_000, { startedAtMs }), nowMs: 300_000 }).effects;
    expect(looked(1)).toEqual([{ type: 'look', ms: 5_000 }]);
    expect(looked(0)).toEqual([]);
  });

  test('a canary with an unknown socket has a short soak', () => {
    const soak = (more) =>
      next(lifeIn('starting'), EXAMPLES.ready, context(10_000, { ...canary, bootedAtMs: 4_900, ...more })).effects;
    expect(soak({ isAlone: true })).toEqual([{ type: 'setTimer', ms: 900 }]);
    expect(soak({ isAlone: false })).toEqual([{ type: 'setTimer', ms: 9_900 }]);
  });
});

describe('a gated seat', () => {
  const context = (readiness, more = {}) => ({
    isWanted: true,
    nowMs: 5_000,
    readiness,
    policy: makeSpec({ minUptimeMs: 8_000 }),
    ...more,
  });
  const through =
    (state, ...events) =>
    (readiness) =>
      events.reduce((at, event) => next(at.life, EXAMPLES[event], context(readiness)), {
        life: lifeIn(state),
        effects: [],
      });

  test('a canary lives for minUptime, answers, is admitted, and only then is up', () => {
    expect(through('starting', 'ready')(canary)).toMatchObject({
      life: { state: 'soaking' },
      effects: [{ type: 'setTimer', ms: 4_000 }],
    });
    expect(through('starting', 'ready', 'timer')(canary)).toMatchObject({
      life: { state: 'soaking' },
      effects: [{ type: 'ping' }],
    });
    expect(through('starting', 'ready', 'timer', 'answered')(canary)).toMatchObject({
      life: { state: 'entering' },
      effects: [{ type: 'setTimer' }, { type: 'admit' }],
    });
    expect(through('starting', 'ready', 'timer', 'answered', 'admitted')(canary).life.state).toBe('up');
  });

  test('a gated seat that is not a canary is admitted when it is ready', () => {
    expect(through('starting', 'ready')({ ...canary, gate: 'gated' })).toMatchObject({
      life: { state: 'entering' },
      effects: [{ type: 'setTimer' }, { type: 'admit' }],
    });
  });

  test.each([
    ['soaking', 'silent'],
    ['entering', 'timer'],
  ])('a gated seat that is %s and does not answer is retired, and has failed when it has exited', (state, event) => {
    expect(through(state, event)(canary)).toMatchObject({
      life: { state: 'stopping', asked: { cause: 'boot-timeout', by: 'its event loop did not answer' } },
    });
    expect(through(state, event, 'gone')(canary)).toMatchObject({ life: { state: 'failed', hasFailed: true } });
  });

  test.each(['starting', 'soaking', 'entering'])(
    'a gated seat that exits while it is %s on probation has failed, whatever the restart policy is',
    (state) => {
      expect(through(state, 'exited')(canary)).toMatchObject({
        life: { state: 'failed', hasFailed: true },
        effects: [{ type: 'clearTimer' }],
      });
      expect(through(state, 'exited')({ ...canary, isOnProbation: false }).life.state).toBe('backoff');
    },
  );

  test('a gated seat that finishes its work on probation is done, but fails if its work fails', () => {
    const policy = makeSpec({ autorestart: false });
    const exited = (code) =>
      next(lifeIn('starting'), { type: 'exited', code, uptimeMs: 10 }, context(canary, { policy }));
    expect(exited(0)).toMatchObject({
      life: { state: 'down' },
      effects: [{ type: 'clearTimer' }, { type: 'ended', isOk: true }],
    });
    expect(exited(1).life.state).toBe('failed');
  });

  test('a gated seat that was admitted and crashes during the rollout has failed too', () => {
    expect(through('up', 'exited')(canary).life.state).toBe('failed');
    expect(through('up', 'exited')(open).life.state).toBe('backoff');
  });

  test('a gated seat that serves can be parked and taken back, and rests if it exits while it is parked', () => {
    expect(through('up', 'park')(open)).toMatchObject({ life: { state: 'parked' }, effects: [{ type: 'park' }] });
    expect(through('up', 'park', 'takeBack')(open)).toMatchObject({
      life: { state: 'entering' },
      effects: [{ type: 'setTimer' }, { type: 'unpark' }],
    });
    expect(through('up', 'park', 'takeBack', 'admitted')(open).life.state).toBe('up');
    expect(through('up', 'park', 'exited')(open).life.state).toBe('down');
  });
});

describe('a worker that cannot listen', () => {
  const policy = makeSpec({ minUptimeMs: 1_000, listenTimeoutMs: 3_000 });
  const at = (nowMs, readiness = unheard) => ({
    isWanted: true,
    readiness,
    nowMs,
    policy,
  });

  test('a worker that cannot listen is not ready at min_uptime, whatever listen_timeout is', () => {
    const hurried = next(lifeIn('starting'), { type: 'listenFailed' }, at(1_300));
    expect(hurried.effects).toEqual([{ type: 'setTimer', ms: 700 }]);
    const expelled = next(hurried.life, { type: 'timer' }, at(2_000));
    expect(expelled.life.asked).toEqual({ cause: 'boot-timeout', by: 'it could not listen on port 80' });
  });

  test('a worker that cannot listen has min_uptime to listen elsewhere after it counted as up by its age', () => {
    const doubted = next(lifeIn('up'), { type: 'listenFailed' }, at(60_000));
    expect(doubted).toMatchObject({ life: { state: 'starting' }, effects: [{ type: 'setTimer', ms: 1_000 }] });
    expect(next(doubted.life, { type: 'ready' }, at(60_500, open)).life.state).toBe('up');
    expect(next(doubted.life, { type: 'timer' }, at(61_000)).life.state).toBe('stopping');
  });

  test('a worker that cannot listen stays up if it listens on another address', () => {
    expect(next(lifeIn('up'), { type: 'listenFailed' }, at(60_000, open)).life.state).toBe('up');
  });
});
