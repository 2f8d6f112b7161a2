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

const sourceOf = (id) => ({ slot: { id, name: 'a' }, stream: 'out', path: PATH, splitter: null });

function push(text, from = source, startedAtMs = 1) {
  const chunk = Buffer.from(text);
  followers.push(from, chunk, { startedAtMs, offset, atMs: 5 });
  offset += chunk.length;
}

function follow() {
  const received = [];
  followers.add({
    wants: () => true,
    take: (entries, mark) => void received.push([entries.map(({ line }) => line), mark?.offset ?? null]),
  });
  return received;
}

test('lines carry the position of the first line that is still missing', () => {
  const received = follow();
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

test('lines that are in no file have no position', () => {
  const received = follow();
  followers.push(source, Buffer.from('one\n'));
  followers.push(source, Buffer.from('two\n'), null);
  expect(received).toEqual([
    [['one'], null],
    [['two'], null],
  ]);
});

const heldFrom = () => followers.heldFrom().get(PATH)?.offset ?? null;

function begin(text, end) {
  offset = end;
  followers.begin(PATH, { startedAtMs: 1, offset }, Buffer.from(text));
}

test('a follower that joins in the middle of a line gets all of it, and nothing earlier', () => {
  push('one\ntw');
  expect(heldFrom()).toBe(4);
  const received = follow();
  push('o\n');
  expect(received).toEqual([[['two'], 8]]);
  expect(heldFrom()).toBeNull();
});

test('so does each one that joins after an earlier control read the start', () => {
  begin('tw', 6);
  expect(heldFrom()).toBe(4);
  const first = follow();
  push('o ');
  expect(heldFrom()).toBe(4);
  const second = follow();
  push('three\n');
  for (const received of [first, second]) expect(received).toEqual([[['two three'], 14]]);
});

test('a long line of an earlier control is cut at the same places', () => {
  begin('x'.repeat(70_000), 70_000);
  expect(heldFrom()).toBe(65_536);
  const received = follow();
  push('y\n');
  expect(received).toEqual([[[`${'x'.repeat(4_464)}y`], 70_002]]);
});

test('a beginning that another program or a rotation has overtaken is sent as a line', () => {
  begin('tw', 6);
  offset = 9;
  const received = follow();
  push('new\n');
  expect(received).toEqual([
    [['tw'], 6],
    [['new'], 13],
  ]);
  expect(heldFrom()).toBeNull();
});

test('a beginning that no source continues is sent when its source ends', () => {
  begin('tw', 6);
  const received = follow();
  followers.end(source);
  expect(received).toEqual([[['tw'], 6]]);
  expect(heldFrom()).toBeNull();
});

test('a line that a slow disk writes after the end of its source is sent, and not held', () => {
  const received = follow();
  followers.end(source);
  push('late');
  expect(received).toEqual([[['late'], 4]]);
  expect(heldFrom()).toBeNull();
});

test('a line stays held if its next bytes are not in the file', () => {
  push('on');
  followers.push(source, Buffer.from('e'), null);
  expect(heldFrom()).toBe(0);
});

test('a line that continues in the next file has its position in the previous one', () => {
  const received = follow();
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
