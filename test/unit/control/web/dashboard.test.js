import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../../daemon/control/host/clock.js';
import { createSettings } from '../../../../daemon/control/settings-file.js';
import { createWeb } from '../../../../daemon/control/web/dashboard.js';
import { fetchRaw, openPage, partsOf } from '../../../helpers/page.js';
import { takePort } from '../../../helpers/ports.js';
import { createRig } from '../control-rig.js';

let folder;
let settings;
let tick;
let web;
let events;
let rig;

function open() {
  return createWeb({
    settings,
    tokenFile: join(folder, 'web.token'),
    context: () => rig.context,
    onTick: (listener) => ((tick = listener), () => {}),
    clock: systemClock(),
    managerLog: (event, fields) => void events.push({ event, ...fields }),
  });
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'web-'));
  settings = createSettings(join(folder, 'settings.json'), Date.now);
  events = [];
  rig = createRig();
  await rig.boot();
  web = open();
});

afterEach(async () => {
  await web.close();
  rmSync(folder, { recursive: true, force: true });
});

const isServed = ({ url }) =>
  fetchRaw(url, '/uplot.css').then(
    ({ status }) => status === 200,
    () => false,
  );

test('the dashboard serves on the requested address, and the next control keeps address and token', async () => {
  const first = await web.begin({ listen: '127.0.0.1:0', mayAct: true });
  expect(first).toMatchObject({ isOn: true, host: '127.0.0.1', mayAct: true, isRemote: false, takenPorts: [] });
  expect(first.url).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:${first.port}/#token=[\\w-]{43}$`));
  expect(await web.begin({ listen: '127.0.0.1:0' })).toEqual(first);
  expect(await web.begin({})).toEqual(first);
  expect(await isServed(first)).toBe(true);
  await web.close();
  expect(await isServed(first)).toBe(false);
  web = open();
  await web.sync();
  expect(await web.begin({})).toEqual(first);
  expect(await isServed(first)).toBe(true);
});

test('the token is in a file for its owner, and nowhere else', async () => {
  const { url } = await web.begin({ listen: '127.0.0.1:0' });
  const { token } = partsOf(url);
  expect(readFileSync(join(folder, 'web.token'), 'utf8')).toBe(`${token}\n`);
  expect(statSync(join(folder, 'web.token')).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(folder, 'settings.json'), 'utf8')).not.toContain(token);
  expect(
    JSON.stringify([events, await rig.call('list', { detail: true }), settings.entries(), web.notices()]),
  ).not.toContain(token);
});

test('turning it off closes the port and every page, and makes the token worthless', async () => {
  const first = await web.begin({ listen: '127.0.0.1:0', mayAct: true });
  const page = await openPage(first.url);
  expect(await web.end()).toEqual({ wasOn: true });
  await page.closed;
  expect(await isServed(first)).toBe(false);
  expect(existsSync(join(folder, 'web.token'))).toBe(false);
  expect(settings.entries()).toEqual({});
  expect(await web.end()).toEqual({ wasOn: false });
  const second = await web.begin({ listen: `127.0.0.1:${first.port}` });
  expect(second).toMatchObject({ port: first.port, mayAct: false });
  await expect(openPage(second.url, { token: partsOf(first.url).token })).rejects.toMatchObject({ closeCode: 4401 });
});

test('a new token closes every page, and the old one opens nothing', async () => {
  const first = await web.begin({ listen: '127.0.0.1:0' });
  const page = await openPage(first.url);
  const second = await web.begin({ isNewToken: true });
  expect(second.port).toBe(first.port);
  expect(await page.closed).toBe(1012);
  await expect(openPage(first.url)).rejects.toMatchObject({ closeCode: 4401 });
  (await openPage(second.url)).close();
});

test('pages are notified when actions are allowed or not, which applies at once', async () => {
  const { url } = await web.begin({ listen: '127.0.0.1:0' });
  const page = await openPage(url);
  expect(page.welcome).toMatchObject({
    mayAct: false,
    version: '0.0.0',
    home: '/home/nclust',
    host: expect.any(String),
    pollMs: 1_000,
  });
  await web.begin({ mayAct: true });
  expect(await page.closed).toBe(1012);
  const next = await openPage(url);
  expect(next.welcome).toMatchObject({ mayAct: true });
  settings.set('web.actions', 'false');
  await expect(next.request('reset', { targets: ['all'] })).rejects.toMatchObject({
    data: { code: 'ERR_NCLUST_WEB_REFUSED' },
  });
  tick();
  expect(await next.closed).toBe(1012);
});

test('an address in use is refused, and the old one is still served', async () => {
  const first = await web.begin({ listen: '127.0.0.1:0' });
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address();
  await expect(web.begin({ listen: `127.0.0.1:${port}` })).rejects.toMatchObject({
    code: 'ERR_NCLUST_WEB_FAILED',
    message: `The dashboard cannot be served on "127.0.0.1:${port}": another program has this address.`,
    data: { port },
  });
  expect(await isServed(first)).toBe(true);
  expect(await web.begin({})).toEqual(first);
  // Control gets into the same state if it starts while another program has the port.
  settings.set('web.listen', `127.0.0.1:${port}`);
  await web.sync();
  expect(web.notices()).toEqual([
    `The dashboard is not served on "127.0.0.1:${port}": another program has this address (EADDRINUSE). ` +
      `nclust keeps trying. For another address: nclust web --listen 127.0.0.1:0`,
  ]);
  expect(await web.syncNow()).toEqual({ reason: 'EADDRINUSE', retryMs: 1_000 });
  await new Promise((resolve) => other.close(resolve));
  expect(await web.syncNow()).toBe(null);
  expect(web.notices()).toEqual([]);
  expect((await web.begin({})).port).toBe(port);
});

test('it moves to another name of the same port', async () => {
  const port = await takePort();
  await web.begin({ listen: `127.0.0.1:${port}` });
  const moved = await web.begin({ listen: `0.0.0.0:${port}`, allowRemote: true });
  expect(moved).toMatchObject({ host: '0.0.0.0', port, isRemote: true });
  expect((await fetchRaw(`http://127.0.0.1:${port}/`, '/uplot.css')).status).toBe(200);
});

test('an address that other machines can reach has to be allowed, even in the settings', async () => {
  const port = await takePort();
  for (const listen of [`0.0.0.0:${port}`, `10.1.2.3:${port}`, `[::]:${port}`])
    await expect(web.begin({ listen })).rejects.toMatchObject({
      code: 'ERR_NCLUST_BAD_SETTING',
      hint: expect.stringContaining('--allow-remote'),
    });
  expect(() => settings.set('web.listen', `0.0.0.0:${port}`)).toThrow('not encrypted');
  expect(settings.entries()).toEqual({});
  writeFileSync(join(folder, 'settings.json'), JSON.stringify({ 'web.listen': `0.0.0.0:${port}` }));
  settings = createSettings(join(folder, 'settings.json'), Date.now);
  web = open();
  await web.sync();
  expect(web.notices()[0]).toContain('web.allow_remote');
  await expect(fetchRaw(`http://127.0.0.1:${port}/`, '/')).rejects.toThrow('ECONNREFUSED');
});

test.each(['', 'x', '127.0.0.1', '127.0.0.1:99999', 'example.org:80', 'unix:/tmp/x', '-1', '123456', '::1:80'])(
  '"%s" is not an address to listen on',
  async (listen) => {
    await expect(web.begin({ listen })).rejects.toMatchObject({ code: 'ERR_NCLUST_BAD_SETTING' });
  },
);

test('settings that cannot be written leave everything as it was', async () => {
  writeFileSync(join(folder, 'settings.json'), '{ broken');
  await expect(web.begin({ listen: '127.0.0.1:0' })).rejects.toMatchObject({ code: 'ERR_NCLUST_SETTINGS_FILE' });
  const served = events.filter(({ event }) => event === 'web-served');
  expect(served).toHaveLength(1);
  expect(await isServed({ url: `http://127.0.0.1:${served[0].port}/` })).toBe(false);
});

test('nothing listens, and there is no notice, without a setting', async () => {
  await web.sync();
  expect(events).toEqual([]);
  expect(existsSync(join(folder, 'web.token'))).toBe(false);
});
