import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { quote, quotePath } from '../../../../lib/deploy/quote.js';

test.each(['plain', '', ' ', "it's", '"', '$HOME', '`id`', '\\', '\n', '*', '~', '-n', '!', "'''", "a'; touch x; '"])('%j is one word of a shell', (text) => {
  expect(execFileSync('sh', ['-c', `printf %s ${quote(text)}`], { encoding: 'utf8' })).toBe(text);
});

test.each([['/srv/app', '/srv/app'], ['~/app', '/home/ann/app'], ['~', '/home/ann'], ['~/', '/home/ann'], ['app/x y', '/home/ann/app/x y'], ["~/it's", "/home/ann/it's"], ['~/$HOME', '/home/ann/$HOME']])('the path %s is %s', (path, real) => {
  expect(execFileSync('sh', ['-c', `printf %s ${quotePath(path)}`], { encoding: 'utf8', env: { HOME: '/home/ann' } })).toBe(real);
});
