import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer, get } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createStaticServer } from '../../../../lib/serve/handler.js';
import { locate } from '../../../../lib/serve/path.js';
import { sendFile } from '../../../../lib/serve/respond.js';
import { nextAccepted } from '../../../helpers/accepted-socket.js';
import { askRaw } from '../../../helpers/static-server.js';
import { waitFor, within } from '../../../helpers/wait-for.js';

const NOBODY = 65_534;

async function serve({ hasListing = false, stalledMs, parent = tmpdir() } = {}) {
  const path = mkdtempSync(join(parent, 'nclust-strangers-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  chmodSync(path, 0o755);
  const said = [];
  const settings = {
    path,
    port: 0,
    host: '127.0.0.1',
    isSpa: false,
    hasListing,
    homepage: 'index.html',
    credentials: null,
    cache: '',
    cors: '',
  };
  const server = createStaticServer(settings, (sentence) => said.push(sentence), stalledMs);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { path, said, port: server.address().port };
}

/** Changes to a user without rights, because root may read everything. */
function becomeNobody() {
  if (process.getuid?.() !== 0) return;
  process.seteuid?.(NOBODY);
  onTestFinished(() => void process.seteuid?.(0));
}

const openFiles = (path) =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(path);
    } catch {
      // readdirSync() has closed this descriptor, which it used to read the folder.
      return false;
    }
  }).length;

test('a client that requests many files and reads none opens one file, and none once it has left', async () => {
  const { path, port, said } = await serve();
  writeFileSync(join(path, 'large.bin'), Buffer.alloc(16 * 1024 * 1024));
  const raw = connect(port, '127.0.0.1');
  raw.on('error', () => {}).pause();
  raw.write('GET /large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(30));
  await waitFor('the file', () => openFiles(path) > 0);
  // These later requests read the file system in the same way. After their answers, the server has
  // opened every file that it wants to open.
  for (let at = 0; at < 20; at += 1) await askRaw(port, '/missing');
  expect(openFiles(path)).toBe(1);
  raw.destroy();
  await waitFor('the file to be closed', () => openFiles(path) === 0);
  expect(said).toEqual([]);
});

test('a client that does not read loses its connection', async () => {
  const { path, port } = await serve({ stalledMs: 100 });
  writeFileSync(join(path, 'large.bin'), Buffer.alloc(16 * 1024 * 1024));
  const accepted = nextAccepted(port);
  const raw = connect(port, '127.0.0.1');
  raw.on('error', () => {}).pause();
  raw.write('GET /large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const socket = await accepted;
  await within('the end', new Promise((resolve) => socket.once('close', resolve)), 10_000);
  raw.destroy();
  await waitFor('the file to be closed', () => openFiles(path) === 0);
});

test('a file that the server may not read gets status 404', async () => {
  const { path, port, said } = await serve();
  writeFileSync(join(path, 'private.txt'), 'x', { mode: 0 });
  becomeNobody();
  expect(await askRaw(port, '/private.txt')).toMatchObject({ status: 404 });
  expect(said).toEqual([]);
});

test('a folder that the server may enter but not read is not listed', async () => {
  const { path, port, said } = await serve({ hasListing: true });
  mkdirSync(join(path, 'inner'));
  writeFileSync(join(path, 'inner/file.txt'), 'x');
  chmodSync(join(path, 'inner'), 0o711);
  becomeNobody();
  expect(await askRaw(port, '/inner/')).toMatchObject({ status: 404 });
  expect(await askRaw(port, '/inner/file.txt')).toMatchObject({ status: 200, body: 'x' });
  expect(said).toEqual([]);
});

const SHM = '/dev/shm';

test.skipIf(!existsSync(SHM))('a file with a time that is not a date is sent and listed without a time', async () => {
  const { path, port, said } = await serve({ hasListing: true, parent: SHM });
  writeFileSync(join(path, 'a.txt'), 'text');
  utimesSync(join(path, 'a.txt'), 0, 8.64e12 + 1);
  for (const headers of [
    {},
    { 'If-Modified-Since': 'Sat, 13 Sep 275760 00:00:01 GMT' },
    { 'If-None-Match': 'W/"4-NaN"' },
  ]) {
    const file = await askRaw(port, '/a.txt', { headers });
    expect([file.status, file.body, file.headers['last-modified'], file.headers.etag]).toEqual([
      200,
      'text',
      undefined,
      undefined,
    ]);
  }
  const listing = await askRaw(port, '/');
  expect([listing.status, listing.body, said]).toEqual([200, expect.stringContaining('<td>4</td><td></td>'), []]);
});

test('a folder that is replaced by a link after the check leads to no other file', async () => {
  const path = mkdtempSync(join(tmpdir(), 'nclust-strangers-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  const [root, other] = [join(path, 'root'), join(path, 'other')];
  for (const folder of [join(root, 'd'), other]) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'file'), folder === other ? 'secret' : 'page');
  }
  const found = await locate(root, ['d', 'file']);
  const server = createServer((request, response) => void sendFile(request, response, found, () => 'no-cache'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  expect(await askRaw(server.address().port, '/')).toMatchObject({ status: 200, body: 'page' });
  renameSync(join(root, 'd'), join(root, 'before'));
  symlinkSync(other, join(root, 'd'));
  expect(await askRaw(server.address().port, '/')).toMatchObject({ status: 404 });
});

test('a client that leaves before its file is read does not end the server', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'nclust-strangers-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'a.txt');
  writeFileSync(file, 'text');
  const failures = [];
  const onFailure = (error) => failures.push(error);
  process.on('uncaughtException', onFailure);
  onTestFinished(() => void process.off('uncaughtException', onFailure));
  const found = { root: folder, file, bytes: 4, modifiedAtMs: 0 };
  const gone = new Promise((resolve) => {
    const server = createServer(async (request, response) => {
      // send() has asked for this file before, so it has its answer when these have theirs.
      response.once(
        'close',
        () =>
          void stat(file)
            .then(() => stat(file))
            .then(resolve),
      );
      await sendFile(request, response, found, () => 'no-cache');
      response.destroy();
    });
    onTestFinished(() => void server.close());
    server.listen(0, '127.0.0.1', () => get({ port: server.address().port }).on('error', () => {}));
  });
  await gone;
  expect(failures).toEqual([]);
});
