// Which code this is. An update replaces the keeper, and with it every worker, only where its code
// or the agent's has changed.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const DAEMON = fileURLToPath(new URL('..', import.meta.url));
const FOLDERS = ['agent', 'keeper'];

/**
 * @returns {string}  Of the files as they are now: taken at boot, it is that of the code that runs.
 */
export function keeperDigest() {
  const hash = createHash('sha256');
  for (const folder of FOLDERS) {
    for (const name of readdirSync(join(DAEMON, folder)).sort())
      hash.update(`${folder}/${name}\0`).update(readFileSync(join(DAEMON, folder, name)));
  }
  return hash.digest('hex');
}
