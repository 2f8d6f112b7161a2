import { CLEAN_EXIT, describeListenFailure } from '../shared/death-text.js';
import { formatDuration } from '../shared/units.js';

/** @import { Death, DeathCause } from '../shared/wire/protocol.js' */

/** @type {Record<DeathCause, string>} */
const WORDS = {
  crash: 'it exited on its own',
  stop: 'stopped',
  restart: 'restarted',
  reload: 'replaced by a reload',
  scale: 'scaled down',
  delete: 'deleted',
  'boot-timeout': 'it was not ready in time',
  'out-of-memory': 'out of memory',
  signal: 'ended by a signal from outside nclust',
  orphan: 'left over from a manager that died, and replaced',
  'spawn-failed': 'it could not be started',
};

/**
 * Whether the program finished its work: it exited without an error, and nclust does not restart
 * it.
 * @param {Death} death
 * @param {{ autorestart: boolean }} slot
 */
export function isFinish({ cause, code, signal }, { autorestart }) {
  return !autorestart && cause === 'crash' && code === 0 && signal === null;
}

/**
 * Like "exited with code 1 after 0.4s: it exited on its own".
 * @param {Death} death
 * @param {{ autorestart: boolean }} slot
 */
export function describeDeath(death, slot) {
  if (isFinish(death, slot)) return `finished with code 0 after ${formatDuration(death.uptimeMs)}`;
  // Leaves out `by` if the cause, such as "replaced by a reload", already names the command, or if
  // a failure to listen explains the boot timeout.
  const by =
    death.by && death.by !== death.cause
      ? death.cause === 'boot-timeout'
        ? death.listenFailure
          ? ''
          : `: ${death.by}`
        : ` by ${death.by}`
      : '';
  if (death.cause === 'spawn-failed') return `${WORDS[death.cause]}${by}`;
  const how = death.signal ? `killed by ${death.signal}` : `exited with code ${death.code ?? '?'}`;
  const before = death.wasReady ? '' : ', before it was up';
  return `${how} after ${formatDuration(death.uptimeMs)}${before}: ${reasonOf(death)}${by}`;
}

/** @param {Death} death */
function reasonOf({ cause, code, signal, listenFailure }) {
  if (listenFailure && (cause === 'crash' || cause === 'boot-timeout')) return describeListenFailure(listenFailure);
  return cause === 'crash' && signal === null && code === 0 ? CLEAN_EXIT : (WORDS[cause] ?? cause);
}
