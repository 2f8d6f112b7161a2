import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../daemon/control/host/clock.js';
import { findForeground, NO_FOREGROUND } from '../../daemon/control/logs/foreground.js';
import { createFrameReader, outputSocket } from '../../lib/shared/wire/output-frame.js';
import { waitFor } from '../helpers/wait-for.js';

const PLACE = { instanceId: 'i', id: 3, name: 'api', isMuted: false, overflow: 'block' };
const BIG = Buffer.alloc(256 * 1024, 'x');

function runFolder() {
  const run = mkdtempSync(join(tmpdir(), 'nclust-run-'));
  onTestFinished(() => rmSync(run, { recursive: true, force: true }));
  mkdirSync(run, { recursive: true });
  return run;
}

async function foreground({ isReading = true } = {}) {
  const run = runFolder();
  const received = { bytes: 0, text: '', heads: [] };
  const sockets = [];
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.push(socket);
    const read = createFrameReader((head, bytes) => {
      received.heads.push(head);
      received.bytes += bytes.length;
      received.text = (received.text + bytes.toString('latin1')).slice(-1_000);
    });
    // Ignores errors of the socket, because some tests break the connection.
    socket.on('data', read).on('error', () => {});
    if (isReading) socket.resume();
  });
  await new Promise((resolve) => void server.listen(outputSocket(run), () => resolve(undefined)));
  const onGone = vi.fn();
  const link = await findForeground(run, { clock: systemClock(), onGone });
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await link.close();
  });
  await waitFor('the connection', () => sockets.length === 1);
  return { link, received, onGone, read: () => sockets[0].resume(), die: () => sockets[0].destroy() };
}

test('without a foreground run, writes do not wait and nothing is lost', async () => {
  expect(await findForeground(runFolder(), { clock: systemClock(), onGone() {} })).toBe(NO_FOREGROUND);
  expect(NO_FOREGROUND.write(PLACE, 'out', BIG)).toBeNull();
});

test('output arrives with its instance, stream and end', async () => {
  const { link, received } = await foreground();
  expect(link.write(PLACE, 'err', Buffer.from('oops\n'))).toBeNull();
  link.end(PLACE, 'err');
  await waitFor('two frames', () => received.heads.length === 2);
  expect(received.text).toBe('oops\n');
  expect(received.heads).toEqual([
    expect.objectContaining({ instanceId: 'i', id: 3, name: 'api', stream: 'err', atMs: expect.any(Number) }),
    expect.objectContaining({ isEnd: true }),
  ]);
});

test('the output of a muted app is not sent', async () => {
  const { link, received } = await foreground();
  link.write({ ...PLACE, isMuted: true }, 'out', Buffer.from('secret\n'));
  link.write(PLACE, 'out', Buffer.from('open\n'));
  await waitFor('the open line', () => received.text === 'open\n');
});

test('a writer waits for a slow reader, and everything arrives', async () => {
  const { link, received, read } = await foreground({ isReading: false });
  let hasMoved = false;
  const sent = link.write(PLACE, 'out', BIG)?.then(() => {
    hasMoved = true;
  });
  expect(sent).toBeInstanceOf(Promise);
  const next = link.write(PLACE, 'out', Buffer.from('last\n'));
  expect(hasMoved).toBe(false);
  read();
  await Promise.all([sent, next]);
  await waitFor('all bytes', () => received.bytes === BIG.length + 5);
  expect(received.text.endsWith('last\n')).toBe(true);
});

test('a writer with overflow "drop" does not wait, and its lost lines are counted', async () => {
  const { link } = await foreground({ isReading: false });
  const dropping = { ...PLACE, overflow: 'drop' };
  for (let at = 0; at < 8; at++) expect(link.write(dropping, 'out', BIG)).toBeNull();
  expect(link.write(dropping, 'out', Buffer.from('one\ntwo\n'))).toBeNull();
  expect(link.lossesOf('api')?.recent()).toMatchObject({ lines: 2 });
  expect(link.notices()).toEqual([expect.stringContaining('"api" could not be shown')]);
});

test('the end of the foreground run is reported, and waiting writers go on', async () => {
  const { link, onGone, die } = await foreground({ isReading: false });
  const sent = link.write(PLACE, 'out', BIG);
  die();
  await sent;
  await waitFor('the report', () => onGone.mock.calls.length === 1);
  expect(link.write(PLACE, 'out', BIG)).toBeNull();
});

test('close() waits until everything is sent, and loses nothing', async () => {
  const { link, received, onGone, read } = await foreground({ isReading: false });
  void link.write(PLACE, 'out', BIG);
  const closed = link.close();
  read();
  await closed;
  await waitFor('all bytes', () => received.bytes === BIG.length);
  expect(onGone).not.toHaveBeenCalled();
});

test('finish() sends what the kernel accepts, and returns after its time limit', async () => {
  const { link, received, read } = await foreground({ isReading: false });
  void link.write(PLACE, 'out', BIG);
  const startedMono = performance.now();
  link.finish();
  expect(performance.now() - startedMono).toBeGreaterThan(900);
  read();
  await waitFor('the remaining bytes', () => received.bytes === BIG.length);
});
