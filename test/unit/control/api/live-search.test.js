import { expect, test } from 'vitest';
import { followerFor } from '../../../../daemon/control/api/live-search.js';

const entry = (line) => ({ id: 0, name: 'api', stream: 'out', line, atMs: 1 });
const parts = (entries) => entries.map(() => null);

let nowMono = 0;

/** Like a slow pattern. */
function spend(ms) {
  nowMono += ms;
  return true;
}

function follow(isWanted) {
  const sent = [];
  const client = { notifyLog: (_name, entries, _cursor, missed) => sent.push([entries.length, missed.length]) };
  const o = { query: { isWanted, untilMs: Infinity }, wants: () => true };
  return { sent, ...followerFor(client, 's', o, () => nowMono) };
}

test('lines that a follower cannot search in time count as missed, and another follower goes on', () => {
  const [slow, fast] = [follow(() => spend(60)), follow((line) => line === 'b')];
  const entries = Array.from({ length: 10 }, () => entry('a'));
  slow.take(entries, null, parts(entries));
  slow.take(entries, null, parts(entries));
  expect(slow.sent).toEqual([
    [4, 6],
    [0, 10],
  ]);
  fast.take([entry('a'), entry('b')], null, [null, null]);
  expect(fast.sent).toEqual([[1, 0]]);
});

test('a follower without a pattern misses nothing', () => {
  const follower = follow(null);
  const entries = Array.from({ length: 10_000 }, () => entry('a'));
  follower.take(entries, null, parts(entries));
  expect(follower.sent).toEqual([[10_000, 0]]);
});
