import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import * as make from '../../../../daemon/control/notify/message.js';
import { createNotify } from '../../../../daemon/control/notify/notify.js';
import { send } from '../../../../daemon/control/notify/send.js';
import { namesIn } from '../../../../lib/shared/daemon/files.js';
import { createFakeClock } from '../../../helpers/fake-clock.js';

let folder;
let server;
let rig;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-notify-'));
  const got = [];
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      got.push({ path: request.url, ...JSON.parse(body) });
      response.writeHead(server.status ?? 200).end();
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  rig = {
    got,
    clock: createFakeClock(),
    url: (path) => `http://127.0.0.1:${server.address().port}/${path}`,
    registry: { ending: null, desired: { apps: [] }, histories: new Map() },
    receivers: [],
    listen: { kind: 'none' },
    open: [],
    past: [],
    logged: [],
    isReady: true,
  };
  rig.receivers = [setting('ops')];
});

afterEach(async () => {
  await rig.notify?.close();
  server.close().closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
});

function setting(name, more = {}) {
  return { name, to: rig.url(name), level: 'warn', apps: [], afterMs: 0, repeatMs: 0, ...more };
}

function app(name, notify = []) {
  return { spec: { name, notify }, slots: [{ id: 1, slot: 0 }] };
}

function trouble(name, more = {}) {
  const evidence = { share: 0.5, perS: 2, line: 'Error: no rows' };
  const about = { kind: 'failing', level: 'bad', slots: [], sinceMs: rig.clock.nowMs(), times: 1, evidence };
  return { id: `${name}:1`, app: name, ...about, ...more };
}

/** A new control. */
function boot() {
  void rig.notify?.close();
  const followers = new Set();
  const ticks = new Set();
  rig.emit = (event) => followers.forEach((take) => take({ at: rig.clock.nowMs(), ...event }));
  rig.tick = () => ticks.forEach((run) => run());
  const follow = (all) => (one) => (all.add(one), () => all.delete(one));
  rig.notify = createNotify({
    control: { registry: rig.registry },
    parts: {
      clock: rig.clock,
      eventLog: { follow: follow(followers) },
      managerLog: (event, fields) => rig.logged.push({ event, ...fields }),
      settings: { notify: () => rig.receivers, web: () => ({ listen: rig.listen }) },
      home: '/home/nclust',
    },
    metrics: { onTick: follow(ticks) },
    troubles: { list: () => rig.open, isReady: () => rig.isReady },
    past: rig.past,
    folder: join(folder, 'notify'),
    ...(rig.load && { load: rig.load }),
  });
}

/** Turns the clock until the condition holds. */
async function until(isDone) {
  await vi.waitUntil(
    () => {
      rig.tick();
      rig.clock.advance(100);
      return isDone();
    },
    { timeout: 10_000, interval: 10 },
  );
}

const events = () => rig.got.map(({ path, event, app: name }) => `${path.slice(1)} ${event} ${name}`);
const files = () => namesIn(join(folder, 'notify')).filter((name) => name.endsWith('.jsonl'));
const notified = () =>
  files().map((name) =>
    readFileSync(join(folder, 'notify', name), 'utf8')
      .trim()
      .split('\n'),
  );

test('a receiver of the home hears when a trouble begins and ends, with all that it needs', async () => {
  rig.listen = { kind: 'tcp', host: '10.0.0.5', port: 9616 };
  rig.registry.desired = { apps: [app('api')] };
  rig.registry.histories.set(1, { deaths: [{ atMs: rig.clock.nowMs(), lastLines: ['', 'Error: x', '  at y'] }] });
  boot();
  rig.open = [trouble('api')];
  const { sinceMs } = rig.open[0];
  await until(() => rig.got.length >= 1);
  expect(rig.got[0]).toMatchObject({
    ...{
      v: 1,
      id: expect.any(String),
      event: 'began',
      home: '/home/nclust',
      app: 'api',
      kind: 'failing',
      level: 'bad',
    },
    ...{ slots: [], since: sinceMs, ended: null, times: 1, next: 'nclust logs api --err' },
    text: expect.stringMatching(/^api fails /),
    evidence: { share: 0.5, perS: 2, line: 'Error: no rows' },
    errorLines: ['Error: x', '  at y'],
    link: 'http://10.0.0.5:9616/',
  });
  rig.open = [];
  await until(() => rig.got.length >= 2);
  expect(rig.got[1]).toMatchObject({ event: 'ended', app: 'api', next: null, evidence: null });
  expect(rig.got[1].text).toMatch(/^api failed many requests; it is over after \d+s$/);
  expect(rig.got[1].ended).toBeGreaterThan(sinceMs);
});

test('a new control repeats no message, and reports the end', async () => {
  rig.open = [trouble('api')];
  boot();
  await until(() => rig.got.length >= 1);
  await until(() => notified()[0]?.length === 1);
  boot();
  await until(() => rig.notify.list()[0].sentMs !== null);
  rig.open = [];
  await until(() => rig.got.length >= 2);
  expect(events()).toEqual(['ops began api', 'ops ended api']);
});

test('receivers of an app hear of this app only, and one that is named twice hears once', async () => {
  const own = { level: 'warn', afterMs: 0, repeatMs: 0 };
  rig.registry.desired = {
    apps: [
      app('api', [
        { to: rig.url('ops'), ...own },
        { to: rig.url('team'), ...own },
      ]),
      app('web'),
    ],
  };
  rig.receivers = [setting('ops'), setting('shop', { apps: ['sh*p', 'web'] })];
  rig.open = [trouble('api'), trouble('web')];
  boot();
  await until(() => rig.got.length >= 4);
  expect(events().sort()).toEqual(['ops began api', 'ops began web', 'shop began web', 'team began api']);
  expect(rig.notify.list().map(({ names }) => names)).toEqual([['ops', 'api'], ['shop'], ['api']]);
});

test('a receiver of a deleted app still hears the end', async () => {
  rig.receivers = [];
  const to = { to: rig.url('team'), level: 'warn', afterMs: 0, repeatMs: 0 };
  rig.registry.desired = { apps: [app('api', [to])] };
  rig.open = [trouble('api')];
  boot();
  await until(() => rig.got.length >= 1);
  rig.registry.desired = { apps: [] };
  await until(() => rig.notify.list().length === 0);
  rig.open = [];
  await until(() => rig.got.length >= 2 && files().length === 0);
  expect(events()).toEqual(['team began api', 'team ended api']);
});

test('a receiver that is unset hears nothing more, and its queue is removed', async () => {
  server.status = 500;
  rig.registry.desired = { apps: [app('api')] };
  rig.open = [trouble('api')];
  boot();
  await until(() => rig.got.length >= 2);
  rig.receivers = [];
  await until(() => files().length === 0);
  expect(rig.notify.list()).toEqual([]);
});

test('a receiver that is unset hears nothing more of a deleted app either', async () => {
  server.status = 500;
  rig.registry.desired = { apps: [app('api')] };
  rig.open = [trouble('api')];
  boot();
  await until(() => rig.got.length >= 2);
  rig.registry.desired = { apps: [] };
  rig.open = [];
  await until(() => rig.notify.list()[0].waiting === 2);
  rig.receivers = [];
  await until(() => files().length === 0);
});

test('a receiver that is unset while the manager is down gets nothing at the next start', async () => {
  server.status = 500;
  rig.registry.desired = { apps: [app('api')] };
  rig.open = [trouble('api')];
  boot();
  await until(() => rig.got.length >= 2);
  await rig.notify.close();
  rig.got.length = 0;
  rig.receivers = [];
  rig.isReady = false;
  boot();
  for (let at = 0; at < 20; at += 1) await until(() => true);
  rig.isReady = true;
  await until(() => files().length === 0);
  expect(rig.got).toEqual([]);
});

test('a receiver of an app that is deleted while it is down hears the end from the next control', async () => {
  rig.receivers = [];
  rig.registry.desired = { apps: [app('api', [{ to: rig.url('team'), level: 'warn', afterMs: 0, repeatMs: 0 }])] };
  rig.open = [trouble('api')];
  boot();
  await until(() => rig.got.length >= 1);
  server.status = 500;
  rig.registry.desired = { apps: [] };
  rig.open = [];
  await until(() => rig.got.length >= 2 && notified()[0]?.length === 2);
  boot();
  server.status = 200;
  await until(() => files().length === 0);
  expect(events().at(-1)).toBe('team ended api');
});

test('a broken file of settings keeps what waits', async () => {
  server.status = 500;
  rig.registry.desired = { apps: [app('api')] };
  rig.open = [trouble('api')];
  boot();
  await until(() => rig.got.length >= 2);
  rig.receivers = null;
  boot();
  await until(() => rig.got.length >= 6);
  server.status = 200;
  await until(() => notified()[0]?.length === 1);
  expect(new Set(rig.got.map(({ id }) => id)).size).toBe(1);
});

test('modules that cannot be loaded are logged once, and loaded at a later look', async () => {
  let loads = 0;
  rig.load = async () => {
    loads += 1;
    if (loads < 5) throw new Error('EMFILE: too many open files');
    return { ...make, send };
  };
  rig.registry.desired = { apps: [app('api')] };
  rig.open = [trouble('api')];
  boot();
  await until(() => rig.got.length >= 1);
  expect(rig.logged).toEqual([{ event: 'notify-look-failed', message: 'EMFILE: too many open files' }]);
});

test('a damaged queue is skipped', async () => {
  boot();
  await until(() => files().length === 1);
  writeFileSync(join(folder, 'notify', files()[0]), 'what');
  rig.open = [trouble('api')];
  boot();
  await until(() => rig.got.length >= 1);
});

describe('deaths of the manager', () => {
  const ready = () => ({ at: rig.clock.nowMs(), type: 'manager:ready', keeperPid: 7 });

  test('the next control reports the death of the last one, once', async () => {
    rig.past = [ready()];
    boot();
    await until(() => files().length === 1);
    boot();
    rig.emit(ready());
    await until(() => rig.got.length >= 1);
    expect(rig.got[0]).toMatchObject({
      event: 'manager',
      app: null,
      times: 1,
      text: expect.stringMatching(/^the control/),
    });
    rig.past = [...rig.past, ready()];
    await until(() => notified()[0].length === 1);
    boot();
    for (let at = 0; at < 20; at += 1) await until(() => true);
    expect(rig.got).toHaveLength(1);
  });

  test('a control that has run for a long time has died if only events of apps come before the next one', async () => {
    rig.past = [{ at: rig.clock.nowMs() - 1, type: 'died', app: 'api' }];
    boot();
    rig.emit({ ...ready(), at: rig.clock.nowMs() + 1 });
    await until(() => rig.got.length >= 1);
    expect(rig.got[0]).toMatchObject({ event: 'manager', text: expect.stringMatching(/^the control/) });
  });

  test('a control that dies before its report leaves the news to the next one', async () => {
    rig.past = [ready()];
    boot();
    await until(() => files().length === 1);
    const second = { ...ready(), at: rig.clock.nowMs() + 1 };
    rig.past = [...rig.past, second];
    boot();
    rig.emit({ ...ready(), at: rig.clock.nowMs() + 2 });
    await until(() => rig.got.length >= 1);
    expect(rig.got[0]).toMatchObject({ event: 'manager', times: 2 });
  });

  test('a death right after the start of control is reported, one before a receiver was set is not', async () => {
    boot();
    rig.emit({ ...ready(), at: rig.clock.nowMs() + 1 });
    rig.emit({ type: 'manager:keeper-lost', at: rig.clock.nowMs() + 2 });
    await until(() => rig.got.length >= 1);
    rig.receivers = [setting('ops'), setting('late')];
    await until(() => files().length === 2);
    for (let at = 0; at < 20; at += 1) await until(() => true);
    expect(events()).toEqual(['ops manager null']);
  });

  test('a receiver of some apps does not hear of them', async () => {
    rig.receivers = [setting('ops', { apps: ['api'] })];
    rig.past = [ready()];
    boot();
    await until(() => files().length === 1);
    rig.emit({ type: 'manager:keeper-lost' });
    for (let at = 0; at < 20; at += 1) await until(() => true);
    expect(rig.got).toEqual([]);
  });
});

describe('test messages', () => {
  test('all receivers, or those of a name', async () => {
    rig.receivers = [setting('ops'), setting('chat', { to: `slack:${rig.url('chat')}` })];
    boot();
    expect(await rig.notify.test([])).toEqual([
      { receiver: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/…$/), names: ['ops'], problem: null },
      { receiver: expect.stringMatching(/^slack http/), names: ['chat'], problem: null },
    ]);
    expect(rig.got).toHaveLength(2);
    server.status = 500;
    expect(await rig.notify.test(['ops'])).toMatchObject([
      { names: ['ops'], problem: expect.stringMatching(/^it answers with status 500/) },
    ]);
  });

  test.each([
    [{ kind: 'none' }, null],
    [{ kind: 'tcp', host: '127.0.0.1', port: 9616 }, null],
    [{ kind: 'tcp', host: '::1', port: 9616 }, null],
    [{ kind: 'tcp', host: '0.0.0.0', port: 9616 }, `http://${hostname()}:9616/`],
  ])('the link to a dashboard at %j is %s', async (listen, link) => {
    rig.listen = listen;
    boot();
    await rig.notify.test([]);
    expect(rig.got).toMatchObject([{ link }]);
  });

  test('an unknown name', async () => {
    boot();
    await expect(rig.notify.test(['nobody'])).rejects.toMatchObject({
      code: 'ERR_NCLUST_NO_RECEIVER',
      message: 'There is no receiver "nobody".',
      hint: 'There are: ops.',
    });
    rig.receivers = [];
    await expect(rig.notify.test([])).rejects.toMatchObject({ message: 'No receiver is set.' });
  });
});
