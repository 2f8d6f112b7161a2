import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { listActions, progressWords } from '../../../../../daemon/control/web/page/actions.js';
import { plain } from '../../../../../daemon/control/web/page/dom.js';
import { detailRows, lastWords } from '../../../../../daemon/control/web/page/describe.js';
import { LINES_MAX, logQuery, lineText, createQueue } from '../../../../../daemon/control/web/page/logs.js';
import { writeFragment, readFragment, openRoute } from '../../../../../daemon/control/web/page/route.js';
import { sparkPath } from '../../../../../daemon/control/web/page/sparkline.js';
import { emptyStore, managerTime, computeStaleMs, storeSample } from '../../../../../daemon/control/web/page/store.js';
import { readPageFiles } from '../../../../../daemon/control/web/server.js';
import { sample, worker } from './samples.js';

const FOLDER = new URL('../../../../../daemon/control/web/page/', import.meta.url);

test('every import of the page is served, and none writes markup', () => {
  const served = readPageFiles();
  const missing = [...served]
    .filter(([path]) => path.endsWith('.js') && path !== '/uplot.js')
    .flatMap(([path, { bytes: code }]) =>
      [...code.toString().matchAll(/^import .* from '([^']+)'/gm)]
        .map(([, name]) => new URL(name, `http://x${path}`).pathname)
        .filter((name) => !served.has(name)),
    );
  expect(missing).toEqual([]);
  for (const name of readdirSync(FOLDER).filter((one) => one.endsWith('.js')))
    expect(readFileSync(new URL(name, FOLDER), 'utf8'), name).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function/,
    );
  expect(readFileSync(new URL('index.html', FOLDER), 'utf8')).not.toMatch(/ style=| on\w+=|<style|<script>|https?:/);
});

describe('the address', () => {
  test.each([
    ['#token=abc', { token: 'abc', place: {} }],
    ['#token=abc&app=a%20b%26c', { token: 'abc', place: { app: 'a b&c' } }],
    ['#worker=12', { token: null, place: { worker: 12 } }],
    ['#worker=1x', { token: null, place: {} }],
    ['', { token: null, place: {} }],
  ])('the address "%s" is read', (fragment, expected) => {
    expect(readFragment(fragment)).toEqual(expected);
  });

  test('the address describes the shown place, whatever its name', () => {
    for (const app of ['a&token=b', '#', 'ü/?', '100%'])
      expect(readFragment(writeFragment({ app }))).toEqual({ token: null, place: { app } });
    expect(readFragment(writeFragment({ worker: 0 })).place).toEqual({ worker: 0 });
  });

  test('the address loses its token at once, and the tab keeps it', () => {
    const kept = new Map();
    const sessionStorage = {
      getItem: (key) => kept.get(key) ?? null,
      setItem: (key, value) => kept.set(key, value),
    };
    const replaced = [];
    const window = (hash) => ({
      location: { hash },
      history: {
        replaceState: (_state, _title, to) => replaced.push(to),
      },
      sessionStorage,
    });
    expect(openRoute(window('#token=abc&app=api'))).toEqual({ token: 'abc', isNewToken: true, place: { app: 'api' } });
    expect(replaced).toEqual(['#app=api']);
    expect(openRoute(window('#app=api'))).toEqual({ token: 'abc', isNewToken: false, place: { app: 'api' } });
    expect(replaced).toHaveLength(1);
  });
});

describe('logs', () => {
  test('the logs of the page show the output of an app as plain text', () => {
    expect(lineText('\u001b[31mred\u001b[0m \u001b]0;title\u0007<b>\u202e')).toBe('red <b>?');
    expect(lineText('x'.repeat(9_000))).toHaveLength(4_002);
  });

  test('the logs of the page are filtered by the manager, with the text as it was typed', () => {
    expect(logQuery({ target: 'api', text: '', stream: 'both', cursor: {} })).toEqual({
      targets: ['api'],
      follow: true,
      lines: 300,
    });
    expect(logQuery({ target: '3', text: ' GET /a.b ', stream: 'err', cursor: { a: 1 } })).toEqual({
      targets: ['3'],
      follow: true,
      lines: 1_000,
      streams: ['err'],
      grep: { source: 'GET /a\\.b', flags: '' },
      cursor: { a: 1 },
    });
    expect(logQuery({ target: '3', text: 'get', stream: 'out', cursor: {} }).grep).toEqual({
      source: 'get',
      flags: 'i',
    });
  });

  test('the logs of the page keep a limited number of waiting lines', () => {
    const entries = Array.from({ length: 5_000 }, (_, id) => ({ id }));
    expect(createQueue(entries, entries)).toHaveLength(LINES_MAX);
    expect(createQueue([], entries).at(-1)).toEqual({ id: 4_999 });
  });
});

describe('actions', () => {
  const two = sample([worker(), worker({ id: 1, slot: 1 })]);
  const names = (place, of = two) => listActions(of, place).actions.map(({ name }) => name);

  test('the offered actions are those that make sense', () => {
    expect(names({ app: 'api' })).toEqual(['reload', 'restart', 'stop', 'more', 'fewer']);
    expect(names({ worker: 1 })).toEqual(['reload', 'restart', 'stop']);
    expect(names({ app: 'api' }, sample([worker()]))).toEqual(['reload', 'restart', 'stop', 'more']);
    expect(names({ app: 'api' }, sample([worker({ status: 'errored', pid: 0 })]))).toEqual(['start', 'more']);
    expect(names({ app: 'gone' })).toEqual([]);
    expect(names({ worker: 9 })).toEqual([]);
  });

  test('actions describe their effect, and address one instance by its id', () => {
    const [reload, restart, stop] = listActions(two, { worker: 1 }).actions;
    expect(stop).toMatchObject({
      question: 'Stop instance 1 of “api”?',
      request: { method: 'stop', params: { targets: ['1'] } },
      isHarsh: true,
    });
    expect(stop.effect).toContain('not even a reboot');
    expect(reload).toMatchObject({ isHarsh: false, effect: expect.stringContaining('No request is lost') });
    expect(restart.effect).toContain('Stops its process, and starts it again');
    const [, whole, , more, fewer] = listActions(two, { app: 'api' }).actions;
    expect(whole).toMatchObject({
      effect: expect.stringContaining('Stops all 2 instances, half of them at a time'),
      request: { method: 'restart', params: { targets: ['api'] } },
    });
    expect(more).toMatchObject({
      effect: 'There will be 3 instances instead of 2.',
      request: { method: 'scale', params: { target: 'api', instances: '+1' } },
    });
    expect(fewer).toMatchObject({
      effect: expect.stringContaining('1 instance will remain'),
      request: { params: { instances: '-1' } },
    });
  });

  test('actions are not offered if the id would mean something else', () => {
    const twins = sample([worker(), worker({ id: 1, slot: 1 }), worker({ id: 2, name: '1' })]);
    expect(listActions(twins, { worker: 1 })).toEqual({ actions: [], why: expect.stringContaining('"1"') });
    expect(names({ app: '1' }, twins)).toContain('stop');
  });

  test('actions show their progress', () => {
    const waiting = Array.from({ length: 7 }, (_, slot) => ({
      slot,
      phase: 'starting',
      forMs: 1_900,
      detail: slot === 0 ? 'it does not listen yet' : null,
    }));
    expect(progressWords({ done: 1, total: 8, waiting })).toEqual([
      '1 of 8 done',
      'Instance 0 has been starting for 2s: it does not listen yet',
      ...[1, 2, 3, 4].map((slot) => `Instance ${slot} has been starting for 2s`),
      'and 2 more',
    ]);
  });
});

test('facts are those of describe', () => {
  const death = {
    atMs: 40_000,
    pid: 7,
    code: 1,
    signal: null,
    cause: 'crash',
    by: null,
    uptimeMs: 400,
    wasReady: false,
    words: 'Error: boom',
    frame: 'render (src/report.js:31)',
    lastLines: ['Error: boom'],
  };
  const slot = {
    id: 3,
    slot: 0,
    name: 'api',
    pid: 0,
    status: 'waiting restart',
    generation: 2,
    restarts: 4,
    unstableRestarts: 4,
    script: '/srv/a.js',
    args: ['-x'],
    mode: 'cluster',
    interpreter: 'node',
    interpreterArgs: [],
    nodeVersion: 'v20.1.0',
    cwd: '/srv',
    addresses: [
      { address: '::', port: 80, family: 'IPv6' },
      { address: '/run/a.sock', port: 0, family: 'pipe' },
    ],
    user: 'www',
    version: 'N/A',
    createdAtMs: 1,
    waitingFor: 'its back-off',
    lastDeath: death,
    outFile: '/l',
    errorFile: '/l',
    autorestart: true,
  };
  const facts = Object.fromEntries(detailRows([slot], 100_000));
  expect(facts).toMatchObject({
    'Waiting for': 'its back-off',
    'Last died': expect.stringContaining(
      '(1m ago): exited with code 1 after 400ms, before it was up, "Error: boom" in render (src/report.js:31)',
    ),
    'Listening on': '[::]:80, /run/a.sock',
    'Runs as': 'cluster mode, node, Node.js 20.1.0',
    Restarts: '4 restarts, 4 unstable',
    'Log file': '/l',
    Process: 'none, id 3, instance 0, generation 2',
  });
  expect(lastWords([slot])).toEqual({ title: 'Last lines of instance 0, pid 7', lines: ['Error: boom'] });
  expect(lastWords([{ ...slot, lastDeath: { ...death, cause: 'stop' } }])).toBeNull();
});

test('a spark has a gap where there is no value', () => {
  expect(sparkPath([5, null, 5, 10], { width: 59, height: 12 })).toBe('M56.0 6.0M58.0 6.0L59.0 1.0');
});

describe('the store of the page', () => {
  test('the store of the page has stale figures if the connection is lost or silent', () => {
    const store = {
      ...storeSample(emptyStore(), sample([worker()], 500_000), 1_000),
      phase: 'live',
    };
    expect(computeStaleMs(store, 4_000)).toBeNull();
    expect(computeStaleMs(store, 6_000)).toBe(5_000);
    expect(computeStaleMs({ ...store, phase: 'lost' }, 1_500)).toBe(500);
    expect(managerTime(store, 3_000)).toBe(502_000);
  });
});

test('a name cannot look like another one, and last lines have no colours', () => {
  expect(plain('invoice\u202egpj.exe \u2066\u001b[31m\u0007 <b>\n\tüß')).toBe('invoice?gpj.exe ??[31m? <b>\n\tüß');
  const dead = {
    slot: 0,
    lastDeath: { atMs: 1, pid: 2, cause: 'crash', lastLines: ['\u001b[31mboom\u001b[0m \u202e', 'at x'] },
  };
  expect(lastWords([dead])?.lines).toEqual(['boom ?', 'at x']);
});

test('metadata of an app cannot stop the page', () => {
  const odd = { toString: 1, valueOf: 1 };
  const slot = {
    slot: 0,
    id: 0,
    args: [],
    interpreter: 'none',
    addresses: [],
    axm: { monitor: { a: odd, b: { value: odd, unit: odd }, c: { value: 3, unit: 'ms' }, d: 'up', e: null } },
  };
  const facts = detailRows([slot], 0);
  expect(facts.filter(([label]) => 'abcde'.includes(label))).toEqual([
    ['a', JSON.stringify(odd)],
    ['b', JSON.stringify(odd)],
    ['c', '3 ms'],
    ['d', 'up'],
    ['e', 'null'],
  ]);
});
