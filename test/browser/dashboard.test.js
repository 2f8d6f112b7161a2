import { createServer, get } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket as Socket } from 'ws';
import { pattern } from '../helpers/pattern.js';
import { takePort } from '../helpers/ports.js';
import { killIfThere } from '../helpers/processes.js';
import { sandbox } from '../helpers/sandbox.js';
import { slowdown } from '../helpers/wait-for.js';
import { barriers, useBrowser } from './browser.js';

const browser = useBrowser();

async function turnOn(home, ...options) {
  const { stdout, stderr, exitStatus } = await home.nclust('web', '--listen', '127.0.0.1:0', ...options);
  expect(exitStatus, stderr).toBe(0);
  return new URL(stdout.trim());
}

const see = (page, selector, text) => page.locator(selector).filter({ hasText: text }).first().waitFor();

test('the dashboard shows a real manager live, acts on its apps, and connects to the next control', async () => {
  const home = await sandbox();
  const url = await turnOn(home, '--allow-actions');
  const page = await browser.page();
  await page.goto(url.href);
  await see(page, '#no-apps', 'No apps yet');
  const app = await home.app('http-echo', { instances: 2 });
  await see(page, 'tr[data-key="app http-echo"] .state', 'online 2/2');
  await page.locator('tr[data-key="worker 1"]').waitFor();
  for (let at = 0; at < 20; at++) await app.get();
  await see(page, 'tr[data-key="app http-echo"] .c-requests', /[\d.]+/);

  await page.locator('tr[data-key="app http-echo"] a').click();
  await page.locator('.chart canvas').nth(5).waitFor();
  await see(page, '.facts dd', String(app.port));
  await see(page, '.timeline li', 'was added (nclust start), with 2 instances');
  await see(page, '.answer', 'http-echo is online since');
  expect(await barriers(page)).toEqual([]);

  const before = await app.pids();
  await page.getByRole('button', { name: 'Restart', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Restart' }).click();
  await see(page, '#dialog-title', 'Restarted “http-echo”.');
  const after = await app.pids();
  expect(after.filter((pid) => before.includes(pid))).toEqual([]);
  await page.keyboard.press('Escape');
  await see(page, '.timeline li', /restart of 2 instances began/);

  browser.expectProblem(/WebSocket connection to .* failed/);
  const { controlPid } = await home.daemon();
  await page.evaluate(() => {
    const connection = document.querySelector('#connection');
    new MutationObserver(() => {
      if (connection.textContent?.includes('Reconnecting…')) document.body.dataset.lost = 'yes';
    }).observe(connection, { subtree: true, childList: true, characterData: true });
  });
  killIfThere(controlPid);
  await page.locator('body[data-lost]').waitFor();
  await see(page, '#connection', 'Live');
  await see(page, '.title .state', 'online 2/2');
  expect(await app.pids()).toEqual(after);
  await page.getByRole('button', { name: 'One more' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'One more' }).click();
  await see(page, '#dialog-title', 'Started one more instance of “http-echo”.');
  await page.keyboard.press('Escape');
  await page.locator('tr[data-key="worker 2"]').waitFor();
  await see(page, '.title .state', 'online 3/3');
});

test('an open page connects to the next manager and shows its apps', async () => {
  const home = await sandbox();
  const url = await turnOn(home, '--listen', `127.0.0.1:${await takePort()}`);
  const app = await home.app('runs-code', {
    instances: 2,
    env: { CODE: 'setInterval(() => console.log("runs as", process.pid), 100)' },
  });
  const page = await browser.page();
  await page.goto(`${url.href}&app=runs-code`);
  await see(page, '.title .state', 'online 2/2');
  // Marks the page. A reload of the page would remove this mark.
  await page.evaluate(() => {
    document.body.dataset.own = 'yes';
  });

  browser.expectProblem(/WebSocket connection to .* failed/);
  await home.nclust('save');
  const before = await app.pids();
  let tried = 0;
  page.on('websocket', () => {
    tried += 1;
  });
  await home.nclust('kill');
  await page.getByRole('status').filter({ hasText: 'Reconnecting…' }).waitFor();
  await expect.poll(() => tried, { timeout: 10_000 * slowdown() }).toBeGreaterThanOrEqual(4);
  await page.locator('body.is-stale').waitFor();
  expect((await home.nclust('resurrect')).exitStatus).toBe(0);
  await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
  await page.locator('body:not(.is-stale)[data-own]').waitFor();
  await see(page, '.title .state', 'online 2/2');
  const after = await app.pids();
  expect(after.filter((pid) => pid === 0 || before.includes(pid))).toEqual([]);
  for (const pid of after) await see(page, '.lines .out', `runs as ${pid}`);
  expect((await home.nclust('web')).stdout.trim()).toBe(url.href);
});

test('a screen reader gets the apps, figures, charts and the outcome of an action', async () => {
  const home = await sandbox();
  const url = await turnOn(home, '--allow-actions');
  const app = await home.app('listens-late', { instances: 2, env: { LATE_MS: '1500' } });
  const page = await browser.page();
  await page.goto(url.href);
  await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
  const table = page.getByRole('treegrid');
  await table.getByRole('row', { name: 'Instance 1' }).waitFor();
  await see(page, 'tr[data-key="app listens-late"] .c-memory', 'mb');
  const read = await table.ariaSnapshot();
  expect(read).toMatch(/^- treegrid "Apps":/);
  expect([...read.matchAll(/- columnheader "([^"]+)"/g)].map(([, title]) => title)).toEqual([
    'Name ↑',
    'State',
    'CPU',
    'Memory',
    'Req/s',
    'p99',
    'Loop',
    'Restarts',
    'Uptime',
    'CPU, 1 min',
  ]);
  expect(read).toMatch(
    pattern(
      /- row "[^"]*listens-late online 2\/2 [\d.]+% [\d.]+mb [^"]*" \[expanded\] \[level=1\]:\n/,
      / +- rowheader "[^"]*":\n/,
      / +- button "Instances of listens-late"\n/,
      / +- link "listens-late":[^]*\n/,
      / +- gridcell "online 2\/2"\n/,
      / +- gridcell "[\d.]+%"\n/,
      / +- gridcell "[\d.]+mb"/,
    ),
  );
  expect([...read.matchAll(/- row "(Instance \d) id \d online [^"]*" \[level=2\]/g)].map(([, name]) => name)).toEqual([
    'Instance 0',
    'Instance 1',
  ]);

  await page.getByRole('link', { name: 'listens-late' }).click();
  const chart = page.getByRole('figure').filter({ has: page.getByRole('img', { name: /^Memory: now/ }) });
  await chart.waitFor();
  expect(await chart.ariaSnapshot()).toMatch(
    /^- figure "Memory [^"]*[\d.]+mb":\n[^]*img "Memory: now [\d.]+mb, at most [\d.]+mb in this range"/,
  );
  const before = await app.pids();
  await page.getByRole('button', { name: 'Restart', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Restart “listens-late”?' });
  await dialog.getByRole('button', { name: 'Restart' }).click();
  // The dialog stays open with the outcome, because a screen reader does not read text behind it.
  await page.getByRole('button', { name: 'Hide' }).click();
  await page.getByRole('status').filter({ hasText: 'Restarted “listens-late”.' }).waitFor();
  expect((await app.pids()).filter((pid) => before.includes(pid))).toEqual([]);
});

test('log lines appear as they are written, and a text filter searches in the manager', async () => {
  const home = await sandbox();
  const url = await turnOn(home);
  const code =
    'let n = 0; setInterval(() => { n += 1; console.log("\\u001b[32mline\\u001b[0m", n); if (n % 5 === 0) ' +
    'console.error("bad", n); }, 100)';
  await home.app('runs-code', { env: { CODE: code } });
  const page = await browser.page();
  await page.goto(`${url.href}&app=runs-code`);
  await see(page, '.lines .out span', /^line \d+$/);
  await see(page, '.lines .err', /bad \d+/);
  await see(page, '#rights', 'Read-only');
  await page.getByLabel('Only lines with this text').fill('bad 10');
  await see(page, '.lines .err span', /^bad 10$/);
  await page.locator('.lines .out').first().waitFor({ state: 'detached' });
});

test('an app that fails is shown first, with its reason', async () => {
  const home = await sandbox();
  const url = await turnOn(home);
  await home.nclust(
    'start',
    home.place('crashes-at-boot'),
    '--name',
    'bad',
    '--max-restarts',
    '1',
    '--exp-backoff-restart-delay',
    '10',
  );
  const page = await browser.page();
  await page.goto(url.href);
  await see(page, '#concerns li.bad', /bad is down and is no longer restarted: it crashed \d+ times/);
  await page.locator('#concerns a').click();
  await see(page, '.last-words pre', /./);
  await see(page, '.facts dt', 'Last died');
});

test('a wrong token, another origin and another host name are refused', async () => {
  const home = await sandbox();
  const url = await turnOn(home);
  const page = await browser.page();
  await page.goto(`${url.origin}/#token=${'x'.repeat(43)}`);
  await see(page, '#gate h1', 'This address is no longer valid');

  const evil = createServer((_, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>evil</title>'),
  );
  await new Promise((resolve) => {
    evil.listen(0, '127.0.0.1', () => resolve(undefined));
  });
  onTestFinished(() => void (evil.closeAllConnections(), evil.close()));
  browser.expectProblem(/WebSocket connection to .* failed|favicon/);
  const other = await browser.page();
  await other.goto(`http://127.0.0.1:${evil.address().port}/`);
  const outcome = await other.evaluate(
    (socket) =>
      new Promise((resolve) => {
        const tried = new globalThis.WebSocket(socket);
        tried.onopen = () => resolve('open');
        tried.onclose = ({ code }) => resolve(code);
      }),
    `ws://${url.host}/socket`,
  );
  expect(outcome).toBe(1006);

  const refusal = await new Promise((resolve) => {
    const tried = new Socket(`ws://${url.host}/socket`, { origin: 'http://evil.example' });
    tried.on('unexpected-response', (_request, response) => resolve(response.statusCode));
    tried.on('open', () => resolve('open'));
    tried.on('error', () => {});
  });
  expect(refusal).toBe(403);
  const status = await new Promise((resolve) => {
    get({ host: '127.0.0.1', port: url.port, headers: { host: 'evil.example' } }, (response) =>
      resolve(response.resume().statusCode),
    );
  });
  expect(status).toBe(421);
});
