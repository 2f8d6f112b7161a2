// A ring several times beside two busy loops, to find tests that fail without a cause. `npm run test:stress -- <ring> [--times 5] [file ...]`
import { fork, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BUSY = fileURLToPath(new URL('busy.js', import.meta.url));
/** The projects of vitest.config.js that each ring is. */
const RINGS = {
  unit: ['unit-lib', 'unit'], integration: ['integration'], e2e: ['e2e'], load: ['load'], package: ['package'], long: ['long', 'long-load'], soak: ['soak'],
};
/** Lines of the first error of a test that are shown. */
const ERROR_LINES = 12;

const { values: { times }, positionals: [ring, ...files] } = parseArgs({ options: { times: { type: 'string', default: '5' } }, allowPositionals: true });
if (ring === undefined || !Object.hasOwn(RINGS, ring) || !(Number(times) >= 1)) {
  process.stderr.write(`Usage: npm run test:stress -- <${Object.keys(RINGS).join('|')}> [--times 5] [file ...]\n`);
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'nclust-stress-'));
const busy = [fork(BUSY), fork(BUSY)];
/** @type {Map<string, { times: number, error: string }>} */
const failures = new Map();
try {
  for (let run = 1; run <= Number(times); run += 1) once(run);
} finally {
  for (const loop of busy) loop.kill();
  rmSync(folder, { recursive: true, force: true });
}

for (const [title, { times: failed, error }] of [...failures].sort(([, one], [, other]) => other.times - one.times)) {
  process.stdout.write(`\nfailed ${failed} of ${times}: ${title}\n${error.split('\n').slice(0, ERROR_LINES).join('\n')}\n`);
}
process.stdout.write(`\n${ring}, ${times} times beside two busy loops: ${failures.size} tests failed\n`);
process.exitCode = failures.size === 0 ? 0 : 1;

/** @param {number} run  1, 2, ... */
function once(run) {
  const startedMs = Date.now();
  const report = join(folder, `${run}.json`);
  const projects = RINGS[/** @type {keyof typeof RINGS} */ (ring)].flatMap((name) => ['--project', name]);
  // Without CI a failed test is not tried again.
  const { CI: _, ...env } = process.env;
  spawnSync('npx', ['vitest', 'run', ...projects, '--reporter=json', `--outputFile=${report}`, '--silent', ...files], { cwd: ROOT, env, stdio: ['ignore', 'ignore', 'inherit'] });
  const { testResults, numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, 'utf8'));
  for (const { name, status, message, assertionResults } of testResults) {
    const file = relative(ROOT, name);
    const failed = assertionResults.filter((/** @type {{ status: string }} */ one) => one.status === 'failed');
    for (const { fullName, failureMessages } of failed) count(`${file} > ${fullName}`, failureMessages[0] ?? '');
    if (status === 'failed' && failed.length === 0) count(file, message);
  }
  process.stdout.write(`${ring}, run ${run} of ${times}: ${numPassedTests} passed, ${numFailedTests} failed, ${((Date.now() - startedMs) / 60_000).toFixed(1)} min\n`);
}

/** @param {string} title @param {string} error */
function count(title, error) {
  const known = failures.get(title) ?? { times: 0, error };
  failures.set(title, { ...known, times: known.times + 1 });
}
