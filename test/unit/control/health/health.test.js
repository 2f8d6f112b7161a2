import { beforeEach, describe, expect, test } from 'vitest';
import { createMetricsRig, reportOf } from '../metrics/metrics-rig.js';

let rig;
/** The instances that send no more reports. */
let hung;

beforeEach(async () => {
  rig = await createMetricsRig();
  hung = new Set();
});

async function start(fields) {
  const starting = rig.start({ name: 'api', mode: 'cluster', instances: 4, ...fields });
  await rig.turn(20);
  for (const { instanceId } of rig.keeper.alive) rig.keeper.listen(instanceId);
  await rig.turn(2_000);
  await starting;
}

async function pass(seconds) {
  for (let at = 0; at < seconds; at += 1) {
    for (const { instanceId } of rig.keeper.alive)
      if (!hung.has(instanceId)) rig.keeper.reports.set(instanceId, reportOf(at));
    await rig.turn(1_000);
  }
}

const hang = (...slots) => {
  for (const { instanceId, label } of rig.keeper.alive) if (slots.includes(label.slot)) hung.add(instanceId);
};
const triggered = () => rig.events.filter(({ event }) => event === 'triggered').map(({ by }) => by);
const died = () => rig.noted.filter(({ type }) => type === 'died').map(({ slot, cause, by }) => ({ slot, cause, by }));
const replacement = async () => (await rig.call('troubles')).troubles[0]?.evidence.replacement;

test('a hung worker is replaced by a new one, and then killed at once', async () => {
  await start();
  await pass(2);
  const [old] = rig.keeper.alive;
  hang(0);
  await pass(20);
  expect(await replacement()).toEqual({ atMs: expect.any(Number) });
  expect(triggered()).toEqual([]);
  await pass(15);
  expect(triggered()).toEqual(['health: hung for 30s']);
  expect(rig.keeper.requests.filter(({ verb }) => verb === 'retire')).toMatchObject([
    { params: { instanceId: old.instanceId, killTimeoutMs: 0 } },
  ]);
  expect(died()).toEqual([{ slot: 0, cause: 'unhealthy', by: 'health: hung for 30s' }]);
  expect((await rig.call('troubles')).troubles).toEqual([]);
  expect((await rig.list()).map(({ crashes }) => crashes)).toEqual([1, 0, 0, 0]);
});

test('two of four that hang together stay, and the reason is in the evidence', async () => {
  await start();
  await pass(2);
  hang(0, 1);
  await pass(60);
  expect(await replacement()).toEqual({ held: 'shared' });
  expect(triggered()).toEqual([]);
});

test('one of four is replaced in 10 minutes, also if control is replaced in between', async () => {
  await start();
  await pass(2);
  hang(0);
  await pass(40);
  hang(1);
  await pass(60);
  expect(triggered()).toHaveLength(1);
  await rig.boot();
  await pass(100);
  expect(await replacement()).toEqual({ held: 'brake' });
  await pass(600);
  expect(triggered()).toHaveLength(2);
});

test('a replacement that does not start leaves the old instance, and is not tried again at once', async () => {
  await start();
  await pass(2);
  rig.preflight = async () => {
    throw Object.assign(new Error('the script is missing'), { code: 'ERR_NCLUST_PREFLIGHT' });
  };
  hang(0);
  await pass(120);
  expect(rig.running()).toEqual(['api/0', 'api/1', 'api/2', 'api/3']);
  expect(rig.events.filter(({ event }) => event === 'trigger-failed')).toMatchObject([
    { by: 'health: hung for 30s', message: 'the script is missing' },
  ]);
  expect(await replacement()).toEqual({ held: 'failed' });
  await pass(600);
  expect(triggered()).toHaveLength(2);
});

test('a hung instance is not kept for a rollback', async () => {
  await start({ rollbackWindowMs: 600_000 });
  await pass(2);
  hang(0);
  await pass(40);
  expect(died()).toMatchObject([{ cause: 'unhealthy' }]);
});

test('an instance that answers again before its time is not replaced', async () => {
  await start();
  await pass(2);
  hang(0);
  await pass(28);
  hung.clear();
  await pass(60);
  expect(triggered()).toEqual([]);
});

describe('a worker whose turn comes later', () => {
  let end;
  let release;

  beforeEach(async () => {
    await start();
    await pass(2);
    rig.preflight = () =>
      new Promise((resolve, reject) => {
        release = resolve;
        end = reject;
      });
    rig.triggers.replace('api', 3, { reason: 'test', isDue: () => true, onEnd: () => {} });
    await pass(1);
    hang(0);
    await pass(32);
    rig.preflight = async () => {};
  });

  const spared = () => triggered().filter((by) => by.includes('hung')).length;

  test('the worker is replaced if it is still due', async () => {
    end(new Error('later'));
    await pass(10);
    expect(died()).toMatchObject([{ slot: 0, cause: 'unhealthy' }]);
  });

  test('the worker stays if a debugger is attached by then, and is replaced after that', async () => {
    rig.connections = () => ({ isInspected: true, hasInput: true });
    await pass(2);
    end(new Error('later'));
    await pass(20);
    expect(died()).toEqual([]);
    rig.connections = () => ({ isInspected: false, hasInput: true });
    await pass(60);
    expect([died().length, spared() > 0, release !== undefined]).toEqual([1, true, true]);
  });
});

test('only a worker that has hung for the whole time is killed at once', async () => {
  await start();
  await pass(2);
  hang(0);
  await pass(10);
  const stopping = rig.call('stop', { targets: ['api'] });
  await rig.turn(3_000);
  await stopping;
  const limits = rig.keeper.requests
    .filter(({ verb }) => verb === 'retire')
    .map(({ params: { killTimeoutMs } }) => killTimeoutMs);
  expect(limits).toHaveLength(4);
  expect(limits).not.toContain(0);
});

test('hang_timeout 0 replaces no worker', async () => {
  await start({ hangTimeoutMs: 0 });
  await pass(2);
  hang(0);
  await pass(100);
  expect([triggered(), await replacement()]).toEqual([[], null]);
});
