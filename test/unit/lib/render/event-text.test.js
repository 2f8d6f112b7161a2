import { expect, test } from 'vitest';
import { eventWords } from '../../../../lib/render/event-text.js';

test.each([
  ['delete', 'was deleted (nclust delete)'],
  ['apply', 'was deleted (nclust apply)'],
  ['kill', 'was removed from the list (nclust kill)'],
  [undefined, 'was deleted'],
])('an app that %s removed is described by what removed it', (by, words) => {
  expect(eventWords({ type: 'deleted', at: 0, app: 'api', by })).toBe(words);
});
