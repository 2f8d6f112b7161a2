import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createStaticServer } from '../../../../lib/serve/handler.js';
import { nextAccepted } from '../../../helpers/accepted-socket.js';
import { askRaw } from '../../../helpers/static-server.js';
import { waitFor, within } from '../../../helpers/wait-for.js';

const NOBODY = 65_534;

async function serve({ hasListing = false, stalledMs } = {}) {
  const path = mkdtempSync(join(tmpdir(), 'nclust-strangers-'));
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
