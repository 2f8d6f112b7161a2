import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export async function setup() {
  const folder = fileURLToPath(new URL('../frameworks', import.meta.url));
  const { dependencies } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  // Checks each package, because the folder may be older than the list of dependencies.
  if (Object.keys(dependencies).every((name) => existsSync(`${folder}/node_modules/${name}`))) return;
  await promisify(execFile)('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder });
}
