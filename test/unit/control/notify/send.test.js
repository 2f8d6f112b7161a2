import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../../daemon/control/host/clock.js';
import { makeTestMessage } from '../../../../daemon/control/notify/message.js';
import { send } from '../../../../daemon/control/notify/send.js';
import { createFakeClock } from '../../../helpers/fake-clock.js';

const MESSAGE = makeTestMessage({ id: 'one', at: 1, host: 'web-1', home: '/home', link: null });

let folder;
const servers = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-notify-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function receiver(answer) {
  const got = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      got.push({ path: request.url, type: request.headers['content-type'], body });
      answer(response, request);
    });
  });
  servers.push(server);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { got, url: `http://127.0.0.1:${server.address().port}/secret-path` };
}

describe('over HTTP', () => {
  test('the message is posted as JSON', async () => {
    const { got, url } = await receiver((response) => response.end('ok'));
    expect(await send(url, MESSAGE, systemClock())).toBe(null);
    expect(got).toEqual([{ path: '/secret-path', type: 'application/json', body: JSON.stringify(MESSAGE) }]);
  });

  test('the address is read from a file at each send', async () => {
    const { got, url } = await receiver((response) => response.end());
    const file = join(folder, 'address');
    expect(await send(`slack:file:${file}`, MESSAGE, systemClock())).toMatchObject({
      reason: expect.stringMatching(/^its file ".*address" could not be read \(ENOENT\)$/),
    });
    writeFileSync(file, `${url}\nmore`);
    expect(await send(`slack:file:${file}`, MESSAGE, systemClock())).toBe(null);
    expect(JSON.parse(got[0].body).text).toContain('*test: nclust on host web-1*');
    writeFileSync(file, 'secret words');
    const { reason } = await send(`file:${file}`, MESSAGE, systemClock());
    expect(reason).toMatch(/^the first line of its file ".*" is not an http\(s\) address$/);
  });

  test('a receiver that never answers is given up after 10 s', async () => {
    let asked;
    const isAsked = new Promise((resolve) => (asked = resolve));
    const { url } = await receiver(() => asked());
    const clock = createFakeClock();
    const sent = send(url, MESSAGE, clock);
    await isAsked;
    clock.advance(10_000);
    expect(await sent).toEqual({ reason: 'it did not answer within 10s' });
    expect(clock.pending()).toBe(0);
  });

  test('an answer without an end is not read to the end', async () => {
    let written = 0;
    const flood = (response) => {
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(1_024))) written += 1;
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    };
    const { url } = await receiver((response) => flood(response.writeHead(200)));
    expect(await send(url, MESSAGE, systemClock())).toBe(null);
    const failing = await receiver((response) => flood(response.writeHead(500)));
    expect(await send(failing.url, MESSAGE, systemClock())).toMatchObject({
      reason: 'it answers with status 500 (Internal Server Error)',
    });
    expect(written).toBeLessThan(20_000);
  });

  test.each([
    [400, { isRefused: true }, /^it answers with status 400 \(Bad Request\)$/],
    [404, { isRefused: false }, /status 404/],
    [429, { isRefused: false, retryAfterMs: 7_000 }, /status 429/],
    [503, { isRefused: false, retryAfterMs: 7_000 }, /status 503/],
    [302, { isRefused: false }, /status 302 \(Found\), and redirects are not followed$/],
  ])('status %i', async (status, more, reason) => {
    const headers = { 'retry-after': status > 404 ? '7' : '', location: 'http://127.0.0.1:1/' };
    const { got, url } = await receiver((response) => response.writeHead(status, headers).end('no'));
    const failure = await send(url, MESSAGE, systemClock());
    expect(failure).toMatchObject({ ...more, reason: expect.stringMatching(reason) });
    expect(got).toHaveLength(1);
  });

  test('a pause of more than an hour is an hour', async () => {
    const { url } = await receiver((response) => response.writeHead(429, { 'retry-after': '999999' }).end());
    expect(await send(url, MESSAGE, systemClock())).toMatchObject({ retryAfterMs: 3_600_000 });
  });

  test('the reason of a failure contains no secret', async () => {
    const { url } = await receiver((response, request) =>
      response.writeHead(404, `No ${request.url}`).end(`Cannot POST ${request.url}`),
    );
    expect((await send(url, MESSAGE, systemClock())).reason).toBe('it answers with status 404 (Not Found)');
    const refused = url.replace(/:\d+/, ':1');
    expect((await send(refused, MESSAGE, systemClock())).reason).toBe('it cannot be reached (ECONNREFUSED)');
  });
});

describe('to a program', () => {
  test('a command gets the message on its standard input', async () => {
    const file = join(folder, 'got');
    expect(await send(`exec:cat > ${file}`, MESSAGE, systemClock())).toBe(null);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(MESSAGE);
  });

  test('a command that does not read its input has not failed', async () => {
    const long = { ...MESSAGE, text: 'x'.repeat(1_000_000) };
    expect(await send('exec:true', long, systemClock())).toBe(null);
  });

  test('a command that fails', async () => {
    expect(await send('exec:exit 3', MESSAGE, systemClock())).toEqual({ reason: 'the command exited with code 3' });
  });

  test('a command that hangs is killed after 10 s, with its children', async () => {
    const file = join(folder, 'pid');
    const clock = createFakeClock();
    const sent = send(`exec:sleep 600 & echo $! > ${file}; wait`, MESSAGE, clock);
    const pid = await vi.waitUntil(() => Number(tryRead(file)), { timeout: 5_000 });
    clock.advance(10_000);
    expect(await sent).toEqual({ reason: 'the command did not exit within 10s' });
    await vi.waitUntil(() => !isAlive(pid), { timeout: 5_000 });
  });

  test('sendmail of PATH gets a mail', async () => {
    const program = join(folder, 'sendmail');
    writeFileSync(program, `#!/bin/sh\necho "$@" > ${folder}/args; cat > ${folder}/mail\n`);
    chmodSync(program, 0o755);
    vi.stubEnv('PATH', `${folder}:${process.env.PATH}`);
    expect(await send('mail:ops@example.com', MESSAGE, systemClock())).toBe(null);
    expect(readFileSync(join(folder, 'args'), 'utf8')).toBe('-t -i\n');
    expect(readFileSync(join(folder, 'mail'), 'utf8')).toMatch(
      /^To: ops@example.com\nSubject: test: nclust on host web-1\n/,
    );
  });
});

function tryRead(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function isAlive(pid) {
  try {
    // A zombie whose parent has not collected it yet is not alive.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
