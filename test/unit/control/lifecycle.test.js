import { expect, test } from 'vitest';
import { EVENTS, newLife, next, STATES, TABLE } from '../../../daemon/control/lifecycle.js';
import { makeSpec } from './make-spec.js';

const asked = { cause: 'stop', by: 'stop' };

/** One example of each event. */
const EXAMPLES = {
  start: { type: 'start' },
  stop: { type: 'stop', asked, drain: 'finish' },
  spawned: { type: 'spawned', startedAtMs: 1_000 },
  refused: { type: 'refused' },
  ready: { type: 'ready' },
  exited: { type: 'exited', code: 1, uptimeMs: 10 },
  gone: { type: 'gone' },
  timer: { type: 'timer' },
};

const contexts = [true, false].flatMap((isWanted) => [true, false].flatMap((waitReady) => [true, false].map((autorestart) => ({
  isWanted,
  nowMs: 5_000,
  policy: makeSpec({ waitReady, autorestart }),
}))));

const cells = STATES.flatMap((state) => EVENTS.map((event) => [state, event]));

/** @param {string} state @param {string} [event] */
const lifeIn = (state) => ({ ...newLife(), state, asked: state === 'stopping' ? asked : null });

test.each(cells)('%s has a cell for %s, which is pure and leads to a known state with known effects', (state, event) => {
  expect(TABLE[state][event]).toBeTypeOf('function');
  for (const context of contexts) {
    const life = lifeIn(state);
    const before = structuredClone(life);
    const step = next(life, EXAMPLES[event], context);
    expect(life).toEqual(before);
    expect(STATES).toContain(step.life.state);
    for (const effect of step.effects) expect(['spawn', 'retire', 'setTimer', 'clearTimer', 'ended', 'bug']).toContain(effect.type);
    expect(step.life.asked === null).toBe(step.life.state !== 'stopping');
  }
});

test('the table has no other states and no other events', () => {
  expect(Object.keys(TABLE)).toEqual([...STATES]);
  for (const row of Object.values(TABLE)) expect(Object.keys(row)).toEqual([...EVENTS]);
});

test.each(STATES)('stop reaches down from %s in at most three events, whatever the keeper answers', (state) => {
  for (const context of contexts.filter(({ isWanted }) => !isWanted)) {
    for (const cause of state === 'stopping' ? ['stop', 'boot-timeout'] : ['none']) {
      const life = { ...lifeIn(state), asked: state === 'stopping' ? { cause, by: null } : null };
      for (const answers of [['exited', 'gone'], ['refused'], ['spawned', 'exited', 'gone'], ['ready', 'exited', 'gone']]) {
        let at = next(life, EXAMPLES.stop, context).life;
        for (const event of answers) if (at.state === 'stopping') at = next(at, EXAMPLES[event], context).life;
        expect(at.state).toBe('down');
      }
    }
  }
});

test('a seat that is stopping for good is not tried again when its process is gone, one that missed its boot deadline is', () => {
  const context = { isWanted: true, nowMs: 5_000, policy: makeSpec({ waitReady: true }) };
  const late = next(lifeIn('starting'), { type: 'timer' }, context);
  expect(late.life).toMatchObject({ state: 'stopping', asked: { cause: 'boot-timeout' } });
  expect(next(late.life, { type: 'gone' }, context)).toMatchObject({ life: { state: 'backoff', streak: 1, hasFailed: true }, effects: [{ type: 'setTimer', ms: 100 }] });
  expect(next(lifeIn('stopping'), { type: 'gone' }, context).life.state).toBe('down');
});

test('without waitReady a process counts as up at the age of minUptime, whenever control learnt of it', () => {
  const context = { isWanted: true, nowMs: 1_400, policy: makeSpec({ minUptimeMs: 1_000 }) };
  expect(next(lifeIn('starting'), EXAMPLES.spawned, context).effects).toEqual([{ type: 'setTimer', ms: 600 }]);
  expect(next(lifeIn('starting'), EXAMPLES.timer, context).life.state).toBe('up');
});
