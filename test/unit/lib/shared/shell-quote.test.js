import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { shellQuote } from '../../../../lib/shared/shell-quote.js';

test.each(['plain', '', ' ', "it's", '"', '$HOME', '`id`', '\\', '\n', '*', '~', '-n', '!', "'''", "a'; touch x; '"])(
  '%j is one word of a shell',
  (text) => {
    expect(execFileSync('sh', ['-c', `printf %s ${shellQuote(text)}`], { encoding: 'utf8' })).toBe(text);
  },
);
