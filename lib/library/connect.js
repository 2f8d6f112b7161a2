import { resolve } from 'node:path';
import { NclustError } from '../shared/errors.js';
import { resolveHome } from '../shared/paths.js';

/**
 * @param {object} [o]
 * @param {string} [o.home]  Default: NCLUST_HOME, or ~/.nclust if that is not set.
 * @param {string} [o.cwd]  Base of relative paths. Default: the working directory at each call.
 * @param {boolean} [o.launch]  Start a manager if none runs. Default: true.
 * @param {number} [o.timeoutMs]  Time limit of calls. Default: 15 s for questions, 10 min for
 *   changes.
 * @param {AbortSignal} [o.signal]
 * @param {(sentence: string) => void} [o.onWarning]  Default: process.emitWarning().
 * @returns {Promise<import('./nclust.js').Nclust>}  The caller must call close().
 */
export async function connect({
  home = resolveHome(process.env),
  cwd,
  launch = true,
  timeoutMs,
  signal,
  onWarning = warn,
} = {}) {
  if (process.platform === 'win32')
    throw new NclustError('ERR_NCLUST_PLATFORM', 'nclust does not run on Windows.', {
      hint: 'Use it inside WSL, as a Linux program.',
    });
  const [{ openCalls }, { Nclust }] = await Promise.all([import('./calls.js'), import('./nclust.js')]);
  const place = { home: resolve(home), cwd: cwd === undefined ? undefined : resolve(cwd) };
  return new Nclust(await openCalls({ ...place, launch, timeoutMs, signal, onWarning }));
}

/** @param {string} sentence */
function warn(sentence) {
  process.emitWarning(sentence, 'NclustWarning');
}
