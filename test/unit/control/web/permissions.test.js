import { beforeEach, expect, test } from 'vitest';
import { createPageAnswer } from '../../../../daemon/control/web/permissions.js';
import { METHODS } from '../../../../lib/shared/wire/protocol.js';
import { settle } from '../../../helpers/fake-keeper.js';
import { createRig } from '../control-rig.js';
import { makeSpec } from '../make-spec.js';

const SECRET = 'hunter2-of-the-environment';

let rig;
let mayAct;
let ask;

beforeEach(async () => {
  rig = createRig();
  await rig.boot();
  const started = rig.start({
    name: 'api',
    instances: 2,
    env: { PASSWORD: SECRET },
    shellEnv: { SHELL_SECRET: SECRET },
    logShip: [`exec:send --token ${SECRET}`],
  });
  await rig.turn(2_000);
  await started;
  mayAct = true;
  const answer = createPageAnswer(rig.context, () => mayAct);
  const client = {
    signal: new AbortController().signal,
    notify: () => {},
    notifyLog: () => {},
    notifyEvent: () => {},
    subscriptions: new Map(),
  };
  ask = (method, params = {}) => answer(method, { token: rig.token(), ...params }, client);
});

test('a slot on the page has no variables, and only the named fields of its spec', async () => {
  const { slots } = await ask('list', { detail: true });
  expect(slots).toHaveLength(2);
  expect(slots[0]).toMatchObject({
    name: 'api',
    status: 'online',
    deaths: [],
    spec: { kind: 'node', killTimeoutMs: expect.any(Number) },
  });
  expect(slots[0]).not.toHaveProperty('effectiveEnv');
  expect(JSON.stringify(slots)).not.toContain(SECRET);
  const whole = await rig.call('list', { detail: true });
  expect(JSON.stringify(whole)).toContain(SECRET);
  expect(JSON.stringify(await ask('restart', { targets: ['api'], wait: false }))).not.toContain(SECRET);
});

test('every other method is refused, and on a read-only page every action too', async () => {
  const allowed = ['hello', 'list', 'logs', 'unsubscribe', 'events', 'metrics'];
  const actions = ['start', 'stop', 'restart', 'reload', 'scale', 'reset'];
  const refused = { code: 'ERR_NCLUST_WEB_REFUSED' };
  for (const method of [...METHODS, 'eventLog2', '__proto__', 'constructor', 'toString', ''].filter(
    (one) => !allowed.includes(one) && !actions.includes(one),
  ))
    await expect(ask(method)).rejects.toMatchObject(refused);
  mayAct = false;
  for (const method of actions)
    await expect(ask(method, { targets: ['api'], target: 'api', instances: '1' })).rejects.toMatchObject({
      ...refused,
      hint: expect.stringContaining('--allow-actions'),
    });
  expect(rig.running()).toEqual(['api/0', 'api/1']);
});

test('no action can send a program, a variable or another spec', async () => {
  await expect(ask('start', { specs: [makeSpec({ name: 'evil' })] })).rejects.toThrow('"specs" has to be given');
  await ask('restart', {
    targets: ['api'],
    env: { EVIL: '1' },
    spec: { script: '/tmp/evil.js' },
    watch: true,
    wait: false,
  });
  await ask('reload', {
    targets: ['api'],
    env: { EVIL: '1' },
    specs: { api: { script: '/tmp/evil.js' } },
    wait: false,
  });
  await rig.turn();
  const [app] = rig.control.registry.desired.apps;
  expect(JSON.stringify(rig.control.registry.desired)).not.toMatch(/evil|EVIL/);
  expect(app.generation).toBe(3);
});

test('a page gets only events of processes, whatever it requests', async () => {
  const sent = [];
  const answer = createPageAnswer(rig.context, () => true);
  await answer(
    'events',
    { types: ['*'], subscription: 's' },
    {
      signal: new AbortController().signal,
      notifyEvent: (_name, event) => void sent.push(event),
      subscriptions: new Map(),
    },
  );
  await ask('stop', { targets: ['api'], wait: false });
  await rig.turn();
  expect(sent.length).toBeGreaterThan(0);
  expect([...new Set(sent.map(({ type }) => type))]).toEqual(['process:event']);
});

test('requests of a page are attributed to the dashboard, and those of other clients are not', async () => {
  await ask('stop', { targets: ['api'], wait: false });
  await rig.turn();
  expect(rig.noted.filter(({ type }) => type === 'stop')).toMatchObject([{ app: 'api', by: 'the web dashboard' }]);
  expect(rig.noted.filter(({ type }) => type === 'died').map(({ cause, by }) => `${cause} ${by}`)).toEqual([
    'stop the web dashboard',
    'stop the web dashboard',
  ]);
  await ask('start', { targets: ['api'], wait: false });
  await ask('scale', { target: 'api', instances: '+1', wait: false });
  await rig.turn();
  expect(rig.noted.filter(({ type }) => type === 'scaled')).toMatchObject([
    { from: 2, to: 3, by: 'the web dashboard' },
  ]);
  await rig.start({ name: 'other' }, { wait: false });
  await rig.call('stop', { targets: ['api'], wait: false });
  await settle();
  expect(
    rig.noted.filter(({ type }) => type === 'stop' || type === 'added').map(({ app, by }) => `${app} ${by}`),
  ).toEqual(['api start', 'api the web dashboard', 'other start', 'api stop']);
});

test('a repeated token does nothing', async () => {
  await ask('restart', { targets: ['api'], wait: false, token: 'one' });
  await ask('restart', { targets: ['api'], wait: false, token: 'one' });
  expect(rig.control.registry.desired.apps[0].generation).toBe(2);
  await expect(ask('restart', { targets: ['api'], wait: false, token: 'x'.repeat(201) })).rejects.toMatchObject({
    code: 'ERR_NCLUST_WEB_REFUSED',
  });
  expect(rig.control.registry.desired.apps[0].generation).toBe(2);
});

test('pages have to name their targets, because a pattern may never end and many targets take long', async () => {
  const refused = { code: 'ERR_NCLUST_WEB_REFUSED' };
  for (const method of ['list', 'metrics', 'logs', 'restart', 'reset'])
    await expect(ask(method, { targets: ['api', '/^((([a-z]+)+)+)+#$/'] })).rejects.toMatchObject(refused);
  await expect(ask('scale', { target: '/a/i', instances: '+1' })).rejects.toMatchObject(refused);
  await expect(ask('logs', { targets: Array.from({ length: 11 }, () => 'api') })).rejects.toMatchObject(refused);
  const started = rig.start({ name: '/odd/' }, { wait: false });
  await rig.turn();
  await started;
  expect((await ask('list', { targets: ['/odd/', 'api'] })).slots.map(({ name }) => name)).toEqual([
    'api',
    'api',
    '/odd/',
  ]);
});

test('a page has a limited number of subscriptions, even if it requests all at once', async () => {
  const client = {
    signal: new AbortController().signal,
    notify: () => {},
    notifyLog: () => {},
    notifyEvent: () => {},
    subscriptions: new Map(),
  };
  const ended = [];
  const metrics = {
    ...rig.context.metrics,
    measureNew: async () => {},
    now: () => ({ workers: [] }),
    onTick: () => () => void ended.push('metrics'),
  };
  const answer = createPageAnswer({ ...rig.context, metrics }, () => false);
  const asked = await Promise.allSettled(
    Array.from({ length: 60 }, (_, at) =>
      answer(['metrics', 'events'][at % 2], { follow: true, subscription: `s${at}` }, client),
    ),
  );
  expect(client.subscriptions.size).toBe(32);
  // The 28 subscriptions above the limit existed for a moment.
  expect(ended).toHaveLength(28);
  const begun = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value.subscription] : []));
  expect(begun.sort()).toEqual([...client.subscriptions.keys()].sort());
  await expect(answer('events', { subscription: 'one more' }, client)).rejects.toMatchObject({
    code: 'ERR_NCLUST_WEB_REFUSED',
  });
  // An existing subscription may begin again.
  await answer('events', { subscription: begun[0] }, client);
  await answer('unsubscribe', { subscription: begun[1] }, client);
  await answer('events', { subscription: 'one more' }, client);
  for (const end of client.subscriptions.values()) end();
});

test('notices on a page contain no command and no part of an address that may be a password', async () => {
  const unsafe = [
    `3 lines of "api" could not be sent to "exec:send --token ${SECRET} "(x)"" (it was too slow) and are ` +
      `missing there.`,
    `Metrics do not arrive at "https://me:${SECRET}@otlp.example:4318/v1/metrics": fetch failed.`,
    `In the settings "settings.json" "metrics.otlp" cannot be "HTTPS://otlp.example/?key=${SECRET}".`,
  ];
  rig.context.web = { ...rig.context.web, notices: () => unsafe };
  const { notices } = await createPageAnswer(rig.context, () => false)('list', {}, { subscriptions: new Map() });
  expect(notices).toEqual([
    '3 lines of "api" could not be sent to "exec" (it was too slow) and are missing there.',
    'Metrics do not arrive at "https://otlp.example:4318": fetch failed.',
    'In the settings "settings.json" "metrics.otlp" cannot be "HTTPS://otlp.example".',
  ]);
});
