import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';

const require = createRequire(import.meta.url);
const fs = require('node:fs');
const PROFILE = require.resolve('../../../daemon/agent/profile.cjs');
const { profile } = require(PROFILE);

let file;

beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-profile-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  file = join(folder, 'out');
  writeFileSync(file, '');
});

const ask = (step, more = {}) => new Promise((resolve) => profile({ step, file, ...more }, resolve));
const written = () => JSON.parse(readFileSync(file, 'utf8'));

test.each([
  [
    'cpu',
    () =>
      expect(written()).toMatchObject({
        nodes: expect.any(Array),
        samples: expect.any(Array),
        timeDeltas: expect.any(Array),
      }),
  ],
  [
    'heap-sampling',
    () => expect(written()).toMatchObject({ head: { callFrame: expect.any(Object) }, samples: expect.any(Array) }),
  ],
])('a %s profile is in the file when its end is reported', async (kind, check) => {
  expect(await ask('begin', { kind, durationMs: 50 })).toEqual({});
  expect(await ask('end')).toEqual({ bytes: statSync(file).size });
  check();
});

test('only one profile runs at a time, and a repeated request gets the same one', async () => {
  const begin = (more) => ask('begin', { kind: 'cpu', durationMs: 50, ...more });
  expect(await begin({})).toEqual({});
  expect(await begin({ file: `${file}-other` })).toMatchObject({ failure: { code: 'EBUSY', message: 'cpu' } });
  expect(await begin({})).toEqual({});
  expect(await ask('end')).toEqual(await ask('end'));
});

test('a cancelled profile leaves no file, and the next one can start', async () => {
  await ask('begin', { kind: 'cpu', durationMs: 600_000 });
  const end = ask('end');
  expect(await ask('drop')).toEqual({});
  expect([await end, existsSync(file)]).toMatchObject([{ failure: { code: 'EGIVENUP' } }, false]);
  expect(await ask('end')).toMatchObject({ failure: { code: 'EGIVENUP' } });
  writeFileSync(file, '');
  expect(await ask('begin', { kind: 'cpu', durationMs: 10 })).toEqual({});
  await ask('end');
});

test('a file that is missing or not empty is left alone', async () => {
  writeFileSync(file, 'precious');
  expect(await ask('begin', { kind: 'cpu', durationMs: 10 })).toMatchObject({ failure: { code: 'EEXIST' } });
  await ask('drop');
  expect(readFileSync(file, 'utf8')).toBe('precious');
  rmSync(file);
  expect(await ask('begin', { kind: 'heap', durationMs: 0 })).toMatchObject({ failure: { code: 'ENOENT' } });
});

/** Replaces a timer as an app may do: the timer fires, but the call that sets it throws. */
function withBrokenTimer(name) {
  let fired = Promise.resolve();
  for (const owner of [require('node:timers'), globalThis]) {
    const original = owner[name];
    vi.spyOn(owner, name).mockImplementation((callback, ms) => {
      fired = new Promise((resolve) =>
        original(() => {
          callback();
          resolve();
        }, ms),
      );
      throw new Error('broken');
    });
  }
  delete require.cache[PROFILE];
  const broken = require(PROFILE);
  return {
    fired: () => fired,
    ask: (step, more) => new Promise((resolve) => broken.profile({ step, file, ...more }, resolve)),
  };
}

test.each([
  ['cpu', 'setTimeout'],
  ['heap-sampling', 'setTimeout'],
  ['heap', 'setImmediate'],
])(
  'the file of a %s profile that fails to start is closed once, and nothing is written although %s fires',
  async (kind, name) => {
    onTestFinished(() => void vi.restoreAllMocks());
    const { fired, ask: askBroken } = withBrokenTimer(name);
    const opened = vi.spyOn(fs, 'openSync');
    const closed = [vi.spyOn(fs, 'close'), vi.spyOn(fs, 'closeSync')];
    const written = [vi.spyOn(fs, 'writeFile'), vi.spyOn(fs, 'ftruncateSync')];
    expect(await askBroken('begin', { kind, durationMs: 10 })).toMatchObject({ failure: { message: 'broken' } });
    await fired();
    const [{ value: fd }] = opened.mock.results;
    expect(closed.flatMap(({ mock }) => mock.calls).filter(([which]) => which === fd)).toHaveLength(1);
    expect(written.flatMap(({ mock }) => mock.calls)).toEqual([]);
  },
);

test('a profile cancelled before its snapshot closes its file once', async () => {
  onTestFinished(() => void vi.restoreAllMocks());
  const opened = vi.spyOn(fs, 'openSync');
  const closed = vi.spyOn(fs, 'close');
  await Promise.all([ask('begin', { kind: 'heap', durationMs: 0 }), ask('drop')]);
  await new Promise(setImmediate);
  expect(closed.mock.calls.filter(([which]) => which === opened.mock.results[0].value)).toHaveLength(1);
});

test('an unknown step is refused and does no harm', async () => {
  expect(await ask('dance')).toMatchObject({ failure: { code: expect.any(String) } });
});

test('an idle process has an empty stack, and reports what keeps it alive', async () => {
  const { stack } = await ask('stack', { durationMs: 100 });
  expect(stack).toMatchObject({
    samples: expect.any(Number),
    busy: expect.any(Number),
    frames: expect.any(Array),
    resources: expect.any(Object),
  });
  expect(stack.frames.filter(({ url }) => url.includes('/daemon/agent/'))).toEqual([]);
});
