import { describe, expect, test } from 'vitest';
import { noteEvent, NO_INCIDENTS } from '../../../../daemon/control/troubles/incidents.js';
import { judge, RESTORED_LULL_MS } from '../../../../daemon/control/troubles/judge.js';
import { PROCESS_KINDS } from '../../../../daemon/control/troubles/process-kinds.js';
import { WORKER_KINDS } from '../../../../daemon/control/troubles/worker-kinds.js';

const NOW = 1_800_000_000_000;
const S = 1_000;
const MB = 1024 ** 2;

const HTTP = {
  requestsPerS: 10,
  errorsPerS: 0,
  activeRequests: 1,
  latencyP99Ms: 12,
  oldestRequestMs: 5,
  totals: { requests: 500 },
};

const worker = (o = {}) => ({
  slot: 0,
  status: 'online',
  isNode: true,
  startedAtMs: NOW - 3600 * S,
  onlineSinceMs: NOW - 3590 * S,
  reportAgeMs: 400,
  cpu: 3,
  elu: 0.1,
  delayP99Ms: 2,
  poolWaitMs: 0,
  oldSpaceUsedBytes: 20 * MB,
  oldSpaceLimitBytes: 100 * MB,
  fds: 20,
  fdsLimit: 1024,
  sockets: null,
  tree: null,
  isProgressing: false,
  listenFailure: null,
  blocks: [],
  wallTimes: 0,
  unansweredMs: 100,
  activity: null,
  ...o,
  http: o.http === null ? null : { ...HTTP, ...o.http },
});

const app = (o = {}) => ({
  name: 'api',
  createdAtMs: NOW - 7200 * S,
  workers: [worker(o.worker)],
  stops: [],
  incidents: NO_INCIDENTS,
  sockets: [],
  errorLines: null,
  losing: null,
  ...o,
  http: { requestsPerS: 10, errorsPerS: 0, hasAnswered: true, usualP99Ms: 12, usualShare: 0, ...o.http },
});

const after = (...events) =>
  events.reduce((before, event) => noteEvent(before, { app: 'api', slot: 0, ...event }), NO_INCIDENTS);
const crash = (at, o = {}) => ({ type: 'died', at, cause: 'crash', code: 1, signal: null, generation: 1, ...o });
const FAILURE = { address: null, port: 80, family: 4, code: 'EADDRINUSE', app: null };
const block = (at, ms = 3 * S) => ({ atMs: at, ms });
const errors = (o) => ({ perS: 80, usualPerS: 2, line: 'no db', share: 0.9, ...o });

/** Judges the same facts once a second. */
function last(facts, { forS = 0, from = new Map() } = {}) {
  let standings = from;
  for (let at = 0; at <= forS; at += 1) {
    const now = NOW + at * S;
    ({ standings } = judge([typeof facts === 'function' ? facts(now) : facts], standings, now));
  }
  return standings;
}

const kinds = (standings) => [...standings.values()].flatMap(({ trouble }) => trouble?.kind ?? []);

/** Sick facts, how long they have to last, and healthy facts that are close, for each kind. */
const TABLE = [
  [
    'errored',
    app({ worker: { status: 'errored' }, incidents: after(crash(NOW - 9 * S)) }),
    0,
    [app({ worker: { status: 'stopped' } })],
  ],
  ['port-taken', app({ worker: { listenFailure: FAILURE } }), 0, [app()]],
  [
    'crash-loop',
    app({ incidents: after(crash(NOW - 500 * S), crash(NOW - 9 * S)) }),
    0,
    [
      app({ incidents: after(crash(NOW - 9 * S)) }),
      app({ incidents: after(crash(NOW - 700 * S), crash(NOW - 9 * S)) }),
      app({ incidents: after(crash(NOW - 700 * S), crash(NOW - 650 * S)) }),
      app({ incidents: after(...[20, 9].map((s) => crash(NOW - s * S, { listenFailure: FAILURE }))) }),
      app({ incidents: after(crash(NOW - 20 * S, { cause: 'signal' }), crash(NOW - 9 * S, { cause: 'reload' })) }),
      app({ incidents: after(crash(NOW - 20 * S), crash(NOW - 9 * S), { type: 'stop', at: NOW }) }),
      app({
        incidents: after(crash(NOW - 20 * S), crash(NOW - 9 * S), {
          type: 'rollout:began',
          at: NOW,
          by: 'reload',
          generation: 2,
        }),
      }),
      app({
        incidents: after(
          { type: 'rollout:began', at: NOW, by: 'reload', generation: 2, isGuarded: true },
          crash(NOW, { generation: 2 }),
          crash(NOW, { generation: 2 }),
        ),
      }),
    ],
  ],
  [
    'deploy-halted',
    app({
      incidents: after(
        { type: 'rollout:began', at: NOW, by: 'reload', generation: 2, isGuarded: true },
        { type: 'rollout:halted', at: NOW, reason: 'it crashed', generation: 2 },
      ),
    }),
    0,
    [
      app({
        incidents: after(
          { type: 'rollout:began', at: NOW, by: 'reload', generation: 2, isGuarded: true },
          { type: 'rollout:halted', at: NOW, reason: 'it crashed', generation: 2 },
          { type: 'rollout:began', at: NOW, by: 'reload', generation: 3, isGuarded: true },
          { type: 'rollout:done', at: NOW, generation: 3 },
        ),
      }),
    ],
  ],
  [
    'slow-start',
    app({ worker: { status: 'launching', startedAtMs: NOW - 11 * S } }),
    0,
    [
      app({ worker: { status: 'launching', startedAtMs: NOW - 14 * S, isProgressing: true } }),
      app({ worker: { status: 'launching', startedAtMs: NOW - 5 * S } }),
      app({ worker: { status: 'launching', startedAtMs: null } }),
    ],
  ],
  [
    'stop-hangs',
    app({ stops: [{ slot: 0, signal: 'SIGTERM', signalledMs: NOW - 6 * S, killAtMs: NOW + 4 * S }] }),
    0,
    [app({ stops: [{ slot: 0, signal: 'SIGTERM', signalledMs: NOW - 4 * S, killAtMs: NOW + 6 * S }] })],
  ],
  ['lines-lost', app({ losing: { lines: 3, reason: 'ENOSPC' } }), 0, [app()]],
  [
    'memory-limit',
    app({
      incidents: after(
        ...[300, 200, 100].map((s) => ({ type: 'limit:memory', at: NOW - s * S, by: 'memory: 2 of 1' })),
      ),
    }),
    0,
    [
      app({
        incidents: after(
          ...[900, 200, 100].map((s) => ({ type: 'limit:memory', at: NOW - s * S, by: 'memory: 2 of 1' })),
        ),
      }),
    ],
  ],
  [
    'trigger-failed',
    app({ incidents: after({ type: 'trigger:failed', at: NOW, by: 'watch: a.js changed', message: 'x' }) }),
    0,
    [
      app({
        incidents: after(
          { type: 'trigger:failed', at: NOW, by: 'watch: a.js changed', message: 'x' },
          { type: 'rollout:began', at: NOW, by: 'watch: a.js changed', generation: 2 },
        ),
      }),
    ],
  ],
  [
    'socket-unserved',
    app({ sockets: [{ address: '::', port: 80, isServed: false }] }),
    15,
    [
      app({ sockets: [{ address: '::', port: 80, isServed: true }] }),
      app({
        worker: { status: 'launching', isProgressing: true, startedAtMs: NOW },
        sockets: [{ address: '::', port: 80, isServed: false }],
      }),
    ],
  ],
  [
    'loop-blocked',
    app({ worker: { reportAgeMs: 3_100, activity: 'computes' } }),
    0,
    [
      app({ worker: { reportAgeMs: 4_400 } }),
      app({ worker: { reportAgeMs: 4_400, activity: 'waits' } }),
      app({ worker: { reportAgeMs: 9_000, activity: 'no-cpu' } }),
      app({ worker: { reportAgeMs: 2_900, activity: 'computes' } }),
      app({ worker: { reportAgeMs: 9_000, activity: 'computes', isNode: false } }),
      app({ worker: { reportAgeMs: 9_000, status: 'launching', startedAtMs: NOW - 9 * S } }),
      app({ worker: { blocks: [block(NOW - 5 * S)] } }),
    ],
  ],
  [
    'pool-stuck',
    app({ worker: { poolWaitMs: 5_000 } }),
    0,
    [app({ worker: { poolWaitMs: 4_000 } }), app({ worker: { poolWaitMs: 9_000, cpu: 180 } })],
  ],
  [
    'no-progress',
    app({ worker: { http: { oldestRequestMs: 31 * S }, unansweredMs: 31 * S } }),
    0,
    [
      // An export, while other requests are answered now and then.
      app({ worker: { http: { oldestRequestMs: 50 * S, requestsPerS: 0 }, unansweredMs: 10 * S } }),
      app({ worker: { http: { oldestRequestMs: null, requestsPerS: 0 }, unansweredMs: 900 * S } }),
      app({ worker: { http: { oldestRequestMs: 31 * S }, unansweredMs: 31 * S }, http: { hasAnswered: false } }),
    ],
  ],
  [
    'failing',
    app({ http: { errorsPerS: 5 } }),
    10,
    [app({ http: { errorsPerS: 0.2 } }), app({ http: { requestsPerS: 0.5, errorsPerS: 0.5 } })],
  ],
  [
    'slow',
    app({ worker: { http: { latencyP99Ms: 1_100 } } }),
    40,
    [
      app({ worker: { http: { latencyP99Ms: 900 } } }),
      app({ worker: { http: { latencyP99Ms: 1_100 } }, http: { usualP99Ms: 500 } }),
      app({ worker: { http: { latencyP99Ms: 1_100 } }, http: { usualP99Ms: null } }),
      app({ worker: { http: { latencyP99Ms: 1_100 } }, http: { requestsPerS: 0.5 } }),
    ],
  ],
  ['memory-wall', app({ worker: { wallTimes: 2 } }), 0, [app({ worker: { wallTimes: 1 } })]],
  [
    'descriptors',
    app({ worker: { fds: 55, fdsLimit: 60 } }),
    0,
    [app({ worker: { fds: 50, fdsLimit: 60 } }), app({ worker: { fds: 55, fdsLimit: null } })],
  ],
  [
    'child-burns',
    app({ worker: { tree: { top: { pid: 9, program: 'x', cpu: 30, cpuWanted: 97 } } } }),
    45,
    [
      app({ worker: { tree: { top: { pid: 9, program: 'x', cpu: 80, cpuWanted: 80 } } } }),
      app({ worker: { cpu: 90, tree: { top: { pid: 9, program: 'x', cpu: 97, cpuWanted: 97 } } } }),
    ],
  ],
  [
    'log-storm',
    app({ errorLines: errors() }),
    30,
    [app({ errorLines: errors({ usualPerS: 20 }) }), app({ errorLines: errors({ perS: 40 }) })],
  ],
];

test('a stuck pool does not end when the event loop computes', () => {
  const begun = last(app({ worker: { poolWaitMs: 5_000 } }));
  expect(kinds(last(app({ worker: { poolWaitMs: 9_000, cpu: 90 } }), { from: begun }))).toEqual(['pool-stuck']);
});

test('failing requests whose error lines are many are one trouble', () => {
  const facts = app({ http: { errorsPerS: 5 }, errorLines: errors() });
  expect(kinds(last(facts, { forS: 40 }))).toEqual(['failing']);
});

test('a report that control reads late, because it got no CPU, blocks no event loop', () => {
  const late = last(app({ worker: { reportAgeMs: 3_100 } }));
  expect(kinds(judge([app({ worker: { reportAgeMs: 3_300 } })], late, NOW + 200).standings)).toEqual([]);
  expect(kinds(judge([app({ worker: { reportAgeMs: 200 } })], late, NOW + S).standings)).toEqual([]);
});

describe.each(TABLE)('%s', (kind, sick, forS, healthy) => {
  test(`${kind} begins when it has lasted, with its evidence`, () => {
    if (forS > 0) expect(kinds(last(sick, { forS: forS - 1 }))).toEqual([]);
    const [[, { trouble }]] = [...last(sick, { forS })];
    expect(trouble).toMatchObject({ kind, app: 'api', evidence: expect.any(Object) });
    expect(trouble.sinceMs).toBeLessThanOrEqual(NOW);
  });

  test(`${kind} ends when its cause has ended`, () => {
    const begun = last(sick, { forS });
    const { standings } = judge([app()], begun, NOW + (forS + 60) * S);
    expect(kinds(standings)).toEqual([]);
    expect(judge([], begun, NOW).changes).toMatchObject([{ hasBegun: false, trouble: { kind } }]);
  });

  test.each(healthy.map((facts, at) => [at, facts]))(
    `${kind} does not begin on a healthy neighbour (%s)`,
    (_, facts) => {
      expect(kinds(last(facts, { forS: 0 }))).toEqual([]);
      if (forS > 0) expect(kinds(last(facts, { forS: forS + 5 }))).toEqual([]);
    },
  );
});

describe('the code that blocks a loop', () => {
  const frame = (atMs, where) => ({ instanceId: where, atMs, where, stack: [] });
  const evidenceOf = (standings) => [...standings.values()][0].trouble.evidence;
  const blocked = (frames) => app({ workers: frames.map((one) => worker({ reportAgeMs: 9 * S, frame: one })) });

  test('the frame is that of the present block, else the last one', () => {
    const present = last(blocked([frame(NOW - 60 * S, 'old'), frame(NOW - 4 * S, 'now'), null]));
    expect(evidenceOf(present).frame).toMatchObject({ where: 'now', isEarlier: false });
    const earlier = last(blocked([frame(NOW - 60 * S, 'old'), frame(NOW - 90 * S, 'older')]));
    expect(evidenceOf(earlier).frame).toMatchObject({ where: 'old', isEarlier: true });
    const blocks = [block(NOW - 90 * S), block(NOW - 4 * S)];
    const turns = last(app({ worker: { blocks, frame: frame(NOW - 4 * S, 'now') } }));
    expect(evidenceOf(turns)).toMatchObject({ forMs: null, frame: { where: 'now' } });
  });

  test('the frame stays until the trouble ends, also when its worker turns before the others', () => {
    const both = last(blocked([frame(NOW - 4 * S, 'now'), null]));
    const one = last(blocked([null]), { from: both });
    expect(evidenceOf(one).frame).toMatchObject({ where: 'now', isEarlier: true });
    const [{ trouble }] = judge([app()], one, NOW).changes;
    expect(trouble.evidence.frame).toMatchObject({ where: 'now' });
  });
});

test.each(Object.entries({ ...PROCESS_KINDS, ...WORKER_KINDS }))(
  'after a start of control, %s is found again before it would end',
  (_, { afterMs = 0, lullMs = 0 }) => {
    expect(RESTORED_LULL_MS).toBeGreaterThan(afterMs + lullMs);
  },
);
