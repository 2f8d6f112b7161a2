import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startLoad } from '../../helpers/load.js';
import { takePort } from '../../helpers/ports.js';
import { fixturePath } from '../../helpers/fixtures.js';
import { pause, waitFor } from '../../helpers/wait-for.js';
import { cpuTicks, median, TICKS_PER_SECOND } from '../measure.js';
import { openRival, timed } from '../rivals.js';

const LINES = 300_000;
const MANY_LINES = 3_000_000;
const BLOCKS = 4_000;
const BLOCK_BYTES = 64 * 1024;
const MB = 1_000_000;

/** Writes COUNT blocks of SIZE bytes, or COUNT short lines, and records how long this takes. */
const WRITER = `
const { writeFileSync, renameSync } = require('node:fs');
const count = Number(process.env.COUNT);
const block = process.env.SIZE ? 'x'.repeat(Number(process.env.SIZE) - 1) + '\\n' : null;
let bytes = 0;
const startedMono = performance.now();
(async () => {
  for (let line = 0; line < count; line += 1) {
    const text = block ?? 'line ' + line + ' of the flood\\n';
    bytes += text.length;
    // Waits only for blocks if the pipe is full, because most programs write lines without a wait.
    if (!process.stdout.write(text) && block) await new Promise((resolve) => process.stdout.once('drain', resolve));
  }
  process.stdout.write('', () => {
    writeFileSync(process.env.REPORT + '.part', JSON.stringify({ tookMs: performance.now() - startedMono, bytes }));
    renameSync(process.env.REPORT + '.part', process.env.REPORT);
    setInterval(() => {}, 1_000_000);
  });
})();
`;

const STREAM = `
const line = 'x'.repeat(99) + '\\n';
let written = 0;
const startedMono = performance.now();
setInterval(() => {
  const due = (performance.now() - startedMono) * 100;
  for (; written < due; written += 1) process.stdout.write(line);
}, 2);
`;

export async function measureLogs({ runs }) {
  return [
    ...(await timeRows(runs, 'fork mode', [])),
    ...(await timeRows(runs, 'cluster mode', ['-i', '1'])),
    ...(await cpuRows()),
    ...(await flowRows(runs)),
  ];
}

async function timeRows(runs, mode, flags) {
  const times = { nclust: [], PM2: [], file: [] };
  for (let run = 0; run < runs; run += 1) {
    for (const name of ['nclust', 'PM2']) times[name].push((await write(name, { COUNT: String(LINES) }, flags)).tookMs);
    times.file.push(await writeToFile());
  }
  const [ours, theirs, file] = [times.nclust, times.PM2, times.file].map(median);
  return [
    {
      what: `${LINES.toLocaleString('en')} lines in ${mode}: the app's time`,
      unit: 'ms',
      nclust: ours,
      pm2: theirs,
      bound: theirs * 0.45,
      boundIs: "0.45 x PM2's",
    },
    {
      what: `the same, beside a plain file (${file.toFixed(0)} ms)`,
      unit: 'ms',
      nclust: ours,
      pm2: theirs,
      bound: file,
      boundIs: 'a plain file',
    },
  ];
}

async function cpuRows() {
  const cost = async (name, env) => {
    const { cpuMs, bytes } = await write(name, env);
    return cpuMs / (bytes / MB);
  };
  const short = { COUNT: String(MANY_LINES) };
  const large = { COUNT: String(BLOCKS), SIZE: String(BLOCK_BYTES) };
  const [shortOurs, shortTheirs, largeOurs, largeTheirs] = [
    await cost('nclust', short),
    await cost('PM2', short),
    await cost('nclust', large),
    await cost('PM2', large),
  ];
  return [
    {
      what: 'CPU of the manager per MB of short lines',
      unit: 'ms',
      nclust: shortOurs,
      pm2: shortTheirs,
      bound: shortTheirs * 0.7,
      boundIs: "0.7 x PM2's",
    },
    {
      what: 'CPU of the manager per MB in writes of 64 KB',
      unit: 'ms',
      nclust: largeOurs,
      pm2: largeTheirs,
      bound: largeTheirs * 0.5,
      boundIs: "0.5 x PM2's",
    },
  ];
}

async function write(name, env, flags = []) {
  const rival = openRival(name);
  const report = join(rival.folder, 'report');
  try {
    await rival.run(['start', 'sleep', '--', '100000']);
    await waitForQuiet(rival.managerPids());
    const before = cpuTicks(rival.managerPids());
    const script = placeScript(rival.folder, WRITER);
    // Turns rotation off, because PM2 does not rotate.
    await rival.run(
      [
        'start',
        script,
        '--no-autorestart',
        ...flags,
        ...(name === 'nclust' ? ['--no-wait', '--log-max-size', '0'] : []),
      ],
      { env: { ...env, REPORT: report } },
    );
    await waitFor('the end of the flood', () => existsSync(report), { deadlineMs: 300_000 });
    await waitForQuiet(rival.managerPids());
    const cpuMs = ((cpuTicks(rival.managerPids()) - before) / TICKS_PER_SECOND) * 1_000;
    return { ...JSON.parse(readFileSync(report, 'utf8')), cpuMs };
  } finally {
    await rival.close();
  }
}

/** Waits for the managers, because a manager with a buffer still writes after the app is done. */
async function waitForQuiet(pids) {
  let before = -1;
  await waitFor(
    'the manager to have nothing to do',
    async () => {
      const now = cpuTicks(pids);
      const isQuiet = now - before <= 1;
      before = now;
      await pause(500);
      return isQuiet;
    },
    { deadlineMs: 120_000 },
  );
}

async function writeToFile() {
  const folder = mkdtempSync(join(tmpdir(), 'bench-file-'));
  const report = join(folder, 'report');
  const out = openSync(join(folder, 'out.log'), 'a');
  const child = spawn(process.execPath, [placeScript(folder, WRITER)], {
    env: { COUNT: String(LINES), REPORT: report },
    stdio: ['ignore', out, 'inherit'],
  });
  try {
    await waitFor('the end of the flood', () => existsSync(report), { deadlineMs: 120_000 });
    return JSON.parse(readFileSync(report, 'utf8')).tookMs;
  } finally {
    child.kill('SIGKILL');
    closeSync(out);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function flowRows(runs) {
  const rival = openRival('nclust');
  try {
    const port = await takePort();
    await rival.run(['start', fixturePath('http-echo'), '-i', '2'], { env: { PORT: String(port) } });
    const listTime = async () => {
      const times = [];
      for (let run = 0; run < runs * 5 + 1; run += 1) times.push(await timed(() => rival.run(['ls'])));
      return median(times.slice(1));
    };
    const still = { listMs: await listTime(), p99Ms: await p99(port) };
    await rival.run(['start', placeScript(rival.folder, STREAM), '--name', 'stream', '--log-max-total', '100M']);
    await pause(1_000);
    const flowing = { listMs: await listTime(), p99Ms: await p99(port) };
    return [
      {
        what: 'time that 10 MB/s of logs add to `ls`',
        unit: 'ms',
        nclust: flowing.listMs - still.listMs,
        pm2: null,
        bound: 20,
        boundIs: '20 ms',
      },
      {
        what: `p99 of a clustered app at 200 requests/s, with 10 MB/s of logs (without: ${still.p99Ms.toFixed(1)} ms)`,
        unit: 'ms',
        nclust: flowing.p99Ms,
        pm2: null,
        bound: still.p99Ms * 1.1,
        boundIs: 'without',
        isInformation: true,
      },
    ];
  } finally {
    await rival.close();
  }
}

async function p99(port) {
  const load = startLoad(`http://127.0.0.1:${port}/`, { ratePerSecond: 200, timeoutMs: 5_000 });
  await pause(5_000);
  const { latenciesMs } = await load.stop();
  return latenciesMs.sort((a, b) => a - b)[Math.floor(latenciesMs.length * 0.99)];
}

function placeScript(folder, code) {
  const path = join(folder, 'writer.js');
  writeFileSync(path, code);
  return path;
}
