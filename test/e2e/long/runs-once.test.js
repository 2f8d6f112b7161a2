import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { takePort } from '../../helpers/ports.js';
import { sandbox } from '../../helpers/sandbox.js';

// Two instances of these apps cannot run at once. A failed reload keeps the old instance.

const SERVES = `require('node:http').createServer((_, response) => response.end('{}'))`;

const HELD = [
  'which another instance of the app \\(pid \\d+\\) holds',
  'cannot run side by side: use nclust restart instead of reload',
].join('.*');

const APPS = [
  [
    'a UDP port',
    (port) => `${SERVES}.listen(${port}, () => require('node:dgram').createSocket('udp4').bind(${port}));`,
    new RegExp(`could not listen on UDP 0\\.0\\.0\\.0:\\d+, ${HELD}`, 's'),
  ],
  [
    'an exclusive port',
    (port) => `${SERVES}.listen({ port: ${port}, exclusive: true });`,
    new RegExp(`could not listen on port \\d+, ${HELD}`, 's'),
  ],
  [
    'a lock',
    (port) => `
      const { openSync, rmSync } = require('node:fs');
      try { openSync('lock', 'wx'); } catch { console.error('runs already'); process.exit(1); }
      process.on('SIGTERM', () => { rmSync('lock'); process.exit(); });
      ${SERVES}.listen(${port});`,
    /exited with code 1.*runs already.*If two instances cannot run side by side, run: nclust restart once/s,
  ],
];

describe.runIf(process.platform === 'linux')('a failed reload of an app that cannot share', () => {
  test.each(APPS)('a failed reload of an app that needs %s suggests restart, which works', async (_, code, says) => {
    const home = await sandbox();
    const port = await takePort();
    writeFileSync(join(home.work, 'once.js'), code(port));
    expect(await home.nclust('start', 'once.js')).toMatchObject({ exitStatus: 0 });
    const [{ pid }] = await home.list();
    const reloaded = await home.nclust('reload', 'once');
    expect(reloaded).toMatchObject({ exitStatus: 1, stdout: '' });
    expect(reloaded.stderr).toMatch(says);
    expect(await home.list()).toMatchObject([{ pid, status: 'online' }]);
    expect((await fetch(`http://127.0.0.1:${port}`)).status).toBe(200);
    expect(await home.nclust('restart', 'once')).toMatchObject({ exitStatus: 0 });
  });
});

test('a taken UDP port is not named as the cause of death if the app handled the error', async () => {
  const home = await sandbox();
  const port = await takePort();
  const stranger = createSocket('udp4').bind(port);
  onTestFinished(() => void stranger.close());
  await once(stranger, 'listening');
  writeFileSync(
    join(home.work, 'handles.js'),
    `process.on('uncaughtException', () => console.log('handled')).on('SIGUSR2', () => process.exit(3));
     ${SERVES}.listen(${await takePort()}, () => require('node:dgram').createSocket('udp4').bind(${port}));`,
  );
  expect(await home.nclust('start', 'handles.js', '--no-autorestart')).toMatchObject({ exitStatus: 0 });
  await home.waitFor('the app to handle the error', async () =>
    (await home.nclust('logs', 'handles', '--nostream', '--raw')).stdout.includes('handled'),
  );
  await home.nclust('sendSignal', 'SIGUSR2', 'handles');
  await home.waitFor('the app to be listed as stopped', async () => (await home.list())[0].status === 'stopped');
  expect((await home.list())[0].lastDeath).toMatchObject({ code: 3 });
  expect((await home.nclust('describe', 'handles')).stdout).not.toContain('UDP');
});
