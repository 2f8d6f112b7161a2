import { describe, expect, test } from 'vitest';
import { selectApps, renderEvents } from '../../../../../lib/commands/events.js';
import { why } from '../../../../../lib/commands/why.js';
import { createPaint } from '../../../../../lib/render/paint.js';
import { explain } from '../../../../../lib/render/why/answer.js';
import { foldEvents } from '../../../../../lib/render/why/fold.js';
import { renderWhy, explainData } from '../../../../../lib/render/why/why.js';
import { slotStatus, trouble } from '../../slots.js';
import { pattern } from '../../../../helpers/pattern.js';

const HOW = 'exited with code 1 after 200ms';

const NOW = new Date(2026, 10, 21, 14, 5).getTime();
const MINUTE = 60_000;
const view = { columns: null, paint: createPaint(0), nowMs: NOW, options: {} };

const event = (minutesAgo, type, more = {}) => ({
  at: NOW - minutesAgo * MINUTE,
  type,
  app: 'api',
  namespace: 'default',
  id: 0,
  slot: 0,
  generation: 1,
  ...more,
});
const death = (minutesAgo, more = {}) =>
  event(minutesAgo, 'died', {
    instanceId: `i${minutesAgo}`,
    code: 1,
    signal: null,
    cause: 'crash',
    by: null,
    uptimeMs: 200,
    wasReady: false,
    words: 'Error: no database',
    lines: ['Error: no database', 'at \u001b[2J'],
    ...more,
  });
const loop = (from, count) =>
  Array.from({ length: count }, (_, at) => [
    event(from - at / 10, 'started', { instanceId: `c${at}` }),
    death(from - at / 10, { instanceId: `c${at}` }),
    event(from - at / 10, 'backoff', { delayMs: 100, streak: at + 1 }),
  ]).flat();
const online = (more = {}) => slotStatus({ startedAtMs: NOW - 2_000, generation: 1, ...more });
const began = (minutesAgo, more = {}) =>
  event(minutesAgo, 'rollout:began', {
    id: undefined,
    slot: undefined,
    generation: 2,
    by: 'reload',
    cause: 'reload',
    instances: 1,
    ...more,
  });
const halt = (minutesAgo) =>
  event(minutesAgo, 'rollout:halted', {
    id: undefined,
    slot: undefined,
    generation: 2,
    reason: 'instance 0 exited with code 1',
  });
const texts = (events) => foldEvents(events).map(({ text }) => text);

test('repeated crashes are one line, without the pauses between them', () => {
  expect(texts([...loop(10, 16), event(8, 'gave-up', { crashes: 17 })])).toEqual([
    `instance 0 crashed 16 times within 1m 30s; the last time it ${HOW}, "Error: no database"`,
    'instance 0 is not restarted: 17 unstable exits within 10m',
  ]);
});

test('a different death begins another line', () => {
  expect(
    texts([death(5), death(4), death(3, { code: null, signal: 'SIGKILL', cause: 'out-of-memory', by: 'the kernel' })]),
  ).toEqual([
    `instance 0 crashed 2 times within 1m; the last time it ${HOW}, "Error: no database"`,
    'instance 0 ran out of memory after 200ms (the kernel), "Error: no database"',
  ]);
});

test('signals from outside are one line, and are not called crashes', () => {
  const killed = { code: null, signal: 'SIGTERM', cause: 'signal', words: undefined };
  expect(texts([death(5, killed), death(4, killed)])).toEqual([
    'instance 0 was ended by a signal 2 times within 1m; the last time it was ended by SIGTERM from outside ' +
      'after 200ms',
  ]);
});

test('the last output is as wide as the terminal', () => {
  const story = { name: 'api', slots: [], troubles: [], events: [death(1, { lines: ['x'.repeat(300)], words: 'x' })] };
  const text = renderWhy({ stories: [story], isRunning: true, sinceMs: 0, lines: 9 }, { ...view, columns: 80 });
  expect(text).toMatch(/^ {2}x{77}…$/m);
});

test('the begin of a crash loop does not part its crashes, and other troubles are shown', () => {
  const troubled = (kind, type) => event(9.5, type, { id: undefined, slot: undefined, kind, slots: [0], sinceMs: NOW });
  const [first, ...rest] = loop(10, 16);
  expect(texts([first, troubled('crash-loop', 'trouble:began'), ...rest, troubled('slow', 'trouble:ended')])).toEqual([
    expect.stringContaining('instance 0 crashed 16 times'),
    'instance 0 restarts in 100ms, after 16 unstable exits in a row',
    'trouble over after 1s: it answered slowly',
  ]);
});

test('a rollout shows its steps, and the exit of an old instance only if it was killed', () => {
  const old = (slot, more = {}) =>
    event(1, 'died', {
      id: slot,
      slot,
      instanceId: `old${slot}`,
      cause: 'reload',
      by: 'reload',
      code: 0,
      signal: null,
      uptimeMs: 9,
      ...more,
    });
  const up = (slot, type) => [
    event(1, 'started', { id: slot, slot, instanceId: `new${slot}` }),
    event(1, 'ready', { id: slot, slot, instanceId: `new${slot}`, afterMs: 5 }),
    event(1, type, { id: slot, slot, instanceId: `new${slot}`, step: slot + 1, of: 3 }),
  ];
  const began = {
    at: NOW - MINUTE,
    type: 'rollout:began',
    app: 'api',
    by: 'watch: a.js changed',
    cause: 'reload',
    generation: 2,
    instances: 3,
  };
  expect(
    texts([
      began,
      ...up(0, 'rollout:canary'),
      old(0),
      ...up(1, 'rollout:step'),
      old(1),
      ...up(2, 'rollout:step'),
      old(2, { signal: 'SIGKILL' }),
    ]),
  ).toEqual([
    'reload of 3 instances began (watch: a.js changed): generation 2',
    'instance 0 is up as the first of 3: the new code serves',
    'instances 1, 2 are up: 3 of 3 replaced',
    'instance 2 did not exit in time and was killed after 9ms: replaced by a reload',
  ]);
});

describe('the first line of why', () => {
  const answer = (slots, events, isRunning = true) =>
    explain({ name: 'api', slots, events }, { isRunning, nowMs: NOW }).text;

  test.each([
    [
      'errored',
      [slotStatus({ generation: 1, status: 'errored', pid: 0 })],
      [...loop(10, 16), event(3, 'gave-up', { crashes: 17 })],
      `api is errored since 14:02:00 (3m): it ${HOW}, "Error: no database"`,
    ],
    [
      'in back-off',
      [slotStatus({ generation: 1, status: 'waiting restart', pid: 0, waitingFor: 'the next attempt in 3.2s' })],
      loop(2, 3),
      `api is waiting restart since 14:03:12 (1m): it ${HOW}, "Error: no database"; it waits for the next ` +
        'attempt in 3.2s',
    ],
    [
      'online',
      [slotStatus({ startedAtMs: NOW - 3 * 60 * MINUTE })],
      [event(180, 'ready')],
      'api is online since 11:05:00 (3h)',
    ],
    [
      'online after a crash',
      [online({ startedAtMs: NOW - 4 * MINUTE, restarts: 1 })],
      [death(4)],
      `api is online since 14:01:00 (4m), after it ${HOW}, "Error: no database"`,
    ],
    [
      'online after crashes',
      [online({ restarts: 2 })],
      [death(0.1), death(0.05)],
      `api is online since 14:04:58 (2s), after it ${HOW}, "Error: no database"`,
    ],
    [
      'one of two after crashes',
      [online({ restarts: 2 }), online({ id: 1, slot: 1, startedAtMs: NOW - 60 * MINUTE })],
      [death(0.1), death(0.05)],
      `api is online since 13:05:00 (1h); instance 0 since 14:04:58 (2s), after it ${HOW}, "Error: no database"`,
    ],
    [
      'each of two after a crash',
      [online({ startedAtMs: NOW - MINUTE, restarts: 1 }), online({ id: 1, slot: 1, restarts: 1 })],
      [death(1), death(0.05, { id: 1, slot: 1 })],
      `api is online since 14:04:00 (1m); instance 1 since 14:04:58 (2s), after it ${HOW}, "Error: no database"`,
    ],
    [
      'online for long after a crash',
      [online({ startedAtMs: NOW - 180 * MINUTE, restarts: 1 })],
      [death(180)],
      `api is online since 11:05:00 (3h), after it ${HOW}, "Error: no database"`,
    ],
    [
      'one of two, long after a crash',
      [
        online({ startedAtMs: NOW - 60 * MINUTE, restarts: 1 }),
        online({ id: 1, slot: 1, startedAtMs: NOW - 180 * MINUTE }),
      ],
      [death(60)],
      `api is online since 11:05:00 (3h); instance 0 since 13:05:00 (1h), after it ${HOW}, "Error: no database"`,
    ],
    [
      'online after a crash and a reset',
      [online({ restarts: 0 })],
      [death(3), death(2), death(0.05)],
      'api is online since 14:04:58 (2s)',
    ],
    [
      'a reload after crashes',
      [online({ generation: 2, restarts: 3 })],
      [death(3), death(2), began(0.1), event(0.05, 'rollout:done', { id: undefined, generation: 2 })],
      'api is online since 14:04:58 (2s), after a reload',
    ],
    [
      'a reload by a trigger',
      [online({ generation: 2, restarts: 1 })],
      [began(0.1, { by: 'watch: src/a.js changed' })],
      'api is online since 14:04:58 (2s), after a reload (watch: src/a.js changed)',
    ],
    [
      'a reload by another command',
      [online({ generation: 2, restarts: 1 })],
      [began(0.1, { by: 'apply' })],
      'api is online since 14:04:58 (2s), after a reload (nclust apply)',
    ],
    [
      'a restart after crashes',
      [online({ generation: 2, restarts: 3 })],
      [death(3), began(0.1, { cause: 'restart', by: 'restart' })],
      'api is online since 14:04:58 (2s), after a restart',
    ],
    [
      'a start after crashes',
      [online({ generation: 2, restarts: 3 })],
      [
        death(3),
        event(1, 'stop', { id: undefined, slot: undefined, slots: [0] }),
        began(0.1, { cause: 'restart', by: 'start' }),
      ],
      'api is online since 14:04:58 (2s), after a start',
    ],
    [
      'a new keeper',
      [online({ generation: 2, restarts: 1 })],
      [began(0.1, { cause: 'orphan', by: 'orphan' })],
      'api is online since 14:04:58 (2s), after the death of its keeper',
    ],
    [
      'a crash after a reload',
      [online({ generation: 2, restarts: 3 })],
      [death(3), began(2), death(0.05, { generation: 2 })],
      `api is online since 14:04:58 (2s), after it ${HOW}, "Error: no database"`,
    ],
    [
      'launching after a restart',
      [online({ status: 'launching', generation: 2, restarts: 1 })],
      [death(3), began(0.1, { cause: 'restart', by: 'restart' })],
      'api is launching since 14:04:58 (2s)',
    ],
    [
      'a new start of the manager',
      [online({ restarts: 1 })],
      [death(3), { at: NOW - MINUTE, type: 'manager:ending', by: 'kill' }],
      'api is online since 14:04:58 (2s)',
    ],
    [
      'a halted reload whose new instance crashed',
      [online({ startedAtMs: NOW - 60 * MINUTE, restarts: 1 })],
      [began(3), death(2, { generation: 2 }), halt(2)],
      'api is online since 13:05:00 (1h)',
    ],
    [
      'a halted reload after a crash of the old ones',
      [online({ startedAtMs: NOW - 4 * MINUTE, restarts: 1 })],
      [death(4, { words: 'Error: old' }), began(3), death(2, { generation: 2 }), halt(2)],
      `api is online since 14:01:00 (4m), after it ${HOW}, "Error: old"`,
    ],
    [
      'a halted reload amid crashes',
      [slotStatus({ status: 'errored', pid: 0, generation: 1 })],
      [
        death(5),
        began(4),
        death(4, { id: 1, slot: 1, generation: 2 }),
        halt(4),
        death(3),
        event(3, 'gave-up', { crashes: 2 }),
      ],
      `api is errored since 14:02:00 (3m): it ${HOW}, "Error: no database"`,
    ],
    [
      'a halted reload of an errored app',
      [slotStatus({ status: 'errored', pid: 0, generation: 1 })],
      [death(9), event(9, 'gave-up', { crashes: 1 }), began(3), death(2, { generation: 2 }), halt(2)],
      `api is errored since 13:56:00 (9m): it ${HOW}, "Error: no database"`,
    ],
    [
      'stopped',
      [slotStatus({ status: 'stopped', pid: 0 })],
      [death(9), event(5, 'stop', { by: 'stop' })],
      'api is stopped since 14:00:00 (5m): nclust stop',
    ],
    [
      'launching',
      [slotStatus({ status: 'launching', startedAtMs: NOW - 2_000, waitingFor: '"ready" from the app, 3s left' })],
      [],
      'api is launching since 14:04:58 (2s); it waits for "ready" from the app, 3s left',
    ],
    [
      'some instances',
      [slotStatus({ id: 1 }), slotStatus({ generation: 1, id: 0, status: 'errored' })],
      [death(9), event(3, 'gave-up', { crashes: 17 })],
      `1 instance of 2 of api is errored since 14:02:00 (3m): it ${HOW}, "Error: no database"`,
    ],
    ['deleted', [], [event(9, 'deleted')], 'api is not in the list: it was deleted at 13:56:00, 9m ago'],
  ])('the first line of why explains: %s', (_what, slots, events, text) => {
    expect(answer(slots, events)).toBe(text);
  });

  test('the first line of why reports a deleted app as deleted, not as one to restore, without a manager', () => {
    const story = { name: 'api', slots: [], events: [death(9), event(8, 'deleted', { by: 'delete' })] };
    expect(explain(story, { isRunning: false, nowMs: NOW })).toEqual({
      status: 'gone',
      text: 'api is not in the list: it was deleted at 13:57:00, 8m ago',
      next: null,
    });
    const killed = { ...story, events: [event(8, 'deleted', { by: 'kill' })] };
    expect(explain(killed, { isRunning: false, nowMs: NOW }).next).toBe('nclust resurrect');
  });

  test('the first line of why reports that no manager runs', () => {
    expect(answer([], [death(9)], false)).toBe(
      'nclust is not running, so api is not supervised; this was its last known state: it ' +
        `${HOW}, "Error: no database"`,
    );
  });
});

test.each([
  ['stopped', 'nclust start api'],
  ['launching', 'nclust logs api'],
  ['waiting restart', 'nclust logs api --err'],
  ['online', null],
])('why of an app that is %s and has no trouble ends with: %s', (status, next) => {
  expect(explain({ name: 'api', slots: [online({ status })], events: [] }, { isRunning: true, nowMs: NOW }).next).toBe(
    next,
  );
});

test('why does not show a finished job as crashed', () => {
  const events = [
    event(2, 'started', { instanceId: 'j' }),
    death(1, { instanceId: 'j', code: 0, uptimeMs: 592, words: undefined }),
    event(1, 'done', { instanceId: 'j', isOk: true }),
  ];
  const slots = [slotStatus({ generation: 1, status: 'stopped', pid: 0, autorestart: false })];
  expect(explain({ name: 'api', slots, events }, { isRunning: true, nowMs: NOW }).text).toBe(
    'api is stopped since 14:04:00 (1m): it finished with code 0 after 592ms',
  );
  expect(texts(events)).toEqual(['instance 0 has finished its work, and is not restarted']);
  const failed = events.map((one) => (one.type === 'died' ? { ...one, code: 1 } : one));
  expect(explain({ name: 'api', slots, events: failed }, { isRunning: true, nowMs: NOW }).text).toBe(
    'api is stopped since 14:04:00 (1m): it exited with code 1 after 592ms',
  );
});

const data = (events, more = {}) => ({
  stories: [{ name: 'api', slots: [slotStatus({ generation: 1, status: 'errored', pid: 0 })], events, troubles: [] }],
  isRunning: true,
  sinceMs: 0,
  lines: 30,
  ...more,
});

test('the timeline shows times and the last output, and escape codes have no effect', () => {
  const text = renderWhy(data([...loop(10, 4), event(3, 'gave-up', { crashes: 5 })]), view);
  expect(text).toMatch(
    pattern(
      /^api is errored since 14:02:00.*\.\nNext: nclust logs api --err\n\n/,
      / {2}13:55:18 +9m ago {2}instance 0 crashed 4 times/,
    ),
  );
  expect(text).toContain('Last output of instance 0 (13:55:18, 9m ago)\n  Error: no database\n  at ?[2J\n');
  expect(text).not.toContain('\u001b');
});

test('why begins with the troubles of the app, and the answer does not repeat them', () => {
  const { stories, ...more } = data([death(3)]);
  const last = { cause: 'crash', code: 1, signal: null, uptimeMs: 200, words: 'Error: no database' };
  const sick = {
    ...more,
    stories: [
      {
        ...stories[0],
        troubles: [
          trouble('errored', {
            sinceMs: NOW - 4 * MINUTE,
            times: 16,
            evidence: { firstMs: NOW - 4 * MINUTE, lastMs: NOW - 3 * MINUTE, last },
          }),
        ],
      },
    ],
  };
  expect(renderWhy(sick, view)).toMatch(
    pattern(
      /^bad {2}api {2}is down and is no longer restarted: it crashed 16 times within 1m; the last time it /,
      /exited with code 1 after 200ms, "Error: no database", since 14:01:00 \(4m\)\n/,
      / +nclust logs api --err; then: nclust start api\n/,
      /api is errored since 14:02:00 \(3m\)\.\n\n/,
    ),
  );
  expect(explainData(sick, NOW)).toMatchObject([
    {
      answer: 'api is errored since 14:02:00 (3m)',
      next: 'nclust logs api --err; then: nclust start api',
      troubles: [{ kind: 'errored', level: 'bad', text: expect.stringContaining('crashed 16 times') }],
    },
  ]);
});

test('why shows the end of a long timeline, and how to see the rest', () => {
  const text = renderWhy(
    data([event(9, 'added'), event(8, 'scaled', { from: 1, to: 2 }), event(7, 'scaled', { from: 2, to: 3 })], {
      lines: 1,
    }),
    view,
  );
  expect(text).toContain('(2 earlier: nclust why api --lines 3)');
  expect(text).not.toContain('from 1 to 2');
});

test('why reports that there was no event since a time, and how to see all', () => {
  expect(renderWhy(data([event(9, 'added')], { sinceMs: NOW - 5 * MINUTE }), view)).toContain(
    '\n  It has had no event since 14:00:00 (all: nclust why api).\n',
  );
  expect(renderWhy(data([], { sinceMs: NOW - 5 * MINUTE }), view)).toContain('The event log has no entry about it.');
  expect(renderWhy(data([event(9, 'added')], { lines: 0 }), view)).not.toContain('nothing about it');
});

test.each([{ lines: 'abc' }, { since: 'foo' }, { since: '2999-01-01' }])(
  'an invalid option (%o) is refused with the help of why',
  async (options) => {
    await expect(why({}, ['api'], options)).rejects.toMatchObject({
      code: 'ERR_NCLUST_USAGE',
      hint: 'nclust help why',
    });
  },
);

test('the JSON has the answer, the timeline, and each event', () => {
  const [explained] = explainData(data(loop(10, 4)), NOW);
  expect(explained).toMatchObject({
    app: 'api',
    status: 'errored',
    answer: expect.stringContaining(`it ${HOW}`),
    next: 'nclust logs api --err',
    troubles: [],
    timeline: [{ events: 4 }, { text: expect.stringContaining('restarts in 100ms') }],
  });
  expect(explained.events).toHaveLength(12);
});

test('targets are names, namespaces, ids and patterns of the list and of the event log', () => {
  const slots = [
    slotStatus({ id: 0, name: 'api' }),
    slotStatus({ id: 1, name: 'api' }),
    slotStatus({ id: 2, name: 'worker', namespace: 'jobs' }),
  ];
  const known = { slots, events: [event(1, 'deleted', { app: 'gone', id: undefined })] };
  const meant = (...targets) => selectApps(targets, known).map(({ name, ids }) => (ids ? `${name} ${ids}` : name));
  expect(meant('api')).toEqual(['api']);
  expect(meant('jobs')).toEqual(['worker']);
  expect(meant('0', '1')).toEqual(['api 0,1']);
  expect(meant('1', 'api')).toEqual(['api']);
  expect(meant('/^a|o/')).toEqual(['api', 'worker', 'gone']);
  expect(meant('all')).toEqual(['api', 'worker']);
  expect(meant('gone')).toEqual(['gone']);
  expect(() => meant('apo')).toThrow(
    expect.objectContaining({ code: 'ERR_NCLUST_APP_NOT_FOUND', hint: 'Did you mean "api"?' }),
  );
  expect(() => meant('/(/')).toThrow(expect.objectContaining({ code: 'ERR_NCLUST_BAD_SELECTOR' }));
});

test('all leaves out deleted apps while no manager runs', () => {
  const events = [
    event(5, 'added', { app: 'gone' }),
    event(4, 'added', { app: 'kept' }),
    event(3, 'deleted', { app: 'gone', by: 'delete' }),
    event(2, 'deleted', { app: 'kept', by: 'kill' }),
  ];
  expect(selectApps(['all'], { slots: [], events }).map(({ name }) => name)).toEqual(['kept']);
  expect(() => selectApps(['all'], { slots: [], events: [events[0], events[2]] })).toThrow(
    'There is no app in the list.',
  );
});

test('events prints a line for each event, or the JSON of the log', () => {
  const events = [
    event(1, 'started', { pid: 7 }),
    { at: NOW, type: 'manager:keeper-lost' },
    { at: NOW, type: 'of-a-later-version', app: 'x' },
  ];
  expect(renderEvents({ events }, view)).toBe(
    '2026-11-21 14:04:00 0|api was started, pid 7\n2026-11-21 14:05:00 nclust the keeper died; a new one ' +
      'starts\n2026-11-21 14:05:00 x of-a-later-version\n',
  );
  expect(
    renderEvents({ events }, { ...view, options: { json: true } })
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(events);
});
