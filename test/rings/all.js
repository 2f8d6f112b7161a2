// Runs every ring that .ci/run leaves out. `npm run test:all [-- ring ...]`
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/**
 * The nodes ring is first because it installs the other Node.js versions, without which the long
 * ring skips some tests.
 * @type {Record<string, { script: string, env?: Record<string, string> }>}
 */
const RINGS = {
  nodes: { script: 'test:nodes' },
  long: { script: 'test:long' },
  browser: { script: 'test:browser' },
  night: { script: 'test:night' },
  hostile: { script: 'test:hostile' },
  soak: { script: 'test:soak', env: { NCLUST_SOAK_SCALE: '0.05' } },
};
/** Lines of vitest, and the headings of the nodes ring, that are repeated before the table. */
const WORTH_REPEATING = /^( FAIL |flaky: |Node \d+$)/;

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(RINGS);
const unknown = names.find((name) => !Object.hasOwn(RINGS, name));
if (unknown !== undefined) {
  process.stderr.write(`"${unknown}" is not one of: ${Object.keys(RINGS).join(', ')}\n`);
  process.exit(2);
}

const rows = [];
for (const name of names) rows.push(await run(name));
for (const { ring, lines } of rows) for (const line of lines) process.stdout.write(`${ring}: ${line.trim()}\n`);
process.stdout.write('\n| ring | passed | failed | flaky | minutes | |\n| --- | --- | --- | --- | --- | --- |\n');
for (const { ring, passed, failed, flaky, minutes, status } of rows)
  process.stdout.write(
    `| ${ring} | ${passed} | ${failed} | ${flaky} | ${minutes} | ${status === 0 ? 'green' : 'RED'} |\n`,
  );
process.exitCode = rows.every(({ status }) => status === 0) ? 0 : 1;

/** @param {string} ring */
async function run(ring) {
  const { script, env = {} } = RINGS[ring];
  const startedMono = performance.now();
  // Sets CI, because vitest then tries a failed test again. So the table can show which tests are
  // flaky, and which tests fail every time.
  const child = spawn('npm', ['run', script], {
    cwd: ROOT,
    env: { ...process.env, ...env, CI: 'true', NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
      process.stdout.write(text);
    });
  }
  const [status] = await once(child, 'close');
  const lines = output.split('\n');
  // Each run of vitest ends with a line such as "Tests 2 failed | 310 passed (312)".
  const totals = lines.filter((line) => /^ *Tests +\d/.test(line));
  const sum = (/** @type {string} */ word) =>
    totals.reduce((all, line) => all + Number(new RegExp(`(\\d+) ${word}`).exec(line)?.[1] ?? 0), 0);
  return {
    ring,
    status,
    passed: sum('passed'),
    failed: sum('failed'),
    flaky: lines.filter((line) => line.startsWith('flaky: ')).length,
    minutes: ((performance.now() - startedMono) / 60_000).toFixed(1),
    lines: lines.filter((line) => WORTH_REPEATING.test(line)),
  };
}
