import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** @import { Sandbox } from './sandbox.js' */

/**
 * @param {Sandbox} home
 * @param {Record<string, any>[]} apps  The test changes this list in place.
 */
export function createConfigFile(home, apps) {
  const path = join(home.work, 'nclust.config.json');
  const write = () => writeFileSync(path, JSON.stringify({ apps }, null, 2));
  write();
  return {
    path,
    apps,
    write,
    /** @param {...string} flags */
    async apply(...flags) {
      write();
      const result = await home.nclust('apply', path, '--json', ...flags, { timeoutMs: 60_000 });
      if (result.exitStatus !== 0)
        throw new Error(`nclust apply exited with ${result.exitStatus}: ${result.stdout}${result.stderr}`);
      return result.json();
    },
    /** @param {...string} flags */
    async pending(...flags) {
      const result = await home.nclust('diff', path, '--json', ...flags);
      return result.json().plan.filter((/** @type {{ action: string }} */ { action }) => action !== 'none');
    },
  };
}
