import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ask } from '../helpers/connections.js';
import { countDescriptors } from '../helpers/footprint.js';
import { realKeeper } from '../helpers/keeper.js';
import { isRoot, NOBODY, userFolders } from '../helpers/other-user.js';
import { takePort } from '../helpers/ports.js';
import { waitFor } from '../helpers/wait-for.js';

// The keeper of root gives an app of another user a channel that carries no descriptors to the
// keeper. Everything else works as in an app of the same user.

const STAYS = 'setInterval(() => {}, 1 << 30);';
const MODES = ['fork', 'cluster'];

async function opened(o = {}) {
  const keeper = await realKeeper({ isOpen: true, ...o });
  await keeper.call('subscribe-messages', { isOn: true });
  const start = (id, code, params = {}) =>
    keeper.spawnNode(id, 'runs-code', { mode: 'fork', cwd: '/', ...NOBODY, ...params, env: { CODE: code } });
  const stop = async (id) => {
    await keeper.retire(id, { drain: 'handover' });
    await keeper.event('gone', id);
  };
  const said = () =>
    keeper.events.filter(({ event }) => event === 'app-message').map(({ data }) => JSON.parse(data.text));
  return { keeper, start, stop, said };
}

const hasPython = () => {
  try {
    execFileSync('python3', ['--version']);
    return true;
  } catch {
    return false;
  }
};

describe.runIf(isRoot).each(MODES)('%s: an app of another user', (mode) => {
  test('an app of another user sends and gets messages, and is ready', async () => {
    const { keeper, start, said } = await opened();
    await start(
      'one',
      `process.on('message', (message) => process.send({ type: 'echo', data: message }));
      process.send('ready');
      process.send({ type: 'mine', data: ['ü'.repeat(100_000)] });`,
      { mode },
    );
    await keeper.event('ready', 'one');
    await keeper.event('booted', 'one');
    await waitFor('the message', () => said().length === 1);
    const packet = { topic: 'x', data: 'ö'.repeat(300_000) };
    await keeper.call('send-message', { instanceId: 'one', message: packet });
    await keeper.call('send-message', { instanceId: 'one', message: 'short' });
    await waitFor('the echo', () => said().length === 2);
    expect(said()).toEqual([
      { type: 'mine', data: ['ü'.repeat(100_000)] },
      { type: 'echo', data: 'short' },
    ]);
    await keeper.call('ping', { instanceId: 'one', timeoutMs: 10_000 });
  });

  test('an app of another user gives its messages in order, also if the keeper reads them late', async () => {
    const { keeper, start, said } = await opened({ isHostile: true });
    await start(
      'one',
      `for (let at = 0; at < 900; at += 1) process.send(at, () => at === 899 && say('has sent all'));
      say('queued', process.send('last'));`,
      { mode },
    );
    await keeper.says('one', 'has sent all');
    await waitFor('the last message', () => said().at(-1) === 'last');
    expect(said()).toEqual([...Array(900).keys(), 'last']);
  });

  test('an app of another user gets the answer if it sends a socket, and only the message arrives', async () => {
    const { keeper, start, said } = await opened({ isHostile: true });
    await start(
      'one',
      `const server = http.createServer(answer).listen({ port: 0, exclusive: true }, () => {
        process.send('with a server', server, () => say('was sent'));
        process.send('behind it', () => say('was sent, too'));
      });`,
      { mode },
    );
    await keeper.says('one', 'was sent, too');
    await waitFor('both messages', () => said().length === 2);
    expect([said(), keeper.output('one')]).toEqual([
      ['with a server', 'behind it'],
      expect.stringContaining('was sent\n'),
    ]);
  });

  test('an app of another user can leave its channel, and serves on until its end', async () => {
    const { keeper, start, stop } = await opened();
    const port = await takePort();
    await start(
      'one',
      `http.createServer(answer).listen(${port}, () => process.send('bye', () => process.disconnect()));
      process.on('disconnect', () => say('left', process.connected));`,
      { mode },
    );
    await keeper.says('one', 'left false');
    const before = countDescriptors(keeper.pid);
    expect(await ask({ port })).toMatchObject({ pid: expect.any(Number) });
    const refusal = () =>
      keeper.call('send-message', { instanceId: 'one', message: 'x' }).then(
        () => null,
        ({ code }) => code,
      );
    await waitFor('the keeper to see the end', async () => (await refusal()) === 'EPIPE');
    await stop('one');
    expect(countDescriptors(keeper.pid)).toBeLessThanOrEqual(before);
  });

  test('an app of another user has the same traces of its channel as others, and passes none on', async () => {
    const { keeper, start } = await opened();
    // The agent closes a server, of which Node.js forgets the handle a little later.
    const code = `const { execFileSync } = require('node:child_process');
      const { readlinkSync } = require('node:fs');
      const seen = execFileSync('sh', ['-c', 'ls -l /proc/self/fd; env'], { stdio: ['ignore', 'pipe', 'ignore'] });
      const isSeen = (fd) => seen.includes(readlinkSync('/proc/self/fd/' + fd));
      say('passed on', seen.includes('\\nNCLUST_AGENT=') || seen.includes('\\nNODE_CHANNEL_FD='), isSeen(3), isSeen(4));
      setTimeout(() => say(
        'active', process.getActiveResourcesInfo().filter((name) => name !== 'TCPServerWrap'), Object.keys(process),
        process.listenerCount('error'), '.'
      ));`;
    await start('one', code, { mode });
    await start('own', code, { mode, uid: undefined, gid: undefined });
    for (const id of ['one', 'own']) await keeper.says(id, ' .\n');
    expect(keeper.output('one')).toContain('passed on false false false\n');
    expect(keeper.output('one').split('active')[1]).toEqual(keeper.output('own').split('active')[1]);
  });

  test('an app of another user does not see its channel end before the keeper dies', async () => {
    const { keeper, start } = await opened();
    const { pid } = await start('one', `${STAYS} process.on('disconnect', () => say('lost')); say('runs');`, { mode });
    await keeper.says('one', 'runs');
    expect(keeper.output('one')).not.toContain('lost');
    await keeper.kill();
    await keeper.says('one', 'lost');
    process.kill(pid, 0);
  });

  test('an app of another user cannot write to its channel, and nonsense in its lane harms only itself', async () => {
    const { keeper, start } = await opened({ isHostile: true });
    await start(
      'one',
      `const fs = require('node:fs');
      process.on('disconnect', () => say('is cut off'));
      const write = (fd, text) => {
        try {
          say('wrote', fs.writeSync(fd, text));
        } catch ({ code }) {
          say(code);
        }
      };
      write(3, '{"a":1}\\n');
      write(4, '{]\\n');
      ${STAYS}`,
      { mode },
    );
    await keeper.says('one', 'is cut off');
    expect(keeper.output('one')).toMatch(/EPIPE\n.*wrote 3\n/s);
    expect((await keeper.call('snapshot')).children).toMatchObject([{ exit: null }]);
  });

  test('an app of another user does not end if a preload before the agent sends a message', async () => {
    const { keeper, start } = await opened();
    const folder = userFolders();
    const code = "process.send('early'); process.send('early, too');";
    const early = folder.plant('early.cjs', (path) => writeFileSync(path, code));
    await start('one', `${STAYS} setTimeout(() => say('runs', process.listenerCount('error')));`, {
      mode,
      execArgv: ['--require', early],
    });
    await keeper.says('one', 'runs');
  });
});

test.runIf(isRoot)('cluster: workers of another user share a UDP socket', async () => {
  const { keeper, start } = await opened();
  const port = await takePort();
  const code = `require('dgram').createSocket('udp4').on('error', ({ code }) => say('refused', code))
    .on('listening', () => say('listens')).bind(${port}, '127.0.0.1');`;
  for (const id of ['one', 'two']) {
    await start(id, code, { mode: 'cluster' });
    await keeper.says(id, 'listens');
  }
});

test.runIf(isRoot)('cluster: workers of another user keep their connections', async () => {
  const { keeper, start } = await opened();
  const port = await takePort();
  for (const id of ['one', 'two']) {
    await start(id, `http.createServer(answer).listen(${port});`, { mode: 'cluster', scheduling: 'sticky' });
    await keeper.event('listening', id);
  }
  for (let at = 0; at < 20; at += 1) expect(await ask({ port })).toMatchObject({ pid: expect.any(Number) });
});

describe.runIf(isRoot)('fork: the socket of an app with another user', () => {
  const inodesOf = (pid) =>
    readdirSync(`/proc/${pid}/fd`)
      .map((fd) => (existsSync(`/proc/${pid}/fd/${fd}`) ? readlinkSync(`/proc/${pid}/fd/${fd}`) : ''))
      .filter((name) => name.startsWith('socket:'));
  const listening = `const server = http.createServer(answer);
    const show = (name) => say(name, JSON.stringify(server.address()));`;

  test.each([
    ['a port', () => takePort()],
    ['port 0', () => 0],
  ])('listen() on %s is synchronous, and the socket survives the app', async (_what, choose) => {
    const { keeper, start, stop } = await opened();
    const wanted = await choose();
    const code = `${listening} server.listen(${wanted}, () => show('later')); show('at once');`;
    const { pid } = await start('one', code);
    const { address, port } = (await keeper.event('listening', 'one')).data;
    const shown = `{"address":"::","family":"IPv6","port":${port}}`;
    expect(keeper.output('one')).toContain(`at once ${shown}\nruns-code later ${shown}`);
    expect(address).toBe('::');
    if (wanted !== 0) expect(port).toBe(wanted);
    expect(await ask({ port })).toMatchObject({ pid });
    const { sockets } = await keeper.call('sockets');
    expect(sockets).toMatchObject([{ address: '::', port, users: [expect.any(String)] }]);
    expect(inodesOf(pid).filter((name) => inodesOf(keeper.pid).includes(name))).toHaveLength(1);

    await stop('one');
    const waits = ask({ port });
    const next = await start('two', code);
    expect(await waits).toMatchObject({ pid: next.pid });
    await keeper.says('two', `at once ${shown}`);
  });

  test('listen() at a path is synchronous, and the socket survives the app with its mode', async () => {
    const { keeper, start, stop } = await opened();
    const path = join(userFolders().own, 'app.sock');
    const text = JSON.stringify(path);
    const code = `${listening} server.listen(${text}, () => show('later')); show('at once');
      if (process.env.NCLUST_INSTANCE.startsWith('one')) require('fs').chmodSync(${text}, 0o660);`;
    const { pid } = await start('one', code);
    await keeper.event('listening', 'one');
    expect(keeper.output('one')).toContain(`at once ${text}\nruns-code later ${text}`);
    expect(statSync(path)).toMatchObject({ ...NOBODY, mode: 0o140660 });
    expect(await ask({ socketPath: path })).toMatchObject({ pid });
    await stop('one');
    const waits = ask({ socketPath: path });
    const next = await start('two', code);
    expect(await waits).toMatchObject({ pid: next.pid });
  });

  test('the socket loses no request that the app itself sends when it listens', async () => {
    const { keeper, start } = await opened();
    await start(
      'one',
      `const server = http.createServer(answer).listen(0, '127.0.0.1', () => {
        const { port } = server.address();
        let left = 20;
        for (let at = 0; at < 20; at += 1)
          http.get({ port, host: '127.0.0.1', agent: false }, (response) => response.resume().on('end', () => {
            if ((left -= 1) === 0) say('has all answers');
          }));
      });`,
    );
    await keeper.says('one', 'has all answers');
  });

  test('the socket is given back if the app only checks the port', async () => {
    const { keeper, start } = await opened();
    const port = await takePort();
    await start(
      'one',
      `const server = http.createServer().listen(${port}, () => server.close(() => say('is free')));
      ${STAYS}`,
    );
    await keeper.says('one', 'is free');
    expect(await keeper.call('sockets')).toEqual({ sockets: [] });
  });

  test('the socket serves the workers of an app that uses node:cluster', async () => {
    const { keeper, stop } = await opened();
    const port = await takePort();
    const { own, plant } = userFolders();
    const code = `const cluster = require('node:cluster');
      const answer = (_, response) => response.end(JSON.stringify({ pid: process.ppid }));
      if (cluster.isWorker) require('node:http').createServer(answer).listen(${port});
      else cluster.fork();`;
    const script = plant('app.cjs', (path) => writeFileSync(path, code));
    const params = { ...NOBODY, mode: 'fork', cwd: own, script };
    for (const id of ['one', 'two']) {
      const { pid } = await keeper.spawnNode(id, '', params);
      const answered = await waitFor(`an answer of ${id}`, async () => {
        const answer = await ask({ port }).catch(() => null);
        return answer?.pid === pid && answer;
      });
      expect(answered).toMatchObject({ pid });
      await waitFor('the keeper to hold the socket', async () => (await keeper.call('sockets')).sockets.length === 1);
      if (id === 'one') await stop(id);
    }
  });
});

describe.runIf(isRoot && hasPython())('exec: a program of another user', () => {
  const PYTHON = `
import os, json, sys
fd = int(os.environ['NODE_CHANNEL_FD'])
def send(message): os.write(fd, (json.dumps(message) + '\\n').encode())
send('ready')
line = b''
while not line.endswith(b'\\n'):
    part = os.read(fd, 65536)
    if not part: sys.exit(3)
    line += part
send({'type': 'echo', 'data': json.loads(line)})
send('x' * 200000)
`;

  test('a program of another user gets and sends lines over its channel, also right before it exits', async () => {
    const { keeper, said } = await opened();
    const before = countDescriptors(keeper.pid);
    const params = { file: 'python3', args: ['-c', PYTHON], cwd: '/', hasChannel: true, ...NOBODY };
    await keeper.spawn('one', params);
    await keeper.event('ready', 'one');
    await keeper.call('send-message', { instanceId: 'one', message: 'hello' });
    await keeper.event('gone', 'one');
    await waitFor('all messages', () => said().length === 2);
    expect(said()).toEqual([{ type: 'echo', data: 'hello' }, 'x'.repeat(200_000)]);
    await keeper.call('forget', { instanceId: 'one' });
    await waitFor('the descriptors to be closed', () => countDescriptors(keeper.pid) <= before);
  });

  test('a program passes the channel on to Node.js, whose process.disconnect() closes nothing else', async () => {
    const { keeper, said } = await opened();
    const node = process.env.NCLUST_TEST_NODE ?? process.execPath;
    const code = `process.on("message", (data) => process.send({ data }, () => process.disconnect()));
      process.on("SIGTERM", () => process.exit(0));
      process.on("disconnect", () => { console.log("has left"); setInterval(() => {}, 1 << 30); });
      process.send("ready");`;
    const params = { file: 'sh', args: ['-c', `"${node}" -e '${code}'; exit 0`], hasPreload: true };
    await keeper.spawn('one', { ...params, cwd: '/', hasChannel: true, ...NOBODY });
    await keeper.event('ready', 'one');
    await keeper.call('send-message', { instanceId: 'one', message: 'ö'.repeat(100_000) });
    await keeper.says('one', 'has left');
    await waitFor('the echo', () => said().length === 1);
    expect(said()).toEqual([{ data: 'ö'.repeat(100_000) }]);
    await keeper.retire('one');
    await keeper.event('gone', 'one');
  });

  test('a program that cannot be started leaves nothing open', async () => {
    const { keeper } = await opened();
    await keeper.spawn('first', { file: 'true', cwd: '/', ...NOBODY });
    await keeper.event('gone', 'first');
    await keeper.call('forget', { instanceId: 'first' });
    const before = countDescriptors(keeper.pid);
    for (const mode of ['exec', 'fork', 'cluster']) {
      const params = { mode, file: '/not-there', script: '/x.js', cwd: '/', hasChannel: true, ...NOBODY };
      await expect(keeper.spawn(mode, params)).rejects.toMatchObject({ code: 'ENOENT' });
    }
    await waitFor('the descriptors to be closed', () => countDescriptors(keeper.pid) <= before);
  });
});
