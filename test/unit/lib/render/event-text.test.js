import { expect, test } from 'vitest';
import { eventWords } from '../../../../lib/render/event-text.js';
import { trouble } from '../slots.js';

test.each([
  ['delete', 'was deleted (nclust delete)'],
  ['apply', 'was deleted (nclust apply)'],
  ['kill', 'was removed from the list (nclust kill)'],
  [undefined, 'was deleted'],
])('an app that %s removed is described by what removed it', (by, words) => {
  expect(eventWords({ type: 'deleted', at: 0, app: 'api', by })).toBe(words);
});

test('the begin and the end of a trouble are described in words', () => {
  const { id: _, ...about } = trouble();
  expect(eventWords({ ...about, type: 'trouble:began', at: 1_060_000 })).toBe(
    'needs attention: it crashed 3 times within 1m; the last time it exited with code 1 after 350ms, ' +
      '"Error: no database"',
  );
  expect(eventWords({ ...about, type: 'trouble:ended', at: 1_720_000 })).toBe(
    'trouble over after 12m: it crashed again and again',
  );
  expect(eventWords({ ...about, kind: 'of-later', type: 'trouble:ended', at: 1_000_000 })).toContain('"of-later"');
});

const render = { where: 'render (report.js:31)', stack: [], instanceId: 'i', atMs: 0, isEarlier: false };

test.each([
  [{ forMs: 49_000, longestMs: 49_000, doing: 'computes', frame: null }, 'blocked for 49s; it computes'],
  [{ forMs: 49_000, longestMs: 49_000, doing: 'computes', frame: render }, 'blocked for 49s, in render (report.js:31)'],
  [
    { forMs: 49_000, longestMs: 49_000, doing: 'no-cpu', frame: render },
    'blocked for 49s, in render (report.js:31); it gets no CPU',
  ],
  [
    { forMs: 4_000, longestMs: 20_000, doing: null, frame: { ...render, isEarlier: true } },
    'blocked for 4s; the last time it was in render (report.js:31)',
  ],
  [
    { forMs: null, longestMs: 20_000, doing: null, frame: { ...render, isEarlier: true } },
    'had its event loop blocked 5 times, for 20.0s at the longest, in render (report.js:31)',
  ],
  [{ forMs: null, longestMs: 20_000, doing: null, frame: { ...render, where: null } }, 'for 20.0s at the longest'],
])('a blocked loop with %j is described as "%s"', (evidence, words) => {
  const about = { ...trouble(), kind: 'loop-blocked', times: 5, evidence };
  expect(eventWords({ ...about, type: 'trouble:began', at: 0 })).toMatch(
    new RegExp(`${words.replace(/[().]/g, '\\$&')}$`),
  );
});

test('the end of a blocked loop names the code that blocked it', () => {
  const evidence = { forMs: 9_000, longestMs: 9_000, doing: null, frame: render };
  const about = { ...trouble(), kind: 'loop-blocked', evidence };
  expect(eventWords({ ...about, type: 'trouble:ended', at: 1_720_000 })).toBe(
    'trouble over after 12m: it had a blocked event loop, in render (report.js:31)',
  );
});
