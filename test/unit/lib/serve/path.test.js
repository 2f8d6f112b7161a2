import { expect, test } from 'vitest';
import { encodePath, readRequestPath } from '../../../../lib/serve/path.js';

test.each([
  ['/', [], true],
  ['/a', ['a'], false],
  ['/a/', ['a'], true],
  ['//a//b', ['a', 'b'], false],
  ['/a%20b/c.txt', ['a b', 'c.txt'], false],
  ['/%C3%A4?x=%00', ['ä'], false],
  ['/a#b', ['a'], false],
  ['http://host:80/a/b', ['a', 'b'], false],
  ['HTTP://host', [], true],
  ['http://host?x', [], true],
  ['/%252e%252e/x', ['%2e%2e', 'x'], false],
  ['/.well-known/acme-challenge/token', ['.well-known', 'acme-challenge', 'token'], false],
])('%s is accepted as a path', (target, segments, isFolder) => {
  expect(readRequestPath(target)).toMatchObject({ segments, isFolder });
});

test.each([
  '',
  '*',
  'a',
  'host:80',
  'file:///etc/passwd',
  'http://host\\@x/',
  '\\a',
  '/..',
  '/../a',
  '/a/../b',
  '/./a',
  '/%2e%2e/a',
  '/%2E./a',
  '/a/%2e',
  '/..%2fa',
  '/a%2fb',
  '/a%5cb',
  '/a\\b',
  '/a%00',
  '/a%0ab',
  '/a%7f',
  '/%',
  '/%zz',
  '/%c0%ae%c0%ae/a',
  '/%c0%af',
  '/%ed%a0%80',
  '/%ff',
  '/%e0%80%ae',
])('%s is refused', (target) => {
  expect(readRequestPath(target)).toEqual({ refusal: 400 });
});

test.each(['/.env', '/.git/config', '/a/.hidden', '/%2eenv', '/...', '/a/.well-known/x', '/.well-known/.env'])(
  '%s is hidden',
  (target) => {
    expect(readRequestPath(target)).toEqual({ refusal: 403 });
  },
);

test('an encoded path never begins with two slashes, which would name another host', () => {
  const read = readRequestPath('//evil.example//x%3F');
  expect(encodePath(read.segments)).toBe('/evil.example/x%3F');
});
