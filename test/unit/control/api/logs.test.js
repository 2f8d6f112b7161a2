import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createAnswer } from '../../../../daemon/control/api/methods.js';
import { createFollowers } from '../../../../daemon/control/logs/followers.js';
import { homePaths } from '../../../../lib/shared/paths.js';
import { createFakeClock } from '../../../helpers/fake-clock.js';
import { makeSpec } from '../make-spec.js';

let home;
let registry;
let followers;
let answer;
let client;
let pages;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'nclust-api-logs-'));
  const paths = homePaths(home);
  mkdirSync(paths.logs);
  const clock = createFakeClock(Date.now());
  followers = createFollowers(clock.nowMs);
  registry = { desired: { apps: [] }, instances: new Map() };
  const logs = { follow: followers.add, heldFrom: followers.heldFrom, positionOf: () => null };
  answer = createAnswer({ control: { registry }, parts: { clock, logs }, paths });
  pages = [];
  const tell = (subscription, page) => void pages.push({ subscription, ...page });
  client = {
    subscriptions: new Map(),
    notifyLog: (subscription, entries, cursor) => tell(subscription, { entries, cursor }),
    sendLogPaced: async (...page) => tell(...page),
    sendLogNow: tell,
  };
  app('api', 0);
  app('web', 1);
  write('api', 'out', 'api says one\napi says two\n');
  write('api', 'error', '{"level":50,"msg":"bad"}\n{"level":30,"msg":"fine"}\n');
  write('web', 'out', 'web says one\n');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function app(name, id, fields = {}) {
  registry.desired.apps.push({
    spec: makeSpec({ name, mode: 'fork', script: `/srv/${name}.js`, ...fields }),
    slots: [{ id, slot: 0 }],
  });
}
const write = (name, word, text) => writeFileSync(join(home, 'logs', `${name}-${word}.log`), text, { flag: 'a' });
const source = (name, id, stream, path = '') => ({ slot: { id, name }, stream, path, splitter: null });
const logs = (params = {}) => answer('logs', params, client);
const lines = () =>
  pages.flatMap(({ entries }) => entries.map(({ name, stream, line }) => `${name} ${stream} ${line}`)).sort();

test('the last lines arrive as notifications, then the answer has their cursor', async () => {
  const result = await logs({ subscription: 'mine', targets: ['web'] });
  expect(pages).toMatchObject([
    { subscription: 'mine', entries: [{ id: 1, name: 'web', stream: 'out', line: 'web says one', atMs: null }] },
  ]);
  expect(result).toMatchObject({ subscription: 'mine', cursor: { [join(home, 'logs/web-out.log')]: { offset: 13 } } });
  expect(client.subscriptions.size).toBe(0);
});

test('a request without targets means all apps, and streams and patterns filter their lines', async () => {
  await logs({ streams: ['out'] });
  expect(lines()).toEqual(['api out api says one', 'api out api says two', 'web out web says one']);
  pages = [];
  await logs({ grep: { source: 'ONE$', flags: 'i' } });
  expect(lines()).toEqual(['api out api says one', 'web out web says one']);
  pages = [];
  await logs({ level: 'error' });
  expect(lines()).toEqual(['api err {"level":50,"msg":"bad"}']);
});

test('a follower gets new lines that match its request, and can resume from its cursor', async () => {
  const { cursor } = await logs({
    subscription: 'f',
    follow: true,
    lines: 0,
    streams: ['out'],
    grep: { source: 'new' },
  });
  const api = source('api', 0, 'out', join(home, 'logs/api-out.log'));
  followers.push(api, Buffer.from('old\nnew 1\n'), { startedAtMs: 0, offset: 26 });
  followers.push(source('api', 0, 'err'), Buffer.from('new but an error\n'));
  followers.push(source('late', 7, 'out'), Buffer.from('new app\n'));
  expect(lines()).toEqual(['api out new 1', 'late out new app']);
  write('api', 'out', 'old\nnew 1\nnew 2\n');
  await answer('unsubscribe', { subscription: 'f' }, client);
  followers.push(api, Buffer.from('new 2\n'));
  const merged = pages.reduce((sum, page) => ({ ...sum, ...page.cursor }), cursor);
  pages = [];
  await logs({ follow: true, streams: ['out'], grep: { source: 'new' }, cursor: JSON.parse(JSON.stringify(merged)) });
  expect(lines()).toEqual(['api out new 2']);
});

test('a second subscription with the same name replaces the first', async () => {
  await logs({ subscription: 'f', follow: true, lines: 0 });
  await logs({ subscription: 'f', follow: true, lines: 0 });
  followers.push(source('api', 0, 'out'), Buffer.from('once\n'));
  expect(lines()).toEqual(['api out once']);
});

test('a client that leaves while history is read does not follow', async () => {
  client.sendLogPaced = async () => {
    for (const end of client.subscriptions.values()) end();
  };
  await logs({ follow: true });
  followers.push(source('api', 0, 'out'), Buffer.from('nobody\n'));
  expect(pages).toEqual([]);
});

test('lines that no file keeps cannot be resumed, and the answer reports that', async () => {
  app('quiet', 2, { outFile: 'NULL' });
  expect(await logs({ cursor: {}, targets: ['web'] })).not.toHaveProperty('gap');
  expect(await logs({ cursor: {}, targets: ['quiet'] })).toMatchObject({ gap: true, gapOf: ['quiet'] });
  expect(await logs({ targets: ['quiet'] })).not.toHaveProperty('gap');
});

test('an app that writes only the combined file is read from there', async () => {
  app('both', 2, { outFile: 'NULL', errorFile: 'NULL', logFile: 'default' });
  write('both', 'out', 'of something else\n');
  writeFileSync(join(home, 'logs', 'both.log'), 'one\ntwo\n');
  const { cursor } = await logs({ targets: ['both'] });
  expect([lines(), pages[0].gap]).toEqual([['both out one', 'both out two'], undefined]);
  pages = [];
  writeFileSync(join(home, 'logs', 'both.log'), 'three\n', { flag: 'a' });
  expect(await logs({ targets: ['both'], cursor })).not.toHaveProperty('gap');
  expect(lines()).toEqual(['both out three']);
  pages = [];
  // A combined file does not show the stream of a line, so a filter by stream finds nothing.
  await logs({ targets: ['both'], streams: ['err'] });
  expect(lines()).toEqual([]);
});

test('an instance of an earlier spec writes to other files, which are read too', async () => {
  writeFileSync(join(home, 'before.log'), 'still here\n');
  registry.instances.set('i', { label: { id: 1, name: 'web', outFile: join(home, 'before.log'), errorFile: '' } });
  await logs({ targets: ['web'] });
  expect(lines()).toEqual(['web out still here', 'web out web says one']);
});

test('an unknown app is an error, and leaves no subscription', async () => {
  await expect(logs({ targets: ['nothing'], follow: true })).rejects.toMatchObject({
    code: 'ERR_NCLUST_APP_NOT_FOUND',
  });
  expect(client.subscriptions.size).toBe(0);
});

test.each([
  [{ lines: -1 }, '"lines" has to be a whole number from 0 to 100000.'],
  [{ level: 'loud' }, '"level" has to be one of trace, debug, info, warn, error, fatal.'],
  [{ grep: { flags: 'i' } }, '"grep.source" has to be a text that is not empty.'],
  [{ cursor: { '/a': { startedAtMs: 'x', offset: 0 } } }, '"cursor./a.startedAtMs" has to be a whole number.'],
  [{ cursor: { '/a': { startedAtMs: 1, offset: -1 } } }, /^"cursor.\/a.offset" has to be a whole number/],
  [{ subscription: 'x'.repeat(201) }, '"subscription" has to be a text of at most 200 characters.'],
  [{ since: 'yesterday' }, /^"since" has to be a whole number/],
  [{ grep: { source: '(' } }, /cannot be used: it is not a regular expression/],
])('the parameters %j are refused: %s', async (params, message) => {
  await expect(logs(params)).rejects.toThrow(message);
});

const record = (level, mark, bytes) =>
  `{"level":${level},"mark":"${mark}","body":"${'x'.repeat(bytes)}","end":"${mark}"}\n`;
const marks = () => {
  const text = pages
    .flatMap(({ entries }) => entries.map(({ line }) => line))
    .join('')
    .replaceAll(/x+/g, '');
  return [...text.matchAll(/"mark":"(\w+)","body":"","end":"(\w+)"/g)].map(([, from, to]) =>
    from === to ? from : `${from} to ${to}`,
  );
};

test.each([70_000, 131_072, 200_000, 1_000_000])(
  'the level of lines of %i bytes is found, in history and in new lines',
  async (bytes) => {
    const text =
      record(30, 'a', bytes) +
      record(40, 'b', bytes) +
      record(30, 'c', bytes) +
      record(50, 'd', 10) +
      record(30, 'e', bytes);
    write('web', 'out', text);
    await logs({ targets: ['web'], level: 'warn', follow: true, subscription: 'f' });
    expect(marks()).toEqual(['b', 'd']);
    pages = [];
    const live = Buffer.from(record(30, 'f', bytes) + record(60, 'g', bytes) + record(20, 'h', bytes));
    const from = source('web', 1, 'out');
    for (let at = 0; at < live.length; at += 50_000) followers.push(from, live.subarray(at, at + 50_000));
    expect(marks()).toEqual(['g']);
    pages = [];
    await answer('unsubscribe', { subscription: 'f' }, client);
    await logs({ targets: ['web'], level: 'warn', lines: 1 });
    expect(marks()).toEqual(['d']);
  },
);

test.each([
  [40, true, ['half']],
  [40, false, ['half']],
  [30, true, []],
  [30, false, []],
])(
  'a follower that joins in the middle of a long line of level %i, adopted: %s, gets %j of it',
  async (level, isAdopted, expected) => {
    const path = join(home, 'logs/web-out.log');
    const text = Buffer.from(record(level, 'half', 200_000));
    const end = { startedAtMs: 0, offset: readFileSync(path).length };
    const half = text.subarray(0, 150_000);
    const from = source('web', 1, 'out', path);
    if (!isAdopted) followers.push(from, half, end);
    write('web', 'out', half);
    end.offset += half.length;
    if (isAdopted) followers.begin(path, end, half);
    await logs({ targets: ['web'], streams: ['out'], level: 'warn', follow: true });
    followers.push(from, text.subarray(150_000), end);
    expect(marks()).toEqual(expected);
    const sent = pages.flatMap(({ entries }) => entries.map(({ line }) => line)).join('');
    expect(sent).toBe(expected.length > 0 ? text.toString().trim() : '');
  },
);

test('a long line whose beginning has no level is shown', async () => {
  write('web', 'out', `{"body":"${'x'.repeat(200_000)}","level":30}\n`);
  await logs({ targets: ['web'], level: 'fatal' });
  expect(pages.flatMap(({ entries }) => entries.map(({ line }) => line)).join('')).toMatch(
    /^\{"body":"x+","level":30\}$/,
  );
});
