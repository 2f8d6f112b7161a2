import { fork } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { takePort } from '../../helpers/ports.js';
import { fetchOnce } from '../../helpers/sandbox-app.js';
import { sandbox } from '../../helpers/sandbox.js';

const BUSY = fileURLToPath(new URL('../../rings/busy.js', import.meta.url));

describe('beside four busy loops', () => {
  beforeEach(() => {
    const loops = Array.from({ length: 4 }, () => fork(BUSY));
    onTestFinished(() => loops.forEach((loop) => void loop.kill('SIGKILL')));
  });

  test.each([
    [14, [['reload', 'all']]],
    [40, []],
  ])(
    'a boot of %i s of computing is online without a restart, in cluster and fork mode',
    async (seconds, again) => {
      const home = await sandbox();
      const ports = [await takePort(), await takePort()];
      const script = home.place('computes-at-boot');
      const env = (port) => ({ PORT: String(port), BOOT_MS: String(seconds * 1_000) });
      const apps = [
        { name: 'cluster', script, instances: 2, env: env(ports[0]) },
        { name: 'fork', script, env: env(ports[1]) },
      ];
      const file = join(home.work, 'apps.json');
      writeFileSync(file, JSON.stringify({ apps }));
      for (const words of [['start', file], ...again]) {
        const result = await home.nclust(...words, { timeoutMs: 600_000 });
        expect(result.exitStatus, result.stderr).toBe(0);
        expect(result.stderr).toMatch(/"(cluster|fork)" still loads after 1\ds\. .*up to 5 minutes/);
        for (const port of ports) expect(await fetchOnce(`http://127.0.0.1:${port}`)).toContain('"pid"');
        const restarts = words[0] === 'start' ? 0 : expect.any(Number);
        const online = { status: 'online', unstableRestarts: 0, restarts };
        const slots = await home.list();
        expect(slots).toMatchObject([online, online, online]);
        const loadedMs = slots.map(({ startedAtMs, onlineSinceMs }) => onlineSinceMs - startedAtMs);
        expect(Math.min(...loadedMs)).toBeGreaterThanOrEqual(seconds * 1_000);
      }
      expect((await home.list()).flatMap(({ lastDeath }) => lastDeath?.cause)).not.toContain('boot-timeout');
    },
    600_000,
  );

  test.each([
    ['in cluster mode', ['-i', '1']],
    ['in fork mode', []],
  ])('an app that waits for nothing fails at its limit, with the reason, %s', async (_what, mode) => {
    const home = await sandbox();
    const flags = ['--listen-timeout', '4000', '--kill-timeout', '500'];
    const { exitStatus, stderr } = await home.nclust('start', home.place('hangs-at-boot'), ...mode, ...flags);
    expect({ exitStatus, stderr }).toMatchObject({
      exitStatus: 1,
      stderr: expect.stringContaining('was not ready in 4s (it was still loading its main module)'),
    });
    expect(stderr).not.toContain('still loads');
  });
});

describe('with min_uptime 10s', () => {
  test.each([
    ['npm', () => ({ script: 'npm', args: 'start' })],
    ['a shell', () => ({ script: 'exec node app.js' })],
    ['an npm script in a shell', () => ({ script: 'npm start' })],
    ['node as a program', () => ({ script: 'node', args: 'app.js' })],
    ['Python', (home) => ({ script: home.place('python.py') })],
  ])(
    'start, restart and reload of a server behind %s take less than min_uptime',
    async (_what, app) => {
      const home = await sandbox();
      const port = await takePort();
      writeFileSync(join(home.work, 'app.js'), readFileSync(home.place('http-echo'), 'utf8'));
      writeFileSync(join(home.work, 'package.json'), '{"name":"x","scripts":{"start":"node app.js"}}');
      const file = join(home.work, 'apps.json');
      const one = { name: 'api', min_uptime: '40s', env: { PORT: String(port) }, ...app(home) };
      writeFileSync(file, JSON.stringify({ apps: [one] }));
      for (const words of [
        ['start', file],
        ['restart', 'api'],
        ['reload', 'api'],
      ]) {
        const beganMono = performance.now();
        const result = await home.nclust(...words, { timeoutMs: 60_000 });
        expect(result.exitStatus, result.stderr).toBe(0);
        expect(performance.now() - beganMono).toBeLessThan(35_000);
        expect(await fetchOnce(`http://127.0.0.1:${port}`)).toBeTruthy();
      }
    },
    200_000,
  );
});

describe('wait_ready', () => {
  const TIMES = ['--wait-ready', '--listen-timeout', '2500'];

  test('wait_ready in a server that never sends "ready" is a warning of start, list and describe', async () => {
    const home = await sandbox();
    const env = { PORT: String(await takePort()) };
    const warning = /"http-echo" has wait_ready, but has never sent "ready"/;
    const started = await home.nclust('start', home.place('http-echo'), ...TIMES, { env });
    expect(started).toMatchObject({ exitStatus: 0, stderr: expect.stringMatching(warning) });
    for (const words of [['list'], ['describe', 'http-echo']])
      expect(await home.nclust(...words)).toMatchObject({ stderr: expect.stringMatching(warning) });
  });

  test('wait_ready in a Python server is a warning of validate and start', async () => {
    const home = await sandbox();
    const file = join(home.work, 'apps.json');
    const app = { name: 'py', script: home.place('python.py'), wait_ready: true, listen_timeout: 2_500 };
    writeFileSync(file, JSON.stringify({ apps: [{ ...app, env: { PORT: String(await takePort()) } }] }));
    const warning = /"py" has wait_ready, but .*listen_timeout \(2\.5s\) if it listens/;
    for (const command of ['validate', 'start'])
      expect(await home.nclust(command, file)).toMatchObject({
        exitStatus: 0,
        stderr: expect.stringMatching(warning),
      });
    expect(await home.list()).toMatchObject([{ status: 'online', restarts: 0 }]);
  });

  test('a reload to code that hangs before "ready" is refused if the app sent it before', async () => {
    const home = await sandbox();
    const script = join(home.work, 'app.js');
    const serves = (then) =>
      writeFileSync(script, `require('http').createServer().listen(process.env.PORT, '127.0.0.1', () => ${then});`);
    serves("process.send('ready')");
    const env = { PORT: String(await takePort()) };
    expect(await home.nclust('start', script, '-i', '2', ...TIMES, { env })).toMatchObject({ exitStatus: 0 });
    const before = (await home.list()).map(({ pid }) => pid);
    const { controlPid } = await home.daemon();
    process.kill(controlPid, 'SIGKILL');
    serves('{}');
    expect(await home.nclust('reload', 'app')).toMatchObject({
      exitStatus: 1,
      stderr: expect.stringContaining('it did not send "ready"'),
    });
    expect((await home.list()).map(({ pid }) => pid)).toEqual(before);
  });
});
