// Runs the core tests of several rings with nclust and its apps on other Node.js versions.
// Usage: node test/nodes/run.js [22 24 ...]
import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const HERE = fileURLToPath(new URL('.', import.meta.url));
const PROJECTS = ['integration', 'e2e', 'load', 'long', 'long-load'];
/** Test files with these names in every project. For example, several projects have `metrics`. */
const CORE = [
  'start',
  'stop',
  'cluster',
  'interpreters',
  'logs',
  'log-files',
  'logs-command',
  'log-guarantees',
  'log-kills',
  'worker-death',
  'control-death',
  'control-death-midway',
  'keeper-death',
  'reload',
  'reload-settings',
  'update',
  'bad-deploy',
  'balance',
  'frameworks',
  'metrics',
  'profile',
  'listen',
  'socket-path',
  'drain',
  'loaders',
  'endings',
  'gate',
  'log-stand-in',
  'agent-globals',
  'odd-apps',
  'permission',
  'uses-of-library',
];

const versions = process.argv.length > 2 ? process.argv.slice(2) : ['22', '24', '26'];
let failed = 0;

if (!existsSync(`${HERE}node_modules`)) run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: HERE });
for (const version of versions) {
  const node = `${HERE}node_modules/node${version}-${process.platform}-${process.arch}/bin/node`;
  if (!existsSync(node)) {
    process.stdout.write(
      `No Node ${version} for ${process.platform}-${process.arch} here. Name one with NCLUST_TEST_NODE and ` +
        `run: npx vitest run --project e2e --project load\n`,
    );
    failed += 1;
    continue;
  }
  process.stdout.write(`\nNode ${version}\n`);
  const status = run(
    'npx',
    ['vitest', 'run', ...PROJECTS.flatMap((name) => ['--project', name]), ...CORE.map((name) => `/${name}.test.js`)],
    { cwd: ROOT, env: { ...process.env, NCLUST_TEST_NODE: realpathSync(node) } },
  );
  failed += status === 0 ? 0 : 1;
}
process.exitCode = failed === 0 ? 0 : 1;

function run(file, args, o) {
  return spawnSync(file, args, { stdio: 'inherit', ...o }).status;
}
