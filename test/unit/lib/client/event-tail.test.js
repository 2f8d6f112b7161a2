import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { tailEvents } from '../../../../lib/client/event-tail.js';

const line = (at) => `{"at":${at},"type":"added"}\n`;

function tail(text) {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-tail-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'events.log');
  writeFileSync(path, text);
  const stop = new AbortController();
  let wake = () => {};
  const events = tailEvents(path, {
    signal: stop.signal,
    notice: (_folder, _name, onChange) => {
      wake = onChange;
      return () => {};
    },
  });
  onTestFinished(async () => {
    stop.abort();
    await events.return();
  });
  return {
    path,
    stop,
    async next(change = () => {}) {
      change();
      wake();
      const { value, done } = await events.next();
      return done || !value
        ? null
        : { ats: value.entries.map(({ at }) => at), isHistory: value.isHistory, isGap: value.isGap };
    },
  };
}

test('the tail yields the history first, then each event once and complete', async () => {
  const { path, next } = tail(line(1) + line(2));
  expect(await next()).toEqual({ ats: [1, 2], isHistory: true, isGap: false });
  expect(await next(() => appendFileSync(path, `${line(3)}{"at":4,`))).toEqual({
    ats: [3],
    isHistory: false,
    isGap: false,
  });
  expect(await next(() => appendFileSync(path, `"type":"added"}\n${line(5)}`))).toMatchObject({ ats: [4, 5] });
});

test('it continues after any number of rotations between two reads', async () => {
  const { path, next } = tail(line(1));
  await next();
  expect(
    await next(() => {
      appendFileSync(path, line(2));
      renameSync(path, `${path}.1`);
      writeFileSync(path, line(3));
      renameSync(`${path}.1`, `${path}.2`);
      renameSync(path, `${path}.1`);
      writeFileSync(path, line(4));
    }),
  ).toEqual({ ats: [2, 3, 4], isHistory: false, isGap: false });
  expect(await next(() => appendFileSync(path, line(5)))).toMatchObject({ ats: [5] });
});

test('a removed part of the log is reported as a gap', async () => {
  const { path, next } = tail(line(1));
  await next();
  expect(
    await next(() => {
      writeFileSync(`${path}.new`, line(9));
      renameSync(`${path}.new`, path);
    }),
  ).toEqual({ ats: [9], isHistory: false, isGap: true });
});

test('a truncated log is read from its beginning', async () => {
  const { path, next } = tail(line(1) + line(2));
  await next();
  expect(await next(() => writeFileSync(path, line(7)))).toMatchObject({ ats: [7] });
});

test('the tail waits for a missing log', async () => {
  const { path, next } = tail('');
  rmSync(path);
  expect(await next()).toMatchObject({ ats: [] });
  expect(await next(() => writeFileSync(path, line(1)))).toMatchObject({ ats: [1], isGap: false });
});

test('the tail ends when its signal is aborted', async () => {
  const { stop, next } = tail(line(1));
  await next();
  stop.abort();
  expect(await next()).toBeNull();
});
