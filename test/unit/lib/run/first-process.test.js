import { expect, test } from 'vitest';
import { parseRunWords } from '../../../../lib/run/first-process.js';

test.each([
  [
    ['run', 'app.js', '-i', '2'],
    ['app.js', '-i', '2'],
  ],
  [['run'], []],
  [
    ['-s', '--no-color', 'run', 'app.js'],
    ['-s', '--no-color', 'app.js'],
  ],
  [['run', 'run'], ['run']],
  [['start', 'run'], null],
  [['--version'], null],
  [[], null],
])('the words of "run" are found in %j', (argv, words) => {
  expect(parseRunWords(argv)).toEqual(words);
});
