// Knows: other installations of nclust: their version and digest, and why one is refused. Must not:
// replace a process; api/update.js does that.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runWithDefaultOomScore } from '../../../lib/shared/daemon/oom-score.js';
import { NclustError } from '../../../lib/shared/errors.js';

/** @import { ExecFileException } from 'node:child_process' */

/** The code of control. (The keeper computes the digest of daemon/keeper and daemon/agent.) */
export const CONTROL_CODE = [
  'package.json',
  'daemon/control',
  'lib/app-spec',
  'lib/figures',
  'lib/render',
  'lib/shared',
];

/** Time limit for a probe, in ms. A probe takes 0.1 s on a fast disk. */
const PROBE_MS = 20_000;

/** Makes main.js report its version instead of starting. */
export const PROBE = '--probe';

/**
 * @typedef {object} Installation
 * @property {string} root  The folder of the package.
 * @property {string} node
 */

/** @typedef {Installation & { digest: string }} Own  `digest`: of control's code as loaded. */

/** @typedef {{ version: string, digest: string }} VersionReport */

/** @returns {Installation} */
export function ownInstallation() {
  return { root: fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, ''), node: process.execPath };
}

/**
 * Makes keeper and control load their modules, because code that cannot load must not take over.
 * @param {Installation} installation
 * @returns {Promise<{ keeper: VersionReport, control: VersionReport }>}
 *   Rejects with ERR_NCLUST_UPDATE_FAILED.
 */
export async function probe(installation) {
  const [keeper, control] = await Promise.all(['keeper', 'control'].map((name) => probeOne(installation, name)));
  return { keeper, control };
}

/**
 * @param {Installation} installation
 * @param {string} name
 * @returns {Promise<VersionReport>}
 */
function probeOne({ root, node }, name) {
  const main = join(root, 'daemon', name, 'main.js');
  return new Promise((resolve, reject) => {
    // A version that does not know --probe would start, so it must not get our home.
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, NCLUST_HOME: '/dev/null' };
    const options = { cwd: '/', env, timeout: PROBE_MS, killSignal: /** @type {const} */ ('SIGKILL') };
    runWithDefaultOomScore(() =>
      execFile(node, [main, PROBE], options, (error, out, err) => {
        try {
          const { version, digest } = JSON.parse(out);
          if (typeof version === 'string' && typeof digest === 'string') return resolve({ version, digest });
        } catch {
          // unusable() reports the error and the output.
        }
        reject(unusable(main, error, err));
      }),
    );
  });
}

/**
 * @param {string} main
 * @param {ExecFileException | null} error
 * @param {string} err
 */
function unusable(main, error, err) {
  const how = error?.killed
    ? `did not answer within ${PROBE_MS / 1_000}s`
    : error?.code !== undefined
      ? `failed (${error.code})`
      : 'has a version that this manager cannot update to';
  return new NclustError('ERR_NCLUST_UPDATE_FAILED', `Nothing was replaced: "${main}" ${how}.`, {
    hint: 'Install nclust again, then run: nclust update',
    data: { lastLines: err.trimEnd().split('\n').slice(-20).filter(Boolean) },
  });
}
