import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createEventLog } from '../../../../daemon/control/journal/log.js';
import { eventSegments, readEvents } from '../../../../lib/shared/event-log.js';

function place() {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-events-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'events.log');
}

function open(path, limits) {
  const journaled = [];
  let now = 1_000;
  const eventLog = createEventLog({
    path,
    nowMs: () => now++,
    managerLog: (event, fields) => void journaled.push({ event, ...fields }),
    ...(limits ? { limits } : {}),
  });
  onTestFinished(eventLog.close);
  return { ...eventLog, journaled };
}

const died = (instanceId) => ({ type: 'died', app: 'api', id: 0, instanceId, code: 1 });
const types = (path) => readEvents(path).map(({ type }) => type);

test('an event is a line of JSON in a file that only its owner can read', () => {
  const path = place();
  open(path).note({ type: 'added', app: 'api' });
  expect(readFileSync(path, 'utf8')).toBe('{"at":1001,"type":"added","app":"api"}\n');
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('a log that is cut at any byte loads, and the next event is whole', () => {
  const path = place();
  const whole = open(path);
  for (const app of ['one', 'zwei ü', 'three']) whole.note({ type: 'added', app });
  const bytes = readFileSync(path);
  for (let at = 0; at <= bytes.length; at++) {
    writeFileSync(path, bytes.subarray(0, at));
    const before = readEvents(path);
    expect(before).toEqual(readEvents(path).slice(0, before.length));
    const lines = bytes.subarray(0, at).toString().split('\n').length - 1;
    // The difference is 1 if the last line lacks only its newline.
    expect(before.length - lines).toBeOneOf([0, 1]);
    open(path).note({ type: 'deleted', app: 'one' });
    expect(types(path)).toEqual([...before.map(({ type }) => type), 'deleted']);
  }
});

test('a log that was cut during a write continues with whole lines', () => {
  const path = place();
  const eventLog = open(path);
  eventLog.note({ type: 'added', app: 'one' });
  truncateSync(path, statSync(path).size - 3);
  // The next line is lost together with the torn line, but the line after that is whole.
  eventLog.note({ type: 'added', app: 'two' });
  eventLog.note({ type: 'added', app: 'three' });
  expect(readEvents(path).at(-1)).toMatchObject({ app: 'three' });
});

test('a log is rotated before it is too large, and the oldest events are dropped', () => {
  const path = place();
  const limits = { segmentBytes: 1_000, segments: 3 };
  const eventLog = open(path, limits);
  for (let number = 0; number < 200; number++) eventLog.note({ type: 'added', app: `app-${number}` });
  const segments = eventSegments(path);
  expect(segments.map((segment) => segment.slice(path.length))).toEqual(['', '.1', '.2']);
  for (const segment of segments) expect(statSync(segment).size).toBeLessThanOrEqual(1_000);
  const numbers = readEvents(path).map(({ app }) => Number(app?.slice(4)));
  expect(numbers.at(-1)).toBe(199);
  expect(numbers).toEqual(numbers.map((_, at) => 200 - numbers.length + at));
  expect(eventLog.journaled).toEqual([]);
});

test('the next control does not repeat events that are in the log', () => {
  const path = place();
  open(path).note(died('i-1'));
  const next = open(path);
  next.note(died('i-1'));
  next.note(died('i-2'));
  next.note(died('i-2'));
  expect(readEvents(path).map(({ instanceId }) => instanceId)).toEqual(['i-1', 'i-2']);
});

test('a later app with the same name has rollouts of its own', () => {
  const path = place();
  const done = { type: 'rollout:done', app: 'api', generation: 2 };
  open(path).note(done);
  const next = open(path);
  next.note(done);
  next.note({ type: 'deleted', app: 'api' });
  next.note(done);
  expect(types(path)).toEqual(['rollout:done', 'deleted', 'rollout:done']);
});

test('events that cannot be written are counted, and reported as soon as one can be written', () => {
  const path = '/dev/full';
  const full = open(path);
  for (const id of ['i-1', 'i-2', 'i-3']) full.note(died(id));
  expect(full.journaled).toEqual([{ event: 'events-lost', reason: 'ENOSPC' }]);

  const missing = join(place(), 'in', 'events.log');
  const eventLog = open(missing);
  eventLog.note(died('i-1'));
  eventLog.note(died('i-2'));
  expect(eventLog.journaled).toHaveLength(1);
});

test('a log whose folder returns reports how many events it lacks', () => {
  const folder = join(place(), '..', 'home');
  const path = join(folder, 'events.log');
  const eventLog = open(path);
  eventLog.note(died('i-1'));
  eventLog.note(died('i-2'));
  mkdirSync(folder);
  eventLog.note(died('i-3'));
  expect(readEvents(path)).toMatchObject([
    { type: 'lost', count: 2, reason: 'ENOENT' },
    { type: 'died', instanceId: 'i-3' },
  ]);
});

test('a removed log is created again', () => {
  const path = place();
  const eventLog = open(path);
  eventLog.note(died('i-1'));
  rmSync(path);
  eventLog.note(died('i-2'));
  expect(readEvents(path)).toMatchObject([{ instanceId: 'i-2' }]);
});

test('a foreign line is skipped', () => {
  const path = place();
  writeFileSync(path, 'hello\n{"at":"x","type":"died"}\n{"type":"died"}\n[1]\nnull\n{"at":1,"type":"added"}\n');
  expect(types(path)).toEqual(['added']);
});
