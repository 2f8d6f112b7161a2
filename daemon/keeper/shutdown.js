// The keeper leaves when control requests this and no app process is left. It abdicates if another
// keeper replaces it. After SIGTERM, or when the home was removed, control stops all apps and then
// requests that the keeper leaves. If control is not ready, the keeper stops the apps and leaves.
import { describeError, log } from './host/log.js';
import { watchHome } from './home.js';

/** @import { createControlLink } from './control-link.js' */
/** @import { createControlSupervisor } from './control-supervisor.js' */
/** @import { Keeper } from './keeper.js' */
/** @import { HomeClaim } from './lock.js' */
/** @import { createPipePool } from './pipes.js' */

const CONTROL_EXIT_MS = 5_000;
/**
 * Interval of checks while the keeper terminates: if control is not ready, the keeper itself stops
 * the apps.
 */
const CONTROL_CHECK_MS = 15_000;
const DEFAULT_KILL_TIMEOUT_MS = 10_000;

/**
 * @param {object} o
 * @param {Keeper} o.keeper
 * @param {ReturnType<typeof createControlLink>} o.link
 * @param {ReturnType<typeof createControlSupervisor>} o.supervisor
 * @param {ReturnType<typeof createPipePool>} o.pipes
 * @param {HomeClaim} o.claim
 * @param {string} o.run
 */
export function createShutdown({ keeper, link, supervisor, pipes, claim, run }) {
  let isLeaving = false;
  let isTerminating = false;

  const leave = async () => {
    if (isLeaving) return;
    isLeaving = true;
    supervisor.stop();
    // Waits for a moment, so that control gets the answer to its request.
    await new Promise((resolve) => setImmediate(resolve));
    await controlEnded();
    try {
      await pipes.removeAll();
      claim.leave();
      log('keeper-left', {});
    } catch (error) {
      log('keeper-left-untidily', describeError(error)); // For example, the home was removed.
    }
    process.exit(0);
  };

  /**
   * Waits for control to exit, so that no control is left when the keeper exits. After
   * CONTROL_EXIT_MS, kills control.
   */
  const controlEnded = () => {
    setTimeout(() => {
      supervisor.killControl();
      link.disconnect();
    }, CONTROL_EXIT_MS);
    return link.disconnected();
  };

  /** Exits without a cleanup, but first delivers the connections on their way to a worker. */
  const abdicate = async () => {
    supervisor.stop();
    await keeper.close();
    log('keeper-abdicated', {});
    process.exit(0);
  };

  const terminate = () => {
    keeper.terminate();
    if (isTerminating) return;
    isTerminating = true;
    setInterval(() => {
      if (!supervisor.isReady()) void keeper.retireAll(DEFAULT_KILL_TIMEOUT_MS).then(leave);
    }, CONTROL_CHECK_MS);
  };

  return {
    leave,
    abdicate,
    listen() {
      // No command can reach the keeper without its home, so it ends then.
      const lookAgain = watchHome({ run, claim, onLost: terminate });
      process
        .on('SIGTERM', terminate)
        .on('SIGINT', terminate)
        .on('SIGHUP', () => void lookAgain())
        // Ignores SIGUSR2: it is for control, which then opens the log files again.
        .on('SIGUSR2', () => {});
    },
  };
}
