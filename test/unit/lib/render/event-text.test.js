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
