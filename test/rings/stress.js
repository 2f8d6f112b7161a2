// Runs one ring several times beside two busy loops, to find flaky tests.
// Usage: npm run test:stress -- <ring> [--times 5] [file ...]
import { fork, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BUSY = fileURLToPath(new URL('busy.js', import.meta.url));
/** @type {Record<string, string[]>} */
const RINGS = {
  unit: ['unit-lib', 'unit'],
  integration: ['integration'],
  e2e: ['e2e'],
  load: ['load'],
  package: ['package'],
  long: ['long', 'long-load'],
  soak: ['soak'],
  hostile: ['hostile'],
};
const ERROR_LINES = 12;

const {
  values: { times: given },
  positionals: [ring, ...files],
} = parseArgs({ options: { times: { type: 'string', default: '5' } }, allowPositionals: true });
const times = Number(given);
if (ring === undefined || !Object.hasOwn(RINGS, ring) || !Number.isInteger(times) || times < 1) {
  process.stderr.write(`Usage: npm run test:stress -- <${Object.keys(RINGS).join('|')}> [--times 5] [file ...]\n`);
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'nclust-stress-'));
const busy = [fork(BUSY), fork(BUSY)];
/** @type {Map<string, { runs: number, error: string }>} */
const failures = new Map();
try {
  for (let run = 1; run <= times; run += 1) once(run);
} finally {
  for (const loop of busy) loop.kill();
  rmSync(folder, { recursive: true, force: true });
}

for (const [title, { runs, error }] of [...failures].sort(([, one], [, other]) => other.runs - one.runs)) {
  process.stdout.write(
    `\nfailed ${runs} of ${times}: ${title}\n${error.split('\n').slice(0, ERROR_LINES).join('\n')}\n`,
  );
}
process.stdout.write(`\n${ring}, ${times} times beside two busy loops: ${failures.size} tests failed\n`);
process.exitCode = failures.size === 0 ? 0 : 1;

/** @param {number} run */
function once(run) {
  const startedMs = Date.now();
  const report = join(folder, `${run}.json`);
  // Removes CI, because with CI set, vitest tries a failed test again.
  const { CI: _, ...env } = process.env;
  const args = [
    'vitest',
    'run',
    ...RINGS[ring].flatMap((name) => ['--project', name]),
    '--reporter=json',
    `--outputFile=${report}`,
    '--silent=true',
    ...files,
  ];
  const { status, stderr } = spawnSync('npx', args, {
    cwd: ROOT,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const failed = existsSync(report) ? failedIn(JSON.parse(readFileSync(report, 'utf8'))) : new Map();
  // Counts the run itself as failed if an error occurs outside of the tests, or if no test runs,
  // because the report then shows no failed test.
  if (status !== 0 && failed.size === 0) failed.set('the run itself', stderr);
  for (const [title, error] of failed)
    failures.set(title, { runs: (failures.get(title)?.runs ?? 0) + 1, error: failures.get(title)?.error ?? error });
  process.stdout.write(
    `${ring}, run ${run} of ${times}: ${failed.size} failed, ${((Date.now() - startedMs) / 60_000).toFixed(1)} min\n`,
  );
}

/** @typedef {{ fullName: string, status: string, failureMessages: string[] }} TestResult */

/**
 * @typedef {object} FileResult
 * @property {string} name
 * @property {string} status
 * @property {string} message
 * @property {TestResult[]} assertionResults
 */

/**
 * @param {{ testResults: FileResult[] }} report
 * @returns {Map<string, string>}  Each title with its error. For a file that cannot be loaded,
 *   the title is the path.
 */
function failedIn({ testResults }) {
  return new Map(
    testResults.flatMap(({ name, status, message, assertionResults }) => {
      const file = relative(ROOT, name);
      const failed = assertionResults.filter((one) => one.status === 'failed');
      if (failed.length === 0) return status === 'failed' ? [[file, message]] : [];
      return failed.map(
        ({ fullName, failureMessages }) =>
          /** @type {[string, string]} */ ([`${file} > ${fullName}`, failureMessages[0] ?? '']),
      );
    }),
  );
}
