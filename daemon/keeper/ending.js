// How the keeper ends. It leaves when control asks and nothing is left to keep, or abdicates to
// make way for another keeper. When it has to terminate, control stops everything and asks it to
// leave; if there is no control, the keeper does both itself.
import { describeError, log } from './host/log.js';

/** @import { createControlLink } from './control-link.js' */
/** @import { createControlSupervisor } from './control-supervisor.js' */
/** @import { Keeper } from './keeper.js' */
/** @import { Claim } from './lock.js' */
/** @import { createPipePool } from './pipes.js' */

const CONTROL_EXIT_MS = 5_000;
/**
 * After SIGTERM control has this long to stop everything, with the grace of each app, before the
 * keeper looks whether there is a control at all.
 */
const CONTROL_CHECK_MS = 15_000;
const DEFAULT_KILL_TIMEOUT_MS = 10_000;
const HOME_CHECK_MS = 3_000;

/**
 * @param {object} o
 * @param {Keeper} o.keeper
 * @param {ReturnType<typeof createControlLink>} o.link
 * @param {ReturnType<typeof createControlSupervisor>} o.supervisor
 * @param {ReturnType<typeof createPipePool>} o.pipes
 * @param {Claim} o.claim
 */
export function createEnding({ keeper, link, supervisor, pipes, claim }) {
  let isLeaving = false;
  let isTerminating = false;

  const leave = async () => {
    if (isLeaving) return;
    isLeaving = true;
    supervisor.stop();
    await new Promise((resolve) => setImmediate(resolve)); // The answer to the request to leave goes first.
    await controlEnded();
    try {
      pipes.removeAll();
      claim.leave();
      log('keeper-left', {});
    } catch (error) {
      log('keeper-left-untidily', describeError(error)); // The home was removed.
    }
    process.exit(0);
  };

  /**
   * The keeper exits last, so that a client that waits at its socket for the end of the manager
   * never finds half of the manager running.
   */
  const controlEnded = () => {
    setTimeout(() => {
      supervisor.giveUp();
      link.disconnect();
    }, CONTROL_EXIT_MS);
    return link.disconnected();
  };

  /**
   * To the other processes it is as if the keeper was killed, but connections on their way to a
   * worker arrive first.
   */
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
      if (!supervisor.isReady) void keeper.retireAll(DEFAULT_KILL_TIMEOUT_MS).then(leave);
    }, CONTROL_CHECK_MS);
  };

  /**
   * When the home is removed the next command starts another keeper, and no command can stop the
   * processes of this one.
   */
  const watchHome = () => {
    const timer = setInterval(() => {
      if (claim.isHeld()) return;
      clearInterval(timer);
      log('home-removed', {});
      terminate();
    }, HOME_CHECK_MS).unref();
  };

  return {
    leave,
    abdicate,
    /** Terminates the keeper from now on when it gets a signal or its home is removed. */
    listen() {
      watchHome();
      process
        .on('SIGTERM', terminate)
        .on('SIGINT', terminate)
        .on('SIGHUP', () => {})
        .on('SIGUSR2', () => {}); // Meant for control, which then opens the log files again.
    },
  };
}
