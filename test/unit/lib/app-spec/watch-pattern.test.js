import { expect, test } from 'vitest';
import { readWatchPattern } from '../../../../lib/app-spec/watch-pattern.js';

test.each([
  ['node_modules', { kind: 'name', glob: 'node_modules', isException: false }],
  ['*.log', { kind: 'name', glob: '*.log', isException: false }],
  ['data.json', { kind: 'name', glob: 'data.json', isException: false }],
  ['public/*', { kind: 'path', glob: 'public/*', isException: false }],
  ['./tmp/', { kind: 'name', glob: 'tmp', isException: false }],
  ['/srv/data/', { kind: 'path', glob: '/srv/data', isException: false }],
  ['**/*.{md,txt}', { kind: 'path', glob: '**/*.{md,txt}', isException: false }],
  ['!public/index.html', { kind: 'path', glob: 'public/index.html', isException: true }],
  ['[\\/\\\\]\\./', { kind: 'regex', regex: /[\/\\]\.\//, isException: false }],
  ['\\.git', { kind: 'regex', regex: /\.git/, isException: false }],
  ['/^cache-/i', { kind: 'regex', regex: /^cache-/i, isException: false }],
  ['.*\\.tmp$', { kind: 'regex', regex: /.*\.tmp$/, isException: false }],
  ['(unfinished\\.', null],
])('%j', (text, meaning) => {
  expect(readWatchPattern(text)).toEqual(meaning);
});
