import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { takePort } from '../../helpers/ports.js';
import { fetchOnce } from '../../helpers/sandbox-app.js';
import { isRunning } from '../../helpers/processes.js';
import { pause } from '../../helpers/wait-for.js';
import { openArrivals, placeIdleServer } from '../apps.js';
import { median } from '../measure.js';
import { openRival, timed } from '../rivals.js';

const KILLS = 10;

/** Compares the result with the boot time of the same app without a manager. */
export async function measureKillToServing({ runs }) {
  const bare = [];
  for (let run = 0; run < runs * 4; run += 1) bare.push(await bareBoot());
  const bareMs = median(bare);
  return [
    {
      what: `SIGKILL of a worker to the first answer of its successor (bare boot ${bareMs.toFixed(0)} ms)`,
      unit: 'ms',
      nclust: await killToServing('nclust'),
      pm2: await killToServing('PM2'),
      bound: bareMs * 1.2 + 30,
      boundIs: '1.2 x bare boot + 30 ms',
    },
  ];
}

async function killToServing(name) {
  const rival = openRival(name);
  try {
    const arrivals = openArrivals(rival.folder);
    const port = await takePort();
    await rival.run(['start', placeIdleServer(rival.folder), '-i', '1'], {
      env: { PORT: String(port), ARRIVALS: arrivals.path },
    });
    await arrivals.until(1);
    const times = [];
    for (let kill = 0; kill < KILLS; kill += 1) {
      // Waits longer than min_uptime, so that the kills do not look like a crash loop.
      await pause(1_300);
      const { pid } = await firstAnswer(port);
      times.push(
        await timed(async () => {
          process.kill(pid, 'SIGKILL');
          while (isRunning(pid)) await pause(0);
          await firstAnswer(port);
        }),
      );
    }
    return median(times);
  } finally {
    await rival.close();
  }
}

async function bareBoot() {
  const folder = mkdtempSync(join(tmpdir(), 'bench-bare-'));
  const arrivals = openArrivals(folder);
  const script = placeIdleServer(folder);
  const port = await takePort();
  let child;
  const tookMs = await timed(() => {
    child = spawn(process.execPath, [script], {
      env: { PATH: process.env.PATH, PORT: String(port), ARRIVALS: arrivals.path },
      stdio: 'ignore',
    });
    return firstAnswer(port);
  });
  child?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
  return tookMs;
}

/** Opens a new connection for each try, because PM2 lets a connection to a dead worker hang. */
function firstAnswer(port) {
  return new Promise((resolve) => {
    const asking = setInterval(() => {
      fetchOnce(`http://127.0.0.1:${port}/`).then(
        (answer) => {
          clearInterval(asking);
          resolve(answer);
        },
        // Tries again if the connection is refused or reset, because no worker listens yet.
        () => {},
      );
    }, 5);
  });
}
