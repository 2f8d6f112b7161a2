import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { pickOne } from './random.js';

export const CANARY = 'canary-6b1f-nobody-may-read-this';
export const PAGE = '<h1>home</h1>';

/** Every file that contains the canary is outside of the folder "public", or hidden. */
export function site() {
  const root = mkdtempSync(join(tmpdir(), 'nclust-fuzz-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const path = join(root, 'public');
  for (const folder of ['public/a/b', 'public/.git', 'public-secret', 'outside/a'])
    mkdirSync(join(root, folder), { recursive: true });
  for (const file of [
    'canary.txt',
    'index.html',
    'public-secret/canary.txt',
    'outside/canary.txt',
    'outside/index.html',
    'outside/a/canary.txt',
    'public/.env',
    'public/.git/config',
    'public/a/.env',
  ])
    writeFileSync(join(root, file), CANARY);
  for (const file of ['index.html', 'a/index.html', 'a/b/c.txt', 'c.txt']) writeFileSync(join(path, file), PAGE);
  symlinkSync('../outside', join(path, 'out'));
  symlinkSync(join(root, 'canary.txt'), join(path, 'a/absolute'));
  symlinkSync('../../canary.txt', join(path, 'a/relative'));
  symlinkSync('.env', join(path, 'env'));
  symlinkSync('../public-secret', join(path, 'beside'));
  symlinkSync('a', join(path, 'inside'));
  linkSync(join(path, 'c.txt'), join(path, 'hard.txt'));
  writeFileSync(join(path, 'large.js'), 'large();\n'.repeat(100_000));
  writeFileSync(join(path, 'n'.repeat(255)), PAGE);
  symlinkSync('loop', join(path, 'loop'));
  symlinkSync('/dev/zero', join(path, 'zero'));
  execFileSync('mkfifo', [join(path, 'pipe')]);
  return { root, path };
}

const UPS = [
  '..',
  '..',
  '%2e%2e',
  '%2E%2e',
  '.%2e',
  '%252e%252e',
  '%25%32%65%25%32%65',
  '..;',
  '...',
  '....',
  '%c0%ae%c0%ae',
  '%e0%80%ae%e0%80%ae',
  '%uff0e%uff0e',
  '\uff0e\uff0e',
  '..%00',
  '%00..',
  '..\t',
  '%2e',
  '.',
  '~',
  '..%20',
  '..%0d%0a',
  '\u0000',
];
const SLASHES = [
  '/',
  '/',
  '/',
  '//',
  '%2f',
  '%2F',
  '%5c',
  '\\',
  '%252f',
  '%c0%af',
  '%c1%9c',
  '/./',
  '%2f/',
  '/%2f',
  ';/',
  '/;',
  '\u2215',
  '%00/',
  '?/',
  '#/',
];
const NAMES = [
  'canary.txt',
  'CANARY.TXT',
  'canary.txt%00',
  'canary.txt%00.html',
  'canary.txt/',
  'canary.txt::$DATA',
  'index.html',
  'public-secret/canary.txt',
  'outside/canary.txt',
  'outside/',
  'out/canary.txt',
  'out',
  'out/',
  'OUT/a/canary.txt',
  'a/absolute',
  'a/relative',
  'a/b/c.txt',
  'env',
  '.env',
  '.ENV',
  '%2eenv',
  'a/.env',
  '.git/config',
  'a',
  'inside/relative',
  'inside/b/c.txt',
  'beside/canary.txt',
  'hard.txt',
  'large.js',
  'large.js',
  'n'.repeat(255),
  'loop',
  'zero',
  'pipe',
  'pipe/',
  'etc/passwd',
  'proc/self/environ',
  'proc/self/root/etc/passwd',
  '',
  '%',
  '%zz',
  '%ff',
  'x'.repeat(300),
];
const PREFIXES = [
  ...Array(12).fill('/'),
  '',
  '//',
  '/a/',
  '/a/b/',
  '/out/',
  '/inside/',
  'http://localhost/',
  'HTTP://x@y:1/',
  'http:/',
  'http:///',
  'http://..%2f/',
  'file:///',
  '\\',
  '/%2f',
  '/%5c',
  '*',
  '?',
  '#',
  '/public/',
  '/c.txt/',
];
const METHODS = ['GET', 'GET', 'GET', 'GET', 'HEAD', 'POST', 'TRACE', 'CONNECT', 'PROPFIND', 'get', 'G\u0000T'];
const VERSIONS = ['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/0.9', 'HTTP/9.9', ''];
const UNITS = ['bytes=', 'bytes=', 'bytes=', 'bytes', 'BYTES=', 'bytes =', 'lines=', '=', 'bytes=='];
const ENDS = [
  '0',
  '1',
  '12',
  '13',
  '-1',
  '',
  '00',
  '1e3',
  '0x1',
  '9007199254740993',
  '99999999999999999999999999',
  'NaN',
  'Infinity',
  '-0',
  '+1',
  ' 1',
  '1.5',
  '\u0661',
  '%30',
];

/** @param {() => number} random */
function target(random, /** @type {string} */ root) {
  const pick = (/** @type {readonly string[]} */ values) => pickOne(random, values);
  let text = pick(PREFIXES);
  for (let depth = random() < 0.4 ? 0 : Math.floor(random() * 5); depth > 0; depth -= 1)
    text += pick(random() < 0.8 ? UPS : ['a', 'b', 'out', 'public', 'inside', 'beside']) + pick(SLASHES);
  if (random() < 0.05) text += root + pick(SLASHES);
  text += pick(NAMES);
  return random() < 0.1 ? `${text}?${pick(UPS)}${pick(SLASHES)}${pick(NAMES)}` : text;
}

/** @param {() => number} random */
function range(random) {
  const pick = (/** @type {readonly string[]} */ values) => pickOne(random, values);
  if (random() < 0.4) return `bytes=${pick(['0-', '1-5', '-3', '12-12', '13-', '5-1', '0-0,2-3'])}`;
  const parts = Array.from(
    { length: random() < 0.7 ? 1 : Math.floor(random() * 400) },
    () => `${pick(ENDS)}${pick(['-', '-', '-', '--', '', ' - '])}${pick(ENDS)}`,
  );
  return `${pick(UNITS)}${parts.join(pick([',', ', ', ',,', ' ']))}`;
}

/**
 * @param {() => number} random
 * @param {string} root
 * @returns {string}  latin1.
 */
export function hostileRequest(random, root) {
  const pick = (/** @type {readonly string[]} */ values) => pickOne(random, values);
  const headers = ['Host: localhost', 'Connection: close'];
  if (random() < 0.5) headers.push(`Range: ${range(random)}`);
  if (random() < 0.2)
    headers.push(`If-Range: ${pick(['"x"', 'W/"d-0"', 'Thu, 01 Jan 1970 00:00:00 GMT', 'never', '"'])}`);
  if (random() < 0.1)
    headers.push(
      `${pick(['If-Match', 'If-None-Match', 'If-Modified-Since', 'If-Unmodified-Since'])}: ` +
        `${pick(['*', '"x"', 'W/', 'never', ','.repeat(500)])}`,
    );
  if (random() < 0.3)
    headers.push(`Accept-Encoding: ${pick(['br', 'gzip', '*', 'gzip;q=x', 'identity;q=0', ';'.repeat(300)])}`);
  if (random() < 0.4) headers.push(`Accept: ${pick(['text/html', '*/*', 'text/html;q=0', ',;='])}`);
  if (random() < 0.05) headers.push(`X-Original-URL: /../canary.txt`, `Referer: /../`, 'Content-Length: 3');
  const path = random() < 0.6 ? target(random, root) : pick(['/', '/c.txt', '/a/b/c.txt', '/inside/b/c.txt']);
  return (
    `${random() < 0.85 ? 'GET' : pick(METHODS)} ${Buffer.from(path, 'utf8').toString('latin1')} ` +
    `${random() < 0.9 ? 'HTTP/1.1' : pick(VERSIONS)}\r\n` +
    `${Buffer.from(headers.join('\r\n'), 'utf8').toString('latin1')}\r\n\r\n`
  );
}
