// The keeper must not decide about apps. It must import only node: modules, its own folder and
// lib/shared/daemon. A command starts the keeper if no keeper runs. Control starts a keeper if the
// previous keeper has died (docs/architecture.md).
import { closeSync, fstatSync, readFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { digestCode } from '../../lib/shared/daemon/code-digest.js';
import { findHomeFault } from '../../lib/shared/daemon/home-folders.js';
import { createIdleGc } from '../../lib/shared/daemon/idle-gc.js';
import { closeInherited } from '../../lib/shared/daemon/inherited-descriptors.js';
import { lowerOomScore } from '../../lib/shared/daemon/oom-score.js';
import { createControlLink } from './control-link.js';
import { createControlSupervisor } from './control-supervisor.js';
import { createShutdown } from './shutdown.js';
import { openKeeperSocket } from './keeper-socket.js';
import { Keeper } from './keeper.js';
import { claimHome } from './lock.js';
import { describeError, log, logTo } from './host/log.js';
import { createPipePool } from './pipes.js';
import { takeAgentFrom } from './spawn.js';

/** @import { Emit } from './keeper.js' */
/** @import { HomeClaim } from './lock.js' */

const LAUNCHER_FD = 3;

/** If the digest of this code changes, an update also replaces keeper and workers. */
const CODE = ['daemon/agent', 'daemon/keeper', 'lib/shared/daemon'];
const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

async function main() {
  closeInherited();
  // Before an update, the running manager starts the new version with --probe.
  const digest = digestCode(ROOT, CODE); // At boot, because the files may change later.
  if (process.argv[2] === '--probe')
    return void writeSync(1, `${JSON.stringify({ version: readVersion(), digest })}\n`);
  const home = process.env.NCLUST_HOME ?? '';
  const isInherited = process.env.NCLUST_KEEPER_INHERIT === '1';
  const env = takeEnvironment();
  const fault = findHomeFault(home);
  // Reports the fault on stderr, before logTo(), because the log may be a link to another file.
  if (fault) failed(Object.assign(new Error(fault.message), { code: 'ERR_NCLUST_HOME_EXPOSED', hint: fault.hint }));
  logTo(join(home, 'nclust.log'));
  process.on('uncaughtException', (error) => log('uncaught', describeError(error)));
  process.on('unhandledRejection', (error) => log('uncaught', describeError(error)));

  const run = join(home, 'run');
  const claim = await claimHome(run).catch((error) => failed(error));
  if (!claim.owned) return answerLauncher({ held: true }, 0);
  lowerOomScore();
  keep({ env, isInherited, claim, run, digest });
}

/**
 * @param {object} o
 * @param {Record<string, string>} o.env
 * @param {boolean} o.isInherited  Control is the parent of this keeper.
 * @param {HomeClaim} o.claim
 * @param {string} o.run
 * @param {string} o.digest
 */
function keep({ env, isInherited, claim, run, digest }) {
  const version = readVersion();
  const pipes = createPipePool(run, claim.epoch);
  pipes.fill().catch((error) => log('mkfifo-failed', describeError(error)));

  const link = createControlLink(log);
  const collectWhenIdle = createIdleGc();
  /** @type {Emit} */
  const emit = (...event) => {
    collectWhenIdle();
    link.event(...event);
  };
  const keeper = new Keeper({ pipes, version, log, emit });
  const keeperSocket = openKeeperSocket({
    claim,
    version,
    onVisit: () => link.event('visited', {}),
    onOffer: (offer) => supervisor.offer(offer),
    events: keeper.keeperSocketEvents,
  });
  const supervisor = createControlSupervisor({
    env,
    root: ROOT,
    log,
    onStarted: link.connect,
    onEnded: () => {
      link.disconnect();
      keeper.onControlEnded();
      keeperSocket.onControlEnded();
    },
    onMoved: takeAgentFrom,
    onMissing: keeperSocket.onControlMissing,
    ping: () => link.event('ping', {}),
  });
  const ending = createShutdown({ keeper, link, supervisor, pipes, claim, run });
  link.serve({
    verbs: {
      ...keeper.verbs,
      snapshot: async () => ({ ...(await keeper.snapshot()), digest, ...supervisor.snapshot() }),
      'control-ready': ({ isAnswering = false } = {}) => {
        supervisor.ready(isAnswering);
        pipes.clearAway(keeper.pipesInUse);
        keeperSocket.onControlReady(link.pid ?? 0);
        answerLauncher({ ok: true });
      },
      pong: () => supervisor.answered(),
      'use-installation': ({ root, before }) => supervisor.move(root, before),
      leave: () => keeper.leave(() => void ending.leave()),
      abdicate: () => ending.abdicate(),
    },
    onFatal: (data) => {
      keeperSocket.onControlFatal(data?.message ?? null);
      answerLauncher({ error: data });
      // Leaves if control never became ready, because no command can reach such a control. The
      // launcher has the error.
      if (!isInherited && !supervisor.wasReady()) keeper.leave(() => void ending.leave());
    },
  });
  ending.listen();
  // A new keeper looks for this title (keeper-process.js), so only the owner of the home has it.
  process.title = `nclust keeper (${dirname(run)})`;

  log('keeper-started', { pid: process.pid, epoch: claim.epoch, version, node: process.version, isInherited });
  if (!isInherited) return supervisor.start();
  supervisor.followParent();
  link.event('keeper-listening', {});
}

/**
 * Removes all variables except PATH, because node:cluster passes the environment to workers.
 * @returns {Record<string, string>}  The environment of control.
 */
function takeEnvironment() {
  const kept = ['NCLUST_HOME', 'PATH', 'HOME', 'LANG', 'TZ', 'MALLOC_ARENA_MAX'];
  const env = Object.fromEntries(
    kept.flatMap((key) => (process.env[key] === undefined ? [] : [[key, process.env[key] ?? '']])),
  );
  for (const key of Object.keys(process.env)) if (key !== 'PATH') delete process.env[key];
  return env;
}

/**
 * True from the start if the keeper was started by hand and has no launcher. Then descriptor 3
 * belongs to Node.js.
 */
let hasAnswered = !isPipe(LAUNCHER_FD);

/** @param {number} fd */
function isPipe(fd) {
  const stat = fstatSync(fd);
  return stat.isSocket() || stat.isFIFO();
}

/**
 * @param {object} answer
 * @param {number} [exitCode]
 */
function answerLauncher(answer, exitCode) {
  if (!hasAnswered) {
    hasAnswered = true;
    try {
      writeSync(LAUNCHER_FD, JSON.stringify(answer) + '\n');
      closeSync(LAUNCHER_FD);
    } catch (error) {
      log('launcher-gone', describeError(error));
    }
  }
  if (exitCode !== undefined) process.exit(exitCode);
}

/**
 * @param {NodeJS.ErrnoException & { hint?: string }} error
 * @returns {never}
 */
function failed(error) {
  log('keeper-failed', describeError(error));
  answerLauncher({ error: { code: error.code, message: error.message, hint: error.hint } }, 1);
  throw error;
}

function readVersion() {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
}

await main();
