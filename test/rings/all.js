// Every ring that `npm test` leaves out, one after the other, and a table of them. `npm run test:all [-- ring ...]`
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { tallyOf } from './tally.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The script of package.json that runs the ring, and what it is run with. */
const RINGS = {
  long: { script: 'test:long' },
  browser: { script: 'test:browser' },
  nodes: { script: 'test:nodes' },
  soak: { script: 'test:soak', env: { NCLUST_SOAK_SCALE: '0.05' } },
};

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(RINGS);
const unknown = names.filter((name) => !Object.hasOwn(RINGS, name));
if (unknown.length > 0) {
  process.stderr.write(`There is no ring "${unknown[0]}". Rings: ${Object.keys(RINGS).join(', ')}\n`);
  process.exit(2);
}

const rows = [];
for (const name of names) rows.push({ ring: name, ...(await run(RINGS[/** @type {keyof typeof RINGS} */ (name)])) });
for (const { ring, flakyLines, failedLines } of rows) {
  for (const line of [...failedLines, ...flakyLines]) process.stdout.write(`${ring}: ${line}\n`);
}
console.table(Object.fromEntries(rows.map(({ ring, passed, failed, flaky, minutes, status }) => [ring, { passed, failed, flaky, minutes, status }])));
process.exitCode = rows.every(({ status }) => status === 0) ? 0 : 1;

/** @param {{ script: string, env?: Record<string, string> }} ring */
async function run({ script, env = {} }) {
  const startedMono = performance.now();
  // With CI set a failed test is tried again, so that the table tells flaky from failed.
  const child = spawn('npm', ['run', script], { cwd: ROOT, env: { ...process.env, ...env, CI: 'true', NO_COLOR: '1' }, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
    process.stdout.write(text);
  });
  const [status] = await once(child, 'close');
  const lines = output.split('\n');
  return {
    ...tallyOf(output),
    minutes: Number(((performance.now() - startedMono) / 60_000).toFixed(1)),
    status,
    flakyLines: lines.filter((line) => line.startsWith('flaky: ')),
    failedLines: lines.filter((line) => line.startsWith(' FAIL ')),
  };
}
