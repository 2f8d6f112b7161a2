import { execFileSync, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../daemon/control/host/clock.js';
import { createShipperPool } from '../../daemon/control/logs/shipping/shipper-pool.js';
import { createShipper } from '../../daemon/control/logs/shipping/shipper.js';
import { fixturePath } from '../helpers/fixtures.js';
import { isRoot, NOBODY, userFolders } from '../helpers/other-user.js';
import { takePort } from '../helpers/ports.js';
import { waitFor } from '../helpers/wait-for.js';

const atMs = Date.UTC(2026, 10, 21, 14, 3, 9, 45);

let endings = [];
let folder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nclust-ship-'));
});
afterEach(async () => {
  for (const end of endings.reverse()) await end();
  endings = [];
  rmSync(folder, { recursive: true, force: true });
});

function ship(target, user = null) {
  const parts = { name: 'api', userNow: () => user, clock: systemClock(), managerLog: () => {} };
  const shipper = createShipper(target, parts);
  endings.push(() => shipper.close());
  return shipper;
}

const message = (line, stream = 'out') =>
  `<${stream === 'out' ? 14 : 11}>1 2026-11-21T14:03:09.045Z ${hostname()} api 7 std${stream} - ${line}`;

const numbered = (count, text = 'line') => Array.from({ length: count }, (_, at) => `${text} ${at}`);

async function listen(where) {
  const sockets = [];
  const received = [];
  const server = createServer((socket) => {
    const at = sockets.push(socket) - 1;
    received[at] = '';
    socket.setEncoding('utf8').on('data', (text) => {
      received[at] += text;
    });
    // Ignores errors of the socket, because some tests break the connection.
    socket.on('error', () => {});
  });
  server.listen(where, typeof where === 'number' ? '127.0.0.1' : undefined);
  await once(server, 'listening');
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await new Promise((resolve) => void server.close(() => resolve()));
  };
  endings.push(close);
  const address = server.address();
  return { port: typeof address === 'object' && address ? address.port : 0, sockets, received, close };
}

/** Splits a text into messages of RFC 6587: the length comes before each message. */
function octetCounted(text) {
  const messages = [];
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length;) {
    const space = bytes.indexOf(' ', from);
    const end = space + 1 + Number(bytes.toString('latin1', from, space));
    messages.push(bytes.toString('utf8', space + 1, end));
    from = end;
  }
  return messages;
}

describe('shipping over TCP', () => {
  test('shipping over TCP sends each line as an RFC 5424 message with its length', async () => {
    const server = await listen(0);
    const shipper = ship(`syslog+tcp://127.0.0.1:${server.port}`);
    shipper.send('out', ['one', 'zwölf €'], atMs, 7);
    shipper.send('err', ['', 'oh'], atMs, 7);
    await waitFor('four lines to be sent', () => shipper.counters().sent === 4);
    const expected = [message('one'), message('zwölf €'), message('', 'err'), message('oh', 'err')];
    await waitFor('four messages', () => octetCounted(server.received[0]).length === 4);
    expect(octetCounted(server.received[0])).toEqual(expected);
  });

  test('shipping over TCP sends lines later that were written before the receiver started', async () => {
    const port = await takePort();
    const shipper = ship(`syslog+tcp://127.0.0.1:${port}`);
    shipper.send('out', numbered(100), atMs, 7);
    await waitFor('the connection to be refused', () => shipper.counters().problem === 'ECONNREFUSED');
    const server = await listen(port);
    await waitFor('all lines', () => server.received[0] && octetCounted(server.received[0]).length === 100);
    expect(octetCounted(server.received[0])).toEqual(numbered(100).map((line) => message(line)));
    expect(shipper.counters()).toMatchObject({ sent: 100, dropped: 0, problem: null });
  });

  test('shipping over TCP connects again after the receiver has closed', async () => {
    const server = await listen(0);
    const shipper = ship(`syslog+tcp://127.0.0.1:${server.port}`);
    shipper.send('out', ['one'], atMs, 7);
    await waitFor('the first line', () => server.received[0]?.includes('one'));
    server.sockets[0].end();
    await waitFor('the shipper to notice the end', () => shipper.counters().problem);
    shipper.send('out', ['two'], atMs, 7);
    await waitFor('the second line', () => server.received[1]?.includes('two'));
    expect(octetCounted(server.received[1])).toEqual([message('two')]);
    expect(shipper.counters()).toMatchObject({ sent: 2, dropped: 0 });
  });

  test('shipping drops lines while the receiver does not read, uses no memory, then sends the newest', async () => {
    const server = await listen(0);
    const shipper = ship(`syslog+tcp://127.0.0.1:${server.port}`);
    await waitFor('the connection', () => server.sockets.length === 1);
    server.sockets[0].pause();
    const line = 'x'.repeat(1_000);
    let taken = 0;
    // Sends many lines, because the system buffers some MB.
    await waitFor('lines to be dropped', () => {
      for (let at = 0; at < 2_000; at++, taken++) shipper.send('out', [`${line}${taken}`], atMs, 7);
      return shipper.counters().dropped > 5_000;
    });
    const { dropped } = shipper.counters();
    server.sockets[0].resume();
    await waitFor('the remaining lines to be sent', () => shipper.counters().sent === taken - dropped);
    await waitFor('the last line', () => server.received[0].endsWith(`x${taken - 1}`), { deadlineMs: 30_000 });
    expect(octetCounted(server.received[0])).toHaveLength(taken - dropped);
    expect(shipper.notice()).toContain(`${dropped} lines of "api"`);
  });

  test('shipping over TCP sends waiting lines on close', async () => {
    const server = await listen(0);
    const shipper = ship(`syslog+tcp://127.0.0.1:${server.port}`);
    shipper.send('out', numbered(5_000), atMs, 7);
    await shipper.close();
    await waitFor('the last line', () => server.received[0].endsWith('line 4999'));
    expect(octetCounted(server.received[0])).toHaveLength(5_000);
    expect(shipper.counters()).toMatchObject({ sent: 5_000, dropped: 0 });
  });
});

describe('shipping over UDP', () => {
  async function bind(port = 0) {
    const socket = createSocket('udp4');
    const received = [];
    socket.on('message', (bytes) => void received.push(bytes.toString()));
    socket.bind(port, '127.0.0.1');
    await once(socket, 'listening');
    endings.push(() => void socket.close());
    return { port: socket.address().port, received };
  }

  test('shipping over UDP sends each line as one datagram, and a long line as several', async () => {
    const { port, received } = await bind();
    const shipper = ship(`syslog+udp://127.0.0.1:${port}?facility=local0`);
    shipper.send('err', ['one', '𝄞'.repeat(1_500), 'end'], atMs, 7);
    await waitFor('the last datagram', () => received.at(-1)?.endsWith('- end'));
    const texts = received.map((text) => text.slice(text.indexOf(' - ') + 3));
    expect(texts).toEqual(['one', '𝄞'.repeat(1_000), '𝄞'.repeat(500), 'end']);
    expect(received[0]).toBe(message('one', 'err').replace('<11>', '<131>'));
    expect(shipper.counters()).toMatchObject({ sent: 3, dropped: 0 });
  });

  test('shipping over UDP notices a missing receiver, and keeps most lines until there is one', async () => {
    const { port, received } = await bind();
    endings.pop()?.();
    const shipper = ship(`syslog+udp://127.0.0.1:${port}`);
    await waitFor('the datagram to be refused', () => {
      shipper.send('out', ['lost'], atMs, 7);
      return shipper.counters().problem === 'ECONNREFUSED';
    });
    shipper.send('out', ['kept'], atMs, 7);
    const second = await bind(port);
    await waitFor('the line that waited', () => second.received.some((text) => text.endsWith('kept')));
    expect(received).toEqual([]);
  });

  test('shipping over UDP reports an unknown host', async () => {
    const shipper = ship('syslog+udp://no-such-host.invalid:514');
    await waitFor('the DNS error', () => /ENOTFOUND|EAI_AGAIN/.test(shipper.counters().problem ?? ''));
  });
});

describe('shipping over a Unix socket', () => {
  test('shipping over a Unix socket ends each line with a line feed on a stream socket', async () => {
    const path = join(folder, 'log.sock');
    const server = await listen(path);
    const shipper = ship(`syslog+unix://${path}`);
    shipper.send('out', ['one', 'two'], atMs, 7);
    await waitFor('both lines', () => server.received[0] === `${message('one')}\n${message('two')}\n`);
    expect(shipper.counters()).toMatchObject({ sent: 2, dropped: 0 });
  });

  test('shipping over a Unix socket waits for a missing socket', async () => {
    const path = join(folder, 'later.sock');
    const shipper = ship(`syslog+unix://${path}`);
    shipper.send('out', ['one'], atMs, 7);
    await waitFor('the error ENOENT', () => shipper.counters().problem === 'ENOENT');
    const server = await listen(path);
    await waitFor('the line', () => server.received[0] === `${message('one')}\n`);
  });

  async function datagramsAt(path) {
    const receiver = spawn('python3', [fixturePath('unix-datagrams.py'), path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let printed = '';
    receiver.stdout.setEncoding('utf8').on('data', (text) => {
      printed += text;
    });
    endings.push(async () => {
      const ended = once(receiver, 'exit');
      receiver.kill();
      await ended;
    });
    await waitFor('the receiver', () => printed.startsWith('listening'));
    return { printed: () => printed };
  }

  const hasLogger = existsSync('/usr/bin/logger');
  test.runIf(hasLogger)('shipping over a Unix socket uses logger(1) for a datagram socket like /dev/log', async () => {
    const path = join(folder, 'dgram.sock');
    const { printed } = await datagramsAt(path);
    const shipper = ship(`syslog+unix://${path}?facility=local0`);
    shipper.send('out', ['one'], atMs, 7);
    shipper.send('err', ['x'.repeat(5_000)], atMs, 7);
    await waitFor('both lines', () => printed().split('\n').length === 4);
    const [, first, second] = printed().split('\n');
    expect(first).toMatch(/^<134>.* api: one$/);
    expect(second).toMatch(/^<131>.* api: x{5000}$/);
    expect(shipper.counters()).toMatchObject({ sent: 2, dropped: 0, problem: null });
  });

  describe.runIf(isRoot)('for an app with another user', () => {
    test('shipping for another user connects if this user may, as root if only root can change the path', async () => {
      const { own, closed, plant } = userFolders();
      const sockets = [await listen(join(own, 'log.sock')), await listen(join(closed, 'log.sock'))];
      chmodSync(join(own, 'log.sock'), 0o666);
      plant('inwards', (path) => symlinkSync(join(closed, 'log.sock'), path));
      const refused = ship(`syslog+unix://${own}/inwards`, NOBODY);
      refused.send('out', ['refused'], atMs, 7);
      await waitFor('the error EACCES', () => refused.counters().problem === 'EACCES');
      for (const folder of [own, closed])
        ship(`syslog+unix://${folder}/log.sock`, NOBODY).send('out', ['one'], atMs, 7);
      for (const { received } of sockets) await waitFor('the line', () => received[0] === `${message('one')}\n`);
      expect(sockets.map(({ received }) => received.length)).toEqual([1, 1]);
    });

    test('shipping for another user is refused for a socket that this user may not write to', async () => {
      const { own } = userFolders();
      const { received } = await listen(join(own, 'log.sock'));
      chmodSync(join(own, 'log.sock'), 0o600);
      const shipper = ship(`syslog+unix://${own}/log.sock`, NOBODY);
      shipper.send('out', ['one'], atMs, 7);
      await waitFor('the error EACCES', () => shipper.counters().problem === 'EACCES');
      expect(received).toEqual([]);
    });

    test('shipping for another user uses the rights of this user for the next connection after root', async () => {
      const { own } = userFolders();
      const target = `syslog+unix://${own}/log.sock`;
      const shippers = createShipperPool({ clock: systemClock(), managerLog: () => {}, targetsOf: () => [target] });
      endings.push(() => shippers.close());
      const place = { id: 7, name: 'api', ship: [target] };
      for (const user of [null, NOBODY])
        shippers.send({ ...place, instanceId: String(user), user }, 'out', Buffer.from('one\n'));
      const { received } = await listen(join(own, 'log.sock'));
      chmodSync(join(own, 'log.sock'), 0o600);
      await waitFor('the error EACCES', () => shippers.countersOf('api')[0].problem === 'EACCES');
      expect(received).toEqual([]);
    });

    test.runIf(hasLogger)('shipping for another user runs logger(1) as this user', async () => {
      const { own } = userFolders();
      const path = join(own, 'dgram.sock');
      const { printed } = await datagramsAt(path);
      chmodSync(path, 0o666);
      const shipper = ship(`syslog+unix://${path}`, NOBODY);
      shipper.send('out', ['one'], atMs, 7);
      await waitFor('the line', () => / api: one$/m.test(printed()));
      const loggers = execFileSync('ps', ['-eo', 'pid=,uid=,args='], { encoding: 'utf8' })
        .split('\n')
        .filter((line) => line.includes(`logger --socket ${path}`));
      expect(loggers).toEqual([expect.stringMatching(/^ *\d+ +65534 /)]);
      // The user of the app can read the environment of logger(1), so the manager must not put
      // secrets of root there.
      const environment = readFileSync(`/proc/${Number.parseInt(loggers[0])}/environ`, 'utf8');
      expect(environment.split('\0').map((variable) => variable.split('=')[0])).not.toContain('HOME');
    });
  });
});

describe('shipping to a command', () => {
  test('shipping to a command keeps lines and order, and the command exits at the end of its input', async () => {
    const file = join(folder, 'out.txt');
    const shipper = ship(`exec:cat > ${file}; echo "end of $name" >> ${file}`);
    shipper.send('out', numbered(10_000), atMs, 7);
    shipper.send('err', ['', '"€"'], atMs, 7);
    await waitFor('all lines to be accepted', () => shipper.counters().sent === 10_002);
    await shipper.close();
    expect(readFileSync(file, 'utf8')).toBe(`${numbered(10_000).join('\n')}\n\n"€"\nend of api\n`);
  });

  test('shipping to a command starts a command that exits again, and reports its exit code', async () => {
    const file = join(folder, 'out.txt');
    const shipper = ship(`exec:head -n 1 >> ${file}; exit 3`);
    shipper.send('out', ['one'], atMs, 7);
    await waitFor('the command to exit', () => shipper.counters().problem === 'the command exited with code 3');
    await waitFor('the next command to run', () => shipper.counters().problem === null);
    shipper.send('out', ['two'], atMs, 7);
    await waitFor('the second line', () => readFileSync(file, 'utf8') === 'one\ntwo\n');
  });

  test('shipping to a command ends a command that ignores the end of its input, with all its children', async () => {
    const pidFile = join(folder, 'pid');
    const shipper = ship(`exec:sleep 1000 & echo $! > ${pidFile}; wait; true`);
    shipper.send('out', ['one'], atMs, 7);
    await waitFor('the command to run', () => existsSync(pidFile) && readFileSync(pidFile, 'utf8').endsWith('\n'));
    await shipper.close();
    const status = `/proc/${readFileSync(pidFile, 'utf8').trim()}/stat`;
    await waitFor(
      'the child of the command to exit',
      () => !existsSync(status) || readFileSync(status, 'utf8').includes(') Z '),
    );
  });

  test('shipping to a command drops lines of a command that does not read, and starts only one process', async () => {
    const pidFile = join(folder, 'pid');
    const shipper = ship(`exec:echo $$ >> ${pidFile}; exec sleep 1000`);
    endings.push(() => execFileSync('kill', readFileSync(pidFile, 'utf8').trim().split('\n')));
    const line = 'x'.repeat(1_000);
    await waitFor('lines to be dropped', () => {
      for (let at = 0; at < 500; at++) shipper.send('out', [line], atMs, 7);
      return shipper.counters().dropped > 1_000;
    });
    expect(shipper.counters().sent).toBeLessThan(200);
    await shipper.close();
    expect(readFileSync(pidFile, 'utf8').trim().split('\n')).toHaveLength(1);
  });
});

test('a command that reads slowly gets all lines, even after the app has stopped', async () => {
  const file = join(folder, 'out.txt');
  const target = `exec:sleep 3; cat > ${file}; echo end >> ${file}`;
  const shippers = createShipperPool({ clock: systemClock(), managerLog: () => {}, targetsOf: () => [target] });
  endings.push(() => shippers.close());
  const lines = numbered(8_000, 'a line of the app that has stopped');
  shippers.send({ instanceId: 'i', id: 7, name: 'api', ship: [target] }, 'out', Buffer.from(`${lines.join('\n')}\n`));
  shippers.release('i');
  await waitFor('the command to exit', () => existsSync(file) && readFileSync(file, 'utf8').endsWith('end\n'));
  expect(readFileSync(file, 'utf8')).toBe(`${lines.join('\n')}\nend\n`);
  expect(shippers.countersOf('api')).toEqual([{ target, sent: 8_000, dropped: 0, problem: null }]);
});
