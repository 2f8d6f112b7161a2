import { expect, test } from 'vitest';
import { readNote } from '../../../../daemon/control/state/slot-history.js';

test('a death in the note of an earlier version gets its error line', () => {
  const lastLines = ['Error: no rows', '    at f (/srv/a.js:1:1)', 'Node.js v20.1.0'];
  const { deaths } = readNote({ deaths: [{ lastLines }, { lastLines: [] }, { lastLines, words: 'known' }] });
  expect(deaths.map(({ words }) => words)).toEqual(['Error: no rows', undefined, 'known']);
});
