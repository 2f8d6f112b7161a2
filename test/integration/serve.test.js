import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { startStaticServer } from '../helpers/static-server.js';

const HTML = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' };
const SCRIPT = 'console.log("a script that is long enough");\n'.repeat(200);

function site() {
  const root = mkdtempSync(join(tmpdir(), 'nclust-serve-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const path = join(root, 'public');
  mkdirSync(join(path, 'docs'), { recursive: true });
  mkdirSync(join(path, 'files/deep'), { recursive: true });
  writeFileSync(join(path, 'index.html'), '<h1>home</h1>');
  writeFileSync(join(path, 'docs/index.html'), '<h1>docs</h1>');
  writeFileSync(join(path, 'files/a<b>&.txt'), 'a');
  writeFileSync(join(path, 'files/.hidden'), 'CANARY');
  writeFileSync(join(path, 'app.js'), SCRIPT);
  writeFileSync(join(path, 'app.3f2a9c1b.js'), SCRIPT);
  writeFileSync(join(path, 'ten.bin'), '0123456789');
  writeFileSync(join(root, 'canary.txt'), 'CANARY');
  return { root, path };
}

test('a file is sent with its type, its length and its validators', async () => {
  const { path } = site();
  const { ask } = await startStaticServer(path);
  const first = await ask('/ten.bin');
  expect(first).toMatchObject({
    status: 200,
    body: '0123456789',
    headers: {
      'content-type': 'application/octet-stream',
      'content-length': '10',
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
    },
  });
  expect(await ask('/ten.bin', { headers: { 'If-None-Match': first.headers.etag } })).toMatchObject({
    status: 304,
    body: '',
  });
  expect(await ask('/ten.bin', { headers: { 'If-Modified-Since': first.headers['last-modified'] } })).toMatchObject({
    status: 304,
    body: '',
  });
  expect(await ask('/ten.bin', { headers: { 'If-None-Match': '"other"' } })).toMatchObject({ status: 200 });
  const head = await ask('/ten.bin', { method: 'HEAD' });
  expect(head).toMatchObject({ status: 200, body: '', headers: { 'content-length': '10', etag: first.headers.etag } });
  writeFileSync(join(path, 'ten.bin'), '9876543210!');
  utimesSync(join(path, 'ten.bin'), 2_000_000_000, 2_000_000_000);
  expect(await ask('/ten.bin', { headers: { 'If-None-Match': first.headers.etag } })).toMatchObject({
    status: 200,
    body: '9876543210!',
  });
});

test.each([
  ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
  ['bytes=-2', 206, '89', 'bytes 8-9/10'],
  ['bytes=-10', 206, '0123456789', 'bytes 0-9/10'],
  ['bytes=-300', 206, '0123456789', 'bytes 0-9/10'],
  ['bytes=-0', 416, '416 Range Not Satisfiable\n', 'bytes */10'],
  ['bytes=7-', 206, '789', 'bytes 7-9/10'],
  ['bytes=5-100', 206, '56789', 'bytes 5-9/10'],
  ['bytes=10-', 416, '416 Range Not Satisfiable\n', 'bytes */10'],
  ['bytes=0-1,4-5', 200, '0123456789', undefined],
  ['bytes=3-1', 416, '416 Range Not Satisfiable\n', 'bytes */10'],
  ['bytes=x', 200, '0123456789', undefined],
  ['lines=0-1', 200, '0123456789', undefined],
])('the header "Range: %s" gets the right part', async (range, status, body, contentRange) => {
  const { path } = site();
  const { ask } = await startStaticServer(path);
  const answer = await ask('/ten.bin', { headers: { Range: range } });
  expect([answer.status, answer.body]).toEqual([status, body]);
  if (contentRange) expect(answer.headers['content-range']).toBe(contentRange);
});

test('If-Range gets a part only for the exact date of an older file, and otherwise the whole file', async () => {
  const { path } = site();
  const old = new Date(Date.UTC(2024, 4, 1, 12));
  utimesSync(join(path, 'ten.bin'), old, old);
  const { ask } = await startStaticServer(path);
  const range = { Range: 'bytes=2-4' };
  const { headers } = await ask('/ten.bin');
  const partial = { status: 206, body: '234', headers: { 'content-range': 'bytes 2-4/10' } };
  const whole = { status: 200, body: '0123456789', headers: { 'content-length': '10' } };
  expect(headers.etag).toMatch(/^W\//);
  expect(await ask('/ten.bin', { headers: { ...range, 'If-Range': headers['last-modified'] } })).toMatchObject(partial);
  for (const weak of [
    headers.etag,
    headers.etag.slice(2),
    `"x", ${headers.etag}`,
    new Date(old.getTime() + 60_000).toUTCString(),
    new Date(old.getTime() - 60_000).toUTCString(),
    'soon',
    '',
  ]) {
    expect(await ask('/ten.bin', { headers: { ...range, 'If-Range': weak } })).toMatchObject(whole);
  }
  const soon = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 60_000);
  utimesSync(join(path, 'ten.bin'), soon, soon);
  expect(await ask('/ten.bin', { headers: { ...range, 'If-Range': soon.toUTCString() } })).toMatchObject(whole);
});

test('every answer has the same Vary header, even 304 and 206', async () => {
  const { path } = site();
  const { ask } = await startStaticServer(path, { isSpa: true, cors: 'https://example.com' });
  const {
    headers: { etag },
  } = await ask('/app.js');
  for (const headers of [{}, { 'If-None-Match': etag }, { Range: 'bytes=0-99' }, { 'Accept-Encoding': 'br' }]) {
    const {
      headers: { vary },
    } = await ask('/app.js', { headers });
    expect(vary.split(', ').sort()).toEqual(['Accept-Encoding', 'Origin']);
  }
  const page = await ask('/some.where', { headers: HTML });
  expect([page.status, page.headers.vary.split(', ').sort()]).toEqual([200, ['Accept', 'Accept-Encoding', 'Origin']]);
});

test('text is compressed in the best encoding of the client, but not a range or a compressed type', async () => {
  const { path } = site();
  const { ask } = await startStaticServer(path);
  writeFileSync(join(path, 'photo.jpg'), Buffer.alloc(5_000));
  const bytes = (body) => Buffer.from(body, 'latin1');

  const br = await ask('/app.js', { headers: { 'Accept-Encoding': 'gzip, deflate, br' } });
  expect(br.headers).toMatchObject({ 'content-encoding': 'br', vary: expect.stringContaining('Accept-Encoding') });
  expect(brotliDecompressSync(bytes(br.body)).toString()).toBe(SCRIPT);
  const gzip = await ask('/app.js', { headers: { 'Accept-Encoding': 'gzip' } });
  expect(gzip.headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(bytes(gzip.body)).toString()).toBe(SCRIPT);
  expect((await ask('/app.js', { headers: { 'Accept-Encoding': 'br;q=0, gzip' } })).headers['content-encoding']).toBe(
    'gzip',
  );
  expect(await ask('/app.js')).toMatchObject({
    body: SCRIPT,
    headers: { vary: expect.stringContaining('Accept-Encoding') },
  });
  expect(
    (await ask('/photo.jpg', { headers: { 'Accept-Encoding': 'br' } })).headers['content-encoding'],
  ).toBeUndefined();

  const range = await ask('/app.js', { headers: { 'Accept-Encoding': 'br', Range: 'bytes=100-2999' } });
  expect(range).toMatchObject({ status: 206, body: SCRIPT.slice(100, 3000), headers: { 'content-length': '2900' } });
  expect(range.headers['content-encoding']).toBeUndefined();
});

test('pages are revalidated each time, and hashed assets are cached for ever', async () => {
  const { path } = site();
  const { ask } = await startStaticServer(path, { cache: '1h' });
  expect((await ask('/')).headers['cache-control']).toBe('no-cache');
  expect((await ask('/app.3f2a9c1b.js')).headers['cache-control']).toBe('public, max-age=31536000, immutable');
  expect((await ask('/app.js')).headers['cache-control']).toBe('public, max-age=3600');
  expect((await ask('/missing.3f2a9c1b.js')).headers['cache-control']).toBe('no-cache');
});

test('a folder sends its index page, and a path without the final slash redirects to it', async () => {
  const { path } = site();
  const { ask } = await startStaticServer(path);
  expect(await ask('/')).toMatchObject({
    status: 200,
    body: '<h1>home</h1>',
    headers: { 'content-type': 'text/html; charset=utf-8' },
  });
  expect(await ask('/docs/')).toMatchObject({ status: 200, body: '<h1>docs</h1>' });
  expect(await ask('/docs?a=b')).toMatchObject({ status: 301, headers: { location: '/docs/?a=b' } });
  expect(await ask('//docs')).toMatchObject({ status: 301, headers: { location: '/docs/' } });
  expect(await ask('http://other.example/docs/')).toMatchObject({ status: 200, body: '<h1>docs</h1>' });
  expect(await ask('/files/')).toMatchObject({ status: 404 });
  expect(await ask('/app.js/')).toMatchObject({ status: 404 });
});

test('spa: a missing page gets the home page, and a missing script a 404', async () => {
  const { path } = site();
  const { ask } = await startStaticServer(path, { isSpa: true });
  for (const accept of ['*/*', 'application/json', 'text/html;q=0'])
    for (const [route, status] of [
      ['/users/7', 200],
      ['/users/7/', 200],
      ['/users.x/7?file=a.js', 200],
      ['/v1.2', 404],
      ['/missing.html', 404],
    ])
      expect(await ask(route, { headers: { accept } }), `${route} ${accept}`).toMatchObject({ status });
  expect(await ask('/users/7', { headers: HTML })).toMatchObject({
    status: 200,
    body: '<h1>home</h1>',
    headers: { 'cache-control': 'no-cache' },
  });
  expect(await ask('/files/', { headers: HTML })).toMatchObject({ status: 200, body: '<h1>home</h1>' });
  expect(await ask('/missing.js', { headers: { accept: '*/*' } })).toMatchObject({ status: 404 });
  expect(await ask('/missing.js', { headers: { accept: 'text/html;q=0' } })).toMatchObject({ status: 404 });
  expect(await ask('/app.js', { headers: HTML })).toMatchObject({ status: 200, body: SCRIPT });
  expect(await ask('/.env', { headers: HTML })).toMatchObject({ status: 403 });
});

test('404.html is the page for missing files', async () => {
  const { path } = site();
  const { ask } = await startStaticServer(path);
  expect(await ask('/nothing')).toMatchObject({ status: 404, body: '404 Not Found\n' });
  writeFileSync(join(path, '404.html'), '<h1>lost</h1>');
  expect(await ask('/nothing', { headers: { Range: 'bytes=0-1' } })).toMatchObject({
    status: 404,
    body: '<h1>lost</h1>',
    headers: { 'cache-control': 'no-cache' },
  });
  expect(await ask('/nothing', { method: 'HEAD' })).toMatchObject({ status: 404, body: '' });
});

test('ftp: a folder is listed without the files that are not served, and names are escaped', async () => {
  const { root, path } = site();
  symlinkSync(root, join(path, 'files/out'));
  symlinkSync(path, join(path, 'files/in'));
  const { ask } = await startStaticServer(path, { hasListing: true });
  const page = await ask('/files/');
  expect(page).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } });
  expect([...page.body.matchAll(/href="([^"]*)"/g)].map(([, link]) => link)).toEqual([
    '../',
    '/files/deep/',
    '/files/in/',
    '/files/a%3Cb%3E%26.txt',
  ]);
  expect(page.body).not.toContain('a<b>');
  expect(await ask('/files/a%3Cb%3E%26.txt')).toMatchObject({ status: 200, body: 'a' });
  expect(await ask('/files')).toMatchObject({ status: 301 });
  expect(await ask('/docs/')).toMatchObject({ body: '<h1>docs</h1>' });
});

test('basic auth is checked before everything else', async () => {
  const { path } = site();
  const { ask } = await startStaticServer(path, { credentials: { username: 'ann', password: 'secret' } });
  const authorization = `Basic ${Buffer.from('ann:secret').toString('base64')}`;
  for (const target of ['/', '/app.js', '/missing', '/..', '/.env'])
    expect(await ask(target)).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': expect.stringContaining('Basic realm=') },
    });
  expect(await ask('/', { method: 'POST' })).toMatchObject({ status: 401 });
  expect(
    await ask('/', { headers: { authorization: `Basic ${Buffer.from('ann:other').toString('base64')}` } }),
  ).toMatchObject({ status: 401 });
  expect(await ask('/', { headers: { authorization } })).toMatchObject({
    status: 200,
    body: '<h1>home</h1>',
    headers: { 'cache-control': 'private, no-cache' },
  });
});

test.each(['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])('%s gets 405', async (method) => {
  const { path } = site();
  const { ask } = await startStaticServer(path);
  expect(await ask('/', { method })).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
});

test('a target that is not a regular file gets 404', async () => {
  const { path } = site();
  execFileSync('mkfifo', [join(path, 'pipe')]);
  symlinkSync('loop', join(path, 'loop'));
  symlinkSync('/dev/zero', join(path, 'zero'));
  const { ask } = await startStaticServer(path);
  for (const target of ['/pipe', '/loop', '/zero', `/${'x'.repeat(300)}`, `/${'x/'.repeat(3000)}`])
    expect(await ask(target)).toMatchObject({ status: 404 });
});

test('pages of other origins may read only with the cors option', async () => {
  const { path } = site();
  const shut = await startStaticServer(path);
  const open = await startStaticServer(path, { cors: '*' });
  expect((await shut.ask('/')).headers['access-control-allow-origin']).toBeUndefined();
  expect((await open.ask('/')).headers['access-control-allow-origin']).toBe('*');
});

test('a file that is truncated during the answer closes the connection before the next answer', async () => {
  const { path } = site();
  const file = join(path, 'large.bin');
  writeFileSync(file, Buffer.alloc(64 * 1024 * 1024));
  const { port } = await startStaticServer(path);
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  onTestFinished(() => void socket.destroy());
  let end = '';
  const closed = new Promise((resolve) => {
    socket.once('close', resolve);
  });
  socket.on('error', () => {});
  socket.write('GET /large.bin HTTP/1.1\r\nHost: x\r\n\r\nGET /docs/ HTTP/1.1\r\nHost: x\r\n\r\n');
  await new Promise((resolve) => {
    socket.once('readable', resolve);
  });
  truncateSync(file, 1024 * 1024);
  socket.on('data', (text) => {
    end = `${end}${text}`.slice(-2000);
  });
  await closed;
  expect(end).not.toContain('<h1>docs</h1>');
});

test('a link to a folder is resolved for each request', async () => {
  const { root, path } = site();
  symlinkSync('public', join(root, 'current'));
  const { ask } = await startStaticServer(join(root, 'current'));
  expect(await ask('/')).toMatchObject({ body: '<h1>home</h1>' });
  rmSync(join(root, 'current'));
  symlinkSync('public/docs', join(root, 'current'));
  expect(await ask('/')).toMatchObject({ body: '<h1>docs</h1>' });
  expect(path).toContain(root);
});

test('a missing folder is reported and ends the server', async () => {
  const { path } = site();
  await expect(startStaticServer(join(path, 'nope'))).rejects.toThrow(
    /The folder ".*nope" does not exist, or is not a folder/,
  );
});
