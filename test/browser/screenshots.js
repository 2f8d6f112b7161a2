// Makes the pictures in docs/images. `npm run screenshots [seconds]`; needs Chromium and tmux.
import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { createServer } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { CHROMIUM_ARGS, findChromium } from './chromium.js';
import { terminalPage } from './terminal-picture.js';

const NCLUST = fileURLToPath(new URL('../../bin/nclust.js', import.meta.url));
const IMAGES = fileURLToPath(new URL('../../docs/images/', import.meta.url));
const seconds = Number(process.argv[2] ?? 240);

const root = mkdtempSync(join(tmpdir(), 'shop-'));
const [home, work] = [join(root, 'home'), join(root, 'shop')];
const port = await freePort();
const env = { ...process.env, NCLUST_HOME: home, PORT: String(port), NO_COLOR: '' };
const run = promisify(execFile);
const nclust = (...words) => run(process.execPath, [NCLUST, ...words], { cwd: work, env });
const agent = new Agent({ keepAlive: true, maxSockets: 24 });
let isOver = false;

cpSync(fileURLToPath(new URL('./demo/', import.meta.url)), work, { recursive: true });
mkdirSync(IMAGES, { recursive: true });
const browser = await chromium.launch({ executablePath: findChromium(), args: CHROMIUM_ARGS });
try {
  await nclust('start', 'api.js', '-i', '4');
  await nclust('start', 'jobs.js');
  await nclust('start', 'jobs.js', '--name', 'nightly');
  await nclust('stop', 'nightly');
  const url = (await nclust('web', '--listen', '127.0.0.1:0', '--allow-actions')).stdout.trim();
  const load = Promise.all(Array.from({ length: 12 }, () => keepAsking()));
  const pages = {
    light: await open(url, { colorScheme: 'light' }),
    dark: await open(`${url}&app=api`, { colorScheme: 'dark' }),
    phone: await open(url, {
      viewport: { width: 360, height: 760 },
      deviceScaleFactor: 2,
      isMobile: true,
      hasTouch: true,
    }),
  };
  for (const end = Date.now() + seconds * 1_000; Date.now() < end - 20_000; await pause(1_000));
  // The mailer stops after its first crashes.
  await nclust('start', 'mailer.js', '--max-restarts', '2', '--exp-backoff-restart-delay', '100').catch(() => {});
  await nclust('reload', 'api');
  await pause(8_000);
  await pages.light.screenshot({ path: `${IMAGES}web-light.png`, clip: { x: 0, y: 0, width: 1280, height: 660 } });
  await pages.dark.screenshot({ path: `${IMAGES}web-dark.png`, clip: { x: 0, y: 0, width: 1280, height: 1010 } });
  await pages.phone.screenshot({ path: `${IMAGES}web-phone.png` });
  await terminal('monit', ['monit'], { columns: 116, rows: 32 });
  isOver = true;
  await load;
} finally {
  isOver = true;
  agent.destroy();
  await browser.close();
  await nclust('kill').catch((error) => process.stderr.write(`${error.message}\n`));
  rmSync(root, { recursive: true, force: true });
}

async function open(url, options) {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 1010 }, ...options })).newPage();
  await page.routeWebSocket('**/socket', (own) => {
    const server = own.connectToServer();
    server.onMessage((message) => own.send(elsewhere(String(message))));
  });
  await page.goto(url);
  await page.locator('#connection', { hasText: 'Live' }).waitFor();
  return page;
}

/** Replaces names of this machine. */
function elsewhere(text) {
  return text
    .replaceAll(work, '/srv/shop')
    .replaceAll(home, '/home/shop/.nclust')
    .replaceAll(`"host":"${hostname()}"`, '"host":"web-01"')
    .replaceAll(`"${process.execPath}"`, '"node"')
    .replaceAll('"user":"root"', '"user":"shop"');
}

async function terminal(name, words, { columns, rows }) {
  const socket = join(root, 'tmux.sock');
  const tmux = (...args) =>
    execFileSync('tmux', ['-u', '-S', socket, '-f', '/dev/null', ...args], {
      encoding: 'utf8',
      env: { PATH: env.PATH, LANG: 'C.UTF-8', TERM: 'xterm-256color' },
    });
  try {
    tmux(
      'new-session',
      '-d',
      '-x',
      String(columns),
      '-y',
      String(rows),
      `env NCLUST_HOME=${home} ${process.execPath} ${NCLUST} ${words.join(' ')}`,
    );
    await pause(6_000);
    const page = await (await browser.newContext({ deviceScaleFactor: 1.25 })).newPage();
    await page.setContent(terminalPage(tmux('capture-pane', '-p', '-e')));
    await page.locator('body').screenshot({ path: `${IMAGES}${name}.png` });
  } finally {
    tmux('kill-server');
  }
}

async function keepAsking() {
  while (!isOver) {
    await new Promise((resolve) => {
      const request = get(
        { port, path: `/orders/${Math.floor(Math.random() * 900)}`, agent, timeout: 5_000 },
        (response) => response.resume().on('end', resolve).on('error', resolve),
      );
      request.on('timeout', () => request.destroy()).on('error', resolve);
    });
    await pause(20 + 18 * (1 + Math.sin(Date.now() / 25_000)));
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, () => {
      const { port: free } = server.address();
      server.close(() => resolve(free));
    });
  });
}
