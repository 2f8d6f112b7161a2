import { get } from 'node:http';
import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { realKeeper } from '../helpers/keeper.js';
import { takePort } from '../helpers/ports.js';
import { waitFor } from '../helpers/wait-for.js';

const ask = (to) =>
  new Promise((resolve, reject) => {
    get({ agent: false, timeout: 2_000, ...to }, (response) => {
      let body = '';
      response
        .setEncoding('utf8')
        .on('data', (text) => {
          body += text;
        })
        .on('end', () => resolve(JSON.parse(body)));
    })
      .on('error', reject)
      .on('timeout', function hung() {
        this.destroy(new Error('hung'));
      });
  });

const MODES = ['cluster', 'fork'];

describe.each(MODES)('listen() in %s mode', (mode) => {
  const run = (keeper, id, code, params = {}) =>
    keeper.spawnNode(id, 'runs-code', { mode, ...params, env: { CODE: code } });

  test('listen() works again on the same port after close()', async () => {
    const keeper = await realKeeper();
    const port = await takePort();
    const { pid } = await run(
      keeper,
      'one',
      `
      const server = http.createServer(answer);
      server.on('error', (error) => say('failed', error.code));
      server.listen(${port}, () => { server.close(); server.listen(${port}, () => say('again')); });`,
    );
    await keeper.says('one', 'again');
    expect(keeper.output('one')).not.toContain('failed');
    expect(await ask({ port })).toMatchObject({ pid });
  });

  test('listen() gives EADDRINUSE to a second server of the process on the same port', async () => {
    const keeper = await realKeeper();
    const port = await takePort();
    await run(
      keeper,
      'one',
      `
      for (const name of ['a', 'b']) {
        const server = http.createServer(answer).on('error', (error) => say(name, error.code));
        server.listen(${port}, () => say(name, 'listens'));
      }`,
    );
    await keeper.says('one', 'a listens');
    await keeper.says('one', 'b EADDRINUSE');
    expect(keeper.output('one')).not.toContain('b listens');
  });

  test('listen() gives the EADDRINUSE of Node.js for a taken exclusive port', async () => {
    const keeper = await realKeeper();
    const port = await takePort();
    const stranger = createServer().listen(port);
    await run(
      keeper,
      'one',
      `http.createServer(answer).on('error', (error) => say(error.message, error.port)).listen({ port: ` +
        `${port}, exclusive: true }, () => say('listens'));`,
    );
    await keeper.says('one', `listen EADDRINUSE: address already in use :::${port} ${port}`);
    stranger.close();
  });

  test('listen(undefined, host) listens on that host only', async () => {
    const keeper = await realKeeper();
    await run(
      keeper,
      'one',
      `const server = http.createServer(answer).listen(undefined, '127.0.0.1', () => say('at', ` +
        `server.address().address));`,
    );
    await keeper.says('one', 'at 127.0.0.1');
  });

  test('listen() closes the server on an aborted signal', async () => {
    const keeper = await realKeeper();
    const port = await takePort();
    await run(
      keeper,
      'one',
      `
      const abort = new AbortController();
      const server = http.createServer(answer).on('close', () => say('closed'));
      server.listen({ port: ${port}, signal: abort.signal }, () => abort.abort());
      setInterval(() => {}, 1000);`,
    );
    await keeper.says('one', 'closed');
    await waitFor('the port to be refused', () =>
      ask({ port }).then(
        () => false,
        (error) => error.code === 'ECONNREFUSED',
      ),
    );
  });

  test('listen() throws for an invalid port as in Node.js', async () => {
    const keeper = await realKeeper();
    await run(
      keeper,
      'one',
      `try { http.createServer().listen(70000) } catch (error) { say(error.code) } setInterval(() => {}, 1000);`,
    );
    await keeper.says('one', 'ERR_SOCKET_BAD_PORT');
  });

  test('the port refuses clients once the last worker has closed the server, and lets none wait', async () => {
    const keeper = await realKeeper();
    const port = await takePort();
    await run(
      keeper,
      'one',
      `const server = http.createServer(answer).listen(${port}, () => server.close(() => say('closed'))); ` +
        `setInterval(() => {}, 1000);`,
    );
    await keeper.says('one', 'closed');
    await waitFor('the port to be refused', () =>
      ask({ port }).then(
        () => false,
        (error) => error.code === 'ECONNREFUSED',
      ),
    );
    expect((await keeper.call('snapshot')).listeners).toEqual([]);
  });

  test('port 0 leaves no socket behind after it was opened and closed', async () => {
    const keeper = await realKeeper();
    await run(
      keeper,
      'one',
      `
      let left = 50;
      const next = () => {
        const closed = () => (left-- > 0 ? next() : say('done'));
        const server = http.createServer().listen(0, '127.0.0.1', () => server.close(closed));
      };
      next();
      setInterval(() => {}, 1000);`,
    );
    await keeper.says('one', 'done');
    await waitFor('no sockets', async () => (await keeper.call('snapshot')).listeners.length === 0);
  });

  test('listen() lets the next instance bind another address of the port, and then another port', async () => {
    const keeper = await realKeeper();
    const [port, other] = [await takePort(), await takePort()];
    const lives = { one: `${port}`, two: `${port}, '127.0.0.1'`, three: `${other}` };
    for (const [id, where] of Object.entries(lives)) {
      const { pid } = await run(keeper, id, `http.createServer(answer).listen(${where}, () => say('listens'));`);
      await keeper.says(id, 'listens');
      expect(await ask({ host: '127.0.0.1', port: id === 'three' ? other : port })).toMatchObject({ pid });
      if (id === 'three') break;
      process.kill(pid, 'SIGKILL');
      await keeper.event('gone', id);
    }
    await waitFor('the old port to be refused', () =>
      ask({ host: '127.0.0.1', port }).then(
        () => false,
        (error) => error.code === 'ECONNREFUSED',
      ),
    );
  });

  test('the app can close its server in its signal handler as without a process manager', async () => {
    const keeper = await realKeeper();
    await run(
      keeper,
      'one',
      `
      const server = http.createServer(answer).on('close', () => say('close event')).listen(0, () => say('listens'));
      process.on('SIGTERM', () => {
        say('SIGTERM');
        server.close((error) => { say('closed', error ? error.code : 'well'); process.exit(0); });
      });`,
    );
    await keeper.says('one', 'listens');
    await keeper.retire('one');
    await keeper.event('exited', 'one');
    await keeper.says('one', 'closed well');
    expect(keeper.output('one').indexOf('SIGTERM')).toBeLessThan(keeper.output('one').indexOf('close event'));
  });

  test('a SIGTERM handler can run even if the drain never ends', async () => {
    const keeper = await realKeeper();
    const port = await takePort();
    await run(
      keeper,
      'one',
      `
      http.createServer((request, response) => response.write('data: 1\\n\\n')).listen(${port}, () => say('listens'));
      process.on('SIGTERM', () => { say('SIGTERM'); process.exit(0); });`,
    );
    await keeper.says('one', 'listens');
    await new Promise((resolve) => get({ port }, resolve).on('error', () => {}));
    await keeper.retire('one', { killTimeoutMs: 1_000 });
    expect(await keeper.event('exited', 'one')).toMatchObject({ data: { code: 0 } });
    await keeper.says('one', 'SIGTERM');
  });
});

test('one of two fork-mode apps that start at once on one port gets it, and the other gets EADDRINUSE', async () => {
  const keeper = await realKeeper();
  for (let round = 0; round < 6; round += 1) {
    const port = await takePort();
    const code =
      `http.createServer(answer).on('error', (error) => { say(error.code); process.exit(1); ` +
      `}).listen(${port}, () => say('listens'));`;
    const ids = ['a', 'b'].map((name) => `${name}${round}`);
    await Promise.all(
      ids.map((id) => keeper.spawnNode(id, 'runs-code', { mode: 'fork', app: id, env: { CODE: code } })),
    );
    await Promise.race(ids.map((id) => keeper.event('exited', id)));
    expect(
      ids.filter((id) => keeper.events.some((one) => one.event === 'exited' && one.data.instanceId === id)),
    ).toHaveLength(1);
    expect((await ask({ port })).pid).toBeGreaterThan(0);
    for (const id of ids) await keeper.retire(id, { killTimeoutMs: 0 });
  }
});

test.each([
  [{ host: '127.0.0.1' }, { host: '::1' }],
  [{ host: '::', ipv6Only: true }, { host: '0.0.0.0' }],
])('two apps on different addresses of one port, %o and %o, do not conflict', async (first, second) => {
  const keeper = await realKeeper();
  const port = await takePort();
  for (const [id, where] of Object.entries({ first, second })) {
    await keeper.spawnNode(id, 'runs-code', {
      app: id,
      env: { CODE: `http.createServer(answer).listen(${JSON.stringify({ port, ...where })}, () => say('listens'));` },
    });
    await keeper.says(id, 'listens');
  }
});

test('an orphan that calls listen() survives, and the next keeper works normally', async () => {
  const first = await realKeeper();
  const port = await takePort();
  const { pid } = await first.spawnNode('one', 'runs-code', {
    env: {
      CODE: `
    http.createServer(answer).listen(0, () => say('listens'));
    process.on('SIGUSR2', () => {
      const server = http.createServer(answer).on('error', (error) => say(error.code));
      server.listen(${port}, () => say('listens late'));
    });`,
    },
  });
  await first.event('listening', 'one');
  const facts = (await first.call('snapshot')).children[0];
  await first.kill();
  const second = await realKeeper({ home: first.home });
  await second.call('adopt', facts);
  process.kill(pid, 'SIGUSR2');
  await first.says('one', 'listens late');
  expect(await ask({ port })).toMatchObject({ pid });
});

test('with another program on the port, the keeper asks each of two orphans once and refuses the app', async () => {
  const first = await realKeeper();
  const port = await takePort();
  for (const id of ['one', 'two']) {
    await first.spawnNode(id, 'runs-code', {
      env: { CODE: `http.createServer(answer).listen(0, () => say('listens'));` },
    });
    await first.event('listening', id);
  }
  const orphans = (await first.call('snapshot')).children;
  await first.kill();
  const stranger = createServer().listen(port);
  const second = await realKeeper({ home: first.home });
  for (const facts of orphans) await second.call('adopt', facts);
  await second.spawnNode('new', 'runs-code', {
    env: { CODE: `http.createServer(answer).on('error', (error) => say(error.message)).listen(${port});` },
  });
  await second.says('new', 'EADDRINUSE');
  expect(second.output('new')).toContain('held by a program outside of this nclust');
  stranger.close();
});
