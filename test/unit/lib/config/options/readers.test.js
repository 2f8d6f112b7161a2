import { expect, test } from 'vitest';
import { splitWords } from '../../../../../lib/app-spec/values.js';

test.each([
  ['', []],
  ['  ', []],
  ['--a', ['--a']],
  [' --a  --b=1\t-c ', ['--a', '--b=1', '-c']],
  ['--title "my app"', ['--title', 'my app']],
  ["--title='my app'", ['--title=my app']],
  ['a"b c"d', ['ab cd']],
  ['""', ['']],
  ["a '' b", ['a', '', 'b']],
  ['a\\ b', ['a b']],
  ['"a\\"b\\n"', ['a"b\\n']],
  ["'a\\'", ['a\\']],
  ['"a\nb"', ['a\nb']],
  ['$HOME *', ['$HOME', '*']],
])('splitWords splits %j into %j', (line, words) => {
  expect(splitWords(line, '--x')).toEqual(words);
});

test.each([['"a'], ["a 'b"], ['a\\']])('splitWords refuses %j', (line) => {
  expect(() => splitWords(line, '--node-args')).toThrow(
    expect.objectContaining({ code: 'ERR_NCLUST_USAGE', message: expect.stringContaining('--node-args') }),
  );
});
