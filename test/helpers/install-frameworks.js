import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** What vitest runs once before a ring whose fixtures use frameworks. */
export async function setup() {
  const folder = fileURLToPath(new URL('../frameworks', import.meta.url));
  if (existsSync(`${folder}/node_modules`)) return;
  await promisify(execFile)('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder });
}
