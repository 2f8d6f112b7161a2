// Tests the web dashboard in a real browser. `node test/browser/run.js [arguments of vitest]`
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findChromium } from './chromium.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const HERE = fileURLToPath(new URL('.', import.meta.url));

findChromium();
if (!existsSync(`${HERE}node_modules`)) run('npm', ['ci', '--no-audit', '--no-fund'], HERE);
process.exitCode = run(
  'npx',
  ['vitest', 'run', '--config', 'test/browser/vitest.config.js', ...process.argv.slice(2)],
  ROOT,
);

function run(file, args, cwd) {
  return spawnSync(file, args, { stdio: 'inherit', cwd }).status ?? 1;
}
