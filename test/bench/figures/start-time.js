import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { takePort } from '../../helpers/ports.js';
import { waitFor } from '../../helpers/wait-for.js';
import { openArrivals, placeIdleServer } from '../apps.js';
import { median } from '../measure.js';
import { openRival, timed } from '../rivals.js';

const COUNT = 100;
const SLEEP_SECONDS = '123456';

/** A start ends when all apps run and the command has returned. */
export async function measureStartTime({ runs }) {
  const servers = { nclust: [], PM2: [], bare: [] };
  const sleeps = { nclust: [], PM2: [], bare: [] };
  for (let run = 0; run < runs; run += 1) {
    servers.bare.push(await bareServers());
    sleeps.bare.push(await bareSleeps());
    for (const name of ['nclust', 'PM2']) {
      const rival = openRival(name);
      try {
        await rival.run(['start', 'sleep', '--name', 'first', '--', '100000']);
        servers[name].push(await startServers(rival));
        sleeps[name].push(await startSleeps(rival));
      } finally {
        await rival.close();
      }
    }
  }
  const bare = median(servers.bare);
  const pm2 = median(servers.PM2);
  return [
    {
      what: `${COUNT} idle Node servers started`,
      unit: 'ms',
      nclust: median(servers.nclust),
      pm2,
      bound: pm2 * 0.7,
      boundIs: "0.7 x PM2's",
    },
    {
      what: `the same beside ${COUNT} bare starts`,
      unit: 'ms',
      nclust: median(servers.nclust),
      pm2,
      bound: bare,
      boundIs: 'bare starts (information)',
      isInformation: true,
    },
    {
      what: `${COUNT} \`sleep\` processes running after \`start --no-wait\` (PM2 never waits)`,
      unit: 'ms',
      nclust: median(sleeps.nclust),
      pm2: median(sleeps.PM2),
      bound: median(sleeps.PM2) * 0.3,
      boundIs: "0.3 x PM2's",
    },
    {
      what: `the same beside ${COUNT} bare child_process.spawn`,
      unit: 'ms',
      nclust: median(sleeps.nclust),
      pm2: median(sleeps.PM2),
      bound: median(sleeps.bare),
      boundIs: 'bare spawns (information)',
      isInformation: true,
    },
  ];
}

async function startServers(rival) {
  const arrivals = openArrivals(rival.folder);
  const env = { PORT: String(await takePort()), ARRIVALS: arrivals.path };
  const script = placeIdleServer(rival.folder);
  const tookMs = await timed(() =>
    Promise.all([
      rival.run(['start', script, '--name', 'servers', '-i', String(COUNT)], { env }),
      arrivals.until(COUNT),
    ]),
  );
  await rival.run(['delete', 'servers']);
  return tookMs;
}

/** Uses --no-wait, because PM2 does not wait for min_uptime of a program that does not listen. */
async function startSleeps(rival) {
  const noWait = rival.name === 'nclust' ? ['--no-wait'] : [];
  const allRun = () => waitFor('all sleeps to run', () => countSleeps() === COUNT, { deadlineMs: 60_000 });
  const tookMs = await timed(() =>
    Promise.all([
      rival.run(['start', 'sleep', '--name', 'sleeps', '-i', String(COUNT), ...noWait, '--', SLEEP_SECONDS]),
      allRun(),
    ]),
  );
  await rival.run(['delete', 'sleeps']);
  return tookMs;
}

async function bareSleeps() {
  let children = [];
  const tookMs = await timed(async () => {
    children = Array.from({ length: COUNT }, () => spawn('sleep', [SLEEP_SECONDS], { stdio: 'ignore' }));
    await waitFor('all sleeps to run', () => countSleeps() === COUNT);
  });
  await Promise.all(
    children.map(
      (child) =>
        new Promise((resolve) => {
          child.once('exit', resolve);
          child.kill('SIGKILL');
        }),
    ),
  );
  return tookMs;
}

function countSleeps() {
  return readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && commandOf(entry) === `sleep\0${SLEEP_SECONDS}\0`)
    .length;
}

function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replace(/^.*\//, '');
  } catch {
    return '';
  }
}

async function bareServers() {
  const folder = mkdtempSync(join(tmpdir(), 'bench-bare-'));
  const arrivals = openArrivals(folder);
  const script = placeIdleServer(folder);
  let children = [];
  const tookMs = await timed(() => {
    children = Array.from({ length: COUNT }, () =>
      spawn(process.execPath, [script], {
        env: { PATH: process.env.PATH, PORT: '0', ARRIVALS: arrivals.path },
        stdio: 'ignore',
      }),
    );
    return arrivals.until(COUNT);
  });
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
  return tookMs;
}
