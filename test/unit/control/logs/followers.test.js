import { beforeEach, expect, test } from 'vitest';
import { createFollowers } from '../../../../daemon/control/logs/followers.js';

const PATH = '/logs/a.log';
let followers;
let source;
let offset;

beforeEach(() => {
  followers = createFollowers(() => 7);
  source = sourceOf(0);
  offset = 0;
});

const sourceOf = (id) => ({ slot: { id, name: 'a' }, stream: 'out', splitter: null });

function push(text, from = source, startedAtMs = 1) {
  const chunk = Buffer.from(text);
  followers.push(from, chunk, { path: PATH, startedAtMs, offset, atMs: 5 });
  offset += chunk.length;
}

function follower() {
  const received = [];
  const add = (unfinished) =>
    followers.add(
      {
        wants: () => true,
        take: (entries, mark) => void received.push([entries.map(({ line }) => line), mark?.offset ?? null]),
      },
      unfinished,
    );
  return { received, add };
}

const unfinishedLine = (from, bytes) => ({
  path: PATH,
  from: { startedAtMs: 1, offset: from },
  end: { startedAtMs: 1, offset: from + bytes.length },
  continuesAt: { startedAtMs: 1, offset: from + bytes.length },
  bytes: Buffer.from(bytes),
  part: null,
  entry: { id: 0, name: 'a', stream: 'out', atMs: null },
});

test('lines carry the position of the first line that is still missing', () => {
  const { received, add } = follower();
  add();
  push('one\ntwo\nth');
  push('re');
  push('e\n');
  expect(received).toEqual([
    [['one', 'two'], 8],
    [['three'], 14],
  ]);
});

test('every part of a long line is marked, except the last', () => {
  const received = [];
  followers.add({ wants: () => true, take: (entries) => void received.push(...entries) });
  push(`${'x'.repeat(200_000)}\nshort\n${'y'.repeat(70_000)}`);
  followers.end(source);
  expect(received.map(({ line, part }) => [line.length, part])).toEqual([
    [65_536, true],
    [65_536, true],
    [65_536, true],
    [3_392, undefined],
    [5, undefined],
    [65_536, true],
    [4_464, undefined],
  ]);
});

test('the beginning of a line is marked if another follower waits for the rest', () => {
  const received = [];
  const add = (unfinished) =>
    followers.add({ wants: () => true, take: (entries) => void received.push(...entries) }, unfinished);
  follower().add();
  offset = 'begin'.length; // An earlier control has written this.
  push(' and');
  add([unfinishedLine(0, 'begin and')]);
  push(' end\n');
  expect(received.map(({ line, part }) => [line, part])).toEqual([
    ['begin', true],
    [' and end', undefined],
  ]);
});

test('lines that are in no file have no position', () => {
  const { received, add } = follower();
  add();
  followers.push(source, Buffer.from('one\n'));
  followers.push(source, Buffer.from('two\n'), null);
  expect(received).toEqual([
    [['one'], null],
    [['two'], null],
  ]);
});

test('a follower that joins in the middle of a line gets all of it, and nothing earlier', () => {
  push('one\ntw');
  const { received, add } = follower();
  add([unfinishedLine(4, 'tw')]);
  push('o\n');
  expect(received).toEqual([[['two'], 8]]);
});

test('so does one that joins before its source has sent anything, after an earlier control read the start', () => {
  offset = 6;
  const { received, add } = follower();
  add([unfinishedLine(4, 'tw')]);
  push('o\n');
  expect(received).toEqual([[['two'], 8]]);
});

test('and so does one that joins a source that started in the middle, but only the first follower', () => {
  offset = 5;
  push('wo ');
  const { received, add } = follower();
  add([unfinishedLine(4, 'two ')]);
  push('three\n');
  expect(received).toEqual([[['two three'], 14]]);
});

test('a second follower gets bytes that the source does not hold as an entry of its own', () => {
  offset = 5;
  const first = follower();
  first.add();
  push('wo ');
  const second = follower();
  second.add([unfinishedLine(4, 'two ')]);
  expect(second.received).toEqual([[['t'], 5]]);
  push('three\n');
  expect(first.received).toEqual([[['wo three'], 14]]);
  expect(second.received[1]).toEqual([['wo three'], 14]);
});

test('an overtaken beginning is dropped', () => {
  offset = 9;
  const { received, add } = follower();
  add([unfinishedLine(4, 'tw')]);
  push('new\n');
  expect(received).toEqual([[['new'], 13]]);
});

test('a line that continues in the next file has its position in the previous one', () => {
  const { received, add } = follower();
  add();
  push('one\ntw');
  offset = 0;
  push('o', source, 2);
  push('\nthree\n', source, 2);
  expect(received).toEqual([
    [['one'], 4],
    [['two', 'three'], 8],
  ]);
  push('x\ny', source, 2);
  expect(received[2]).toEqual([['x'], 10]);
});

test('only unfinished lines are kept while there is no follower', () => {
  push('one\ntwo');
  expect(source.splitter.heldBytes()).toBe(3);
  push(' three\n');
  expect(source.splitter).toBeNull();
});
