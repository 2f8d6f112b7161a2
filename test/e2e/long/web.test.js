import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fetchRaw, openPage, partsOf } from '../../helpers/page.js';
import { killIfThere, residentBytes } from '../../helpers/processes.js';
import { sandbox } from '../../helpers/sandbox.js';

const SECRET = 'hunter2-of-the-environment';
const token = () => crypto.randomUUID();

/** @returns {Promise<string>} */
async function turnOn(home, ...options) {
  const { stdout, exitStatus, stderr } = await home.nclust('web', '--listen', '127.0.0.1:0', ...options);
  expect(exitStatus, stderr).toBe(0);
  expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{43}\n$/);
  return stdout.trim();
}

test('the page is served with everything it needs, and stdout has its address only', async () => {
  const home = await sandbox();
  const { stdout, stderr } = await home.nclust('web', '--listen', '127.0.0.1:0');
  expect(stderr).toContain('can view the dashboard, but change nothing');
  const url = stdout.trim();
  const { status, headers, text } = await fetchRaw(url, '/');
  expect(status).toBe(200);
  expect(headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': expect.stringContaining("default-src 'none'; script-src 'self'; style-src 'self'"),
  });
  const named = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => new URL(path, url).pathname);
  expect(named.length).toBeGreaterThan(0);
  for (const path of named) expect(await fetchRaw(url, path), path).toMatchObject({ status: 200 });
  // The page has no inline scripts, because its policy forbids inline scripts.
  expect(text).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|https?:\/\/(?!www\.w3\.org)/i);

  expect((await home.nclust('web')).stdout).toBe(stdout);
  const json = JSON.parse((await home.nclust('web', '--json')).stdout);
  expect(json).toMatchObject({ isOn: true, url, mayAct: false, isRemote: false });
  expect(statSync(join(home.home, 'web.token')).mode & 0o777).toBe(0o600);
  const seen = [
    (await home.nclust('get')).stdout,
    (await home.nclust('report')).stdout,
    (await home.nclust('jlist')).stdout,
    readFileSync(join(home.home, 'nclust.log'), 'utf8'),
    readFileSync(join(home.home, 'settings.json'), 'utf8'),
  ];
  expect(seen.join('\n')).not.toContain(partsOf(url).token);
});

test('a page reads apps, figures, logs and events, but no variables, and may change nothing', async () => {
  const home = await sandbox();
  const app = await home.app('serves-all', { env: { DB_PASSWORD: SECRET } });
  const page = await openPage(await turnOn(home));
  expect(page.welcome).toMatchObject({ home: home.home, mayAct: false, pollMs: 1_000, version: expect.any(String) });
  const { slots } = await page.request('list', { detail: true });
  expect(slots).toMatchObject([{ name: app.name, status: 'online', spec: { kind: 'node' } }]);
  const { history } = await page.request('metrics', {
    follow: true,
    subscription: 'm',
    history: { points: 10, of: 'apps' },
  });
  expect(history.points).toBe(10);
  expect(await page.nextNotification()).toMatchObject({
    method: 'metrics',
    params: { subscription: 'm', workers: [{ name: app.name }] },
  });
  await page.request('unsubscribe', { subscription: 'm' });
  await page.request('logs', { lines: 5, follow: true, subscription: 'l' });
  const { events } = await page.request('eventLog', { follow: true, subscription: 'e' });
  expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(['added', 'started', 'ready']));
  expect(JSON.stringify([slots, events])).not.toContain(SECRET);
  await expect(page.request('restart', { targets: [app.name], token: token() })).rejects.toMatchObject({
    code: -32000,
    message: expect.stringContaining('not allowed from the dashboard'),
    data: { code: 'ERR_NCLUST_WEB_REFUSED' },
  });
  await expect(page.request('set', { key: 'web.actions', value: 'true' })).rejects.toMatchObject({
    data: { code: 'ERR_NCLUST_WEB_REFUSED' },
  });
  await expect(page.request('web', { mayAct: true })).rejects.toMatchObject({
    data: { code: 'ERR_NCLUST_WEB_REFUSED' },
  });
  expect(await app.instances()).toMatchObject([{ restarts: 0 }]);

  await home.nclust('stop', app.name);
  const nextEvent = async () => {
    for (;;) {
      const { method, params } = await page.nextNotification();
      if (method === 'event' && params.events.some((event) => event.type === 'stop'))
        return params.events.find((event) => event.type === 'stop');
    }
  };
  expect(await nextEvent()).toMatchObject({ app: app.name, by: 'stop' });
  page.close();
});

test('an action of a page is done, and the event log names the dashboard', async () => {
  const home = await sandbox();
  const app = await home.app('serves-all', { instances: 2 });
  const page = await openPage(await turnOn(home, '--allow-actions'));
  expect(page.welcome).toMatchObject({ mayAct: true });
  expect(await page.request('reload', { targets: [app.name], token: token() })).toMatchObject({
    slots: [
      { status: 'online', restarts: 1 },
      { status: 'online', restarts: 1 },
    ],
  });
  await page.request('scale', { target: app.name, instances: '1', token: token() });
  await page.request('stop', { targets: [app.name], token: token() });
  expect(await home.list()).toMatchObject([{ status: 'stopped' }]);
  const { stdout } = await home.nclust('events', '--nostream', '--type', 'rollout:began,scaled,stop');
  for (const word of [
    'reload of 2 instances began (the web dashboard)',
    'was scaled from 2 to 1 (the web dashboard)',
    'was asked to stop (the web dashboard)',
  ])
    expect(stdout).toContain(word);
  expect((await home.nclust('why', app.name)).stdout).toMatch(/is stopped since .*: the web dashboard\./);
  page.close();
});

test('the address survives control, and a page can connect again', async () => {
  const home = await sandbox();
  const url = await turnOn(home);
  const page = await openPage(url);
  const { controlPid } = await home.daemon();
  killIfThere(controlPid);
  expect(await page.closed).toBe(1006);
  const again = await home.waitFor('the page to connect again', () => openPage(url).catch(() => null));
  expect((await again.request('hello')).controlPid).not.toBe(controlPid);
  expect((await home.nclust('web')).stdout.trim()).toBe(url);
  again.close();

  expect((await home.nclust('web', '--off')).stderr).toContain('not served any more');
  await expect(fetchRaw(url, '/')).rejects.toThrow('ECONNREFUSED');
  expect(existsSync(join(home.home, 'web.token'))).toBe(false);
  expect((await home.nclust('get', 'web.listen')).stdout).toContain('none');
  expect((await home.nclust('web', '--off')).stderr).toContain('was not served');
});

test('an address that is taken, invalid or reachable from other machines is refused with the reason', async () => {
  const home = await sandbox();
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address();
  expect(await home.nclust('web', '--listen', String(port))).toMatchObject({
    exitStatus: 1,
    stdout: '',
    stderr: expect.stringContaining(
      `The dashboard cannot be served on "127.0.0.1:${port}": another program has this address.`,
    ),
  });
  expect(await home.nclust('web', '--listen', 'somewhere')).toMatchObject({
    exitStatus: 2,
    stderr: expect.stringContaining('accepted: a port'),
  });
  expect(await home.nclust('web', '--listen', `0.0.0.0:${port}`)).toMatchObject({
    exitStatus: 2,
    stderr: expect.stringContaining('--allow-remote'),
  });
  expect((await home.nclust('get', 'web.listen')).stdout).toContain('none');
  other.close();
});

test('web --off without a manager starts none, and the next manager serves no dashboard', async () => {
  const home = await sandbox();
  const none = { exitStatus: 0, stdout: '', stderr: `No nclust runs in "${home.home}", so no dashboard is served.\n` };
  expect(await home.nclust('web', '--off')).toMatchObject(none);
  expect(existsSync(home.home)).toBe(false);

  const url = await turnOn(home, '--allow-actions');
  await home.nclust('set', 'logs.max_files', '3');
  await home.nclust('kill');
  expect(await home.nclust('web', '--off')).toMatchObject({
    exitStatus: 0,
    stdout: '',
    stderr:
      `No nclust runs in "${home.home}", so no dashboard is served. ` + 'The next manager will not serve one either.\n',
  });
  expect(home.processes()).toEqual([]);
  const settings = join(home.home, 'settings.json');
  expect(JSON.parse(readFileSync(settings, 'utf8'))).toEqual({ 'logs.max_files': '3' });
  expect(statSync(settings).mode & 0o777).toBe(0o600);
  expect(existsSync(join(home.home, 'web.token'))).toBe(false);
  expect(await home.nclust('web', '--off')).toMatchObject(none);
  expect((await home.nclust('web', '--off', '--json')).json()).toEqual({ isOn: false, wasOn: false });

  await home.nclust('get');
  await home.nclust('unset', 'logs.max_files');
  expect((await home.daemon()).controlPid).toBeGreaterThan(0);
  await expect(fetchRaw(url, '/')).rejects.toThrow('ECONNREFUSED');
  await home.nclust('kill');
  writeFileSync(settings, '{ "web.listen"');
  expect(await home.nclust('web', '--off')).toMatchObject({
    exitStatus: 1,
    stdout: '',
    stderr: expect.stringContaining(`The settings in "${settings}" cannot be changed: it is not JSON`),
  });
  expect(readFileSync(settings, 'utf8')).toBe('{ "web.listen"');
  expect(home.processes()).toEqual([]);
});

test('a listen setting with a taken address is accepted with a notice, which the list repeats', async () => {
  const home = await sandbox();
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address();
  const taken = `127.0.0.1:${port}`;
  for (const [key, what, often, instead] of [
    ['metrics.listen', '/metrics', '5 seconds', 'nclust set metrics.listen 127.0.0.1:PORT'],
    ['web.listen', 'The dashboard', 'second', 'nclust web --listen 127.0.0.1:0'],
  ]) {
    expect(await home.nclust('set', key, taken)).toMatchObject({
      exitStatus: 0,
      stderr:
        `"${key}" is ${taken} now.\nIt is not served yet: another program has this address. ` +
        `nclust tries again every ${often}.\n`,
    });
    expect((await home.nclust('list')).stderr).toContain(
      `${what} is not served on "${taken}": another program has this address (EADDRINUSE). ` +
        `nclust keeps trying. For another address: ${instead}\n`,
    );
    await home.nclust('unset', key);
  }
  other.close();
  await once(other, 'close');
  expect((await home.nclust('set', 'metrics.listen', taken)).stderr).toBe(`"metrics.listen" is ${taken} now.\n`);
  expect((await fetchRaw(`http://${taken}`, '/metrics')).status).toBe(200);
});

test('web without an address takes port 9616 or one of the next, and names it', async () => {
  const home = await sandbox();
  const mine = createServer();
  // If listen() fails, another program has the port, and the port is in use anyway.
  mine.on('error', () => {}).listen(9616, '127.0.0.1');
  await Promise.race([once(mine, 'listening'), once(mine, 'error')]);
  const { stdout, stderr } = await home.nclust('web');
  const port = Number(new URL(stdout).port);
  expect(port).toBeGreaterThan(9616);
  expect(port).toBeLessThan(9636);
  expect(stderr).toContain(`Port 9616 is taken by another program; the dashboard uses ${port}.`);
  mine.close();
});

test('--open passes a private file to the browser, so that the token is on no command line', async () => {
  const home = await sandbox();
  const bin = join(home.work, 'xdg-open');
  writeFileSync(bin, '#!/bin/sh\nprintf "%s" "$*" > "$OPENED"\n');
  chmodSync(bin, 0o755);
  const opened = join(home.work, 'opened');
  const { stdout } = await home.nclust('web', '--listen', '127.0.0.1:0', '--open', {
    env: { PATH: `${home.work}:${process.env.PATH}`, OPENED: opened },
  });
  const file = await home.waitFor('the browser to be opened', () => existsSync(opened) && readFileSync(opened, 'utf8'));
  expect(readFileSync(file, 'utf8')).toContain(stdout.trim());
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await home.nclust('web', '--off');
  expect(existsSync(file)).toBe(false);
  const without = await home.nclust('web', '--listen', '127.0.0.1:0', '--open', { env: { PATH: '/nowhere' } });
  expect(without).toMatchObject({ exitStatus: 0, stderr: expect.stringContaining('No browser was opened') });
});

test('pages that stop reading later get the number of missed lines, and control does not grow', async () => {
  const home = await sandbox();
  const url = await turnOn(home);
  const { controlPid } = await home.daemon();
  const pages = [];
  for (let at = 0; at < 10; at += 1) pages.push(await openPage(url));
  for (const page of pages) {
    await page.request('logs', { follow: true, lines: 0, subscription: 'l' });
    page.stopReading();
  }
  const before = residentBytes(controlPid);
  await home.nclust('start', home.place('floods-stdout'), '--no-wait', '--no-autorestart', {
    env: { LINES: '200000' },
  });
  let most = 0;
  await home.waitFor(
    'the flood to end',
    async () => {
      most = Math.max(most, residentBytes(controlPid));
      return (await home.list())[0]?.status === 'stopped';
    },
    { deadlineMs: 40_000 },
  );
  // Without a limit, control would keep 25 MB for each page. Control keeps at most 4 MB for a page
  // that does not read.
  expect(most - before).toBeLessThan(150 * 2 ** 20);
  const [page] = pages;
  page.readOn();
  const missed = async () => {
    for (let count = 0; ;) {
      const { params } = await page.nextNotification();
      count += params.missed ?? 0;
      if (count > 0) return count;
    }
  };
  expect(await missed()).toBeGreaterThan(1_000);
  expect(await home.daemon()).toMatchObject({ controlPid });
  for (const one of pages) one.close();
});
