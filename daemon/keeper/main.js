// The keeper's entry. Started by a command when none lives (design: docs/architecture.md), or by a
// control whose keeper died.
import { closeSync, fstatSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { keeperDigest } from './code-digest.js';
import { createControlLink } from './control-link.js';
import { createBabysitter } from './control-supervisor.js';
import { createTidy } from './idle-gc.js';
import { openDoor } from './keeper-socket.js';
import { Keeper } from './keeper.js';
import { claimHome } from './lock.js';
import { describeError, log, logTo } from './log.js';
import { createPipePool } from './pipes.js';
import { lowerOomScore, takeAgentFrom } from './spawn.js';

/** @import { Peer } from './control-supervisor.js' */
/** @import { Claim } from './lock.js' */

const LAUNCHER_FD = 3;
/**
 * After SIGTERM control stops everything, with the grace of each app. When there is no control by
 * then, the keeper does it.
 */
const TERMINATE_MS = 15_000;
const DEFAULT_KILL_TIMEOUT_MS = 10_000;
const CONTROL_EXIT_MS = 5_000;
const HOME_LOOK_MS = 3_000;
const CONTROL_LOOK_MS = 100;

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

async function main() {
  // Another version asks what this one is, before it makes way.
  if (process.argv[2] === '--probe')
    return void writeSync(1, `${JSON.stringify({ version: readVersion(), digest: keeperDigest() })}\n`);
  const digest = keeperDigest();
  const home = process.env.NCLUST_HOME ?? '';
  const isInherited = process.env.NCLUST_KEEPER_INHERIT === '1';
  const env = takeEnvironment();
  process.title = `nclust keeper (${home})`;
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
 * @param {boolean} o.isInherited  Control is our parent.
 * @param {Claim} o.claim
 * @param {string} o.run
 * @param {string} o.digest  Of the code that runs.
 */
function keep({ env, isInherited, claim, run, digest }) {
  const version = readVersion();
  const pipes = createPipePool(run, claim.epoch);
  pipes.fill().catch((error) => log('mkfifo-failed', describeError(error)));

  /** @type {string | null} */
  let fatal = null;
  let isControlReady = false;
  const tidy = createTidy();
  /** @param {Parameters<typeof link.event>} args */
  const emit = (...args) => {
    tidy();
    link.event(...args);
  };
  const keeper = new Keeper({ pipes, version, log, emit, onEmpty: () => void leave() });
  const door = openDoor(claim.server, version, keeper.doorEvents);
  const controlReady = ({ isAnswering = false } = {}) => {
    fatal = null;
    isControlReady = true;
    babysitter.ready(isAnswering);
    pipes.clearAway(keeper.pipesInUse);
    door.announce({ event: 'control-ready', pid: link.pid ?? 0 });
    answerLauncher({ ok: true });
  };
  const link = createControlLink({
    verbs: {
      ...keeper.verbs,
      snapshot: async () => ({
        ...(await keeper.snapshot()),
        digest,
        root: babysitter.root,
        refusedRoot: babysitter.refused?.root ?? null,
        refusedWhy: babysitter.refused?.why ?? null,
      }),
      'control-ready': controlReady,
      answer: () => babysitter.answered(),
      move: ({ root, before }) => babysitter.move(root, before),
      abdicate: () => abdicate(),
    },
    onFatal: (data) => {
      fatal = /** @type {{ message?: string }} */ (data)?.message ?? null;
      answerLauncher({ error: data });
    },
    log,
  });
  let whenControlEnded = () => {};
  const onEnded = () => {
    whenControlEnded();
    isControlReady = false;
    link.disconnect();
    keeper.hush();
    door.hush();
    if (fatal !== null) door.announce({ event: 'control-failed', message: fatal });
  };
  const babysitter = createBabysitter({
    env,
    root: ROOT,
    log,
    onStarted: (peer) => link.connect(peer),
    onEnded,
    onMoved: takeAgentFrom,
    ask: () => link.event('ask', {}),
  });
  let isLeaving = false;
  const leave = async () => {
    if (isLeaving) return;
    isLeaving = true;
    babysitter.stop();
    await new Promise((resolve) => setImmediate(resolve)); // The answer to the request to leave.
    await controlEnded();
    try {
      pipes.removeAll();
      claim.leave();
      log('keeper-left', {});
    } catch (error) {
      log('keeper-left-untidily', describeError(error)); // The home was removed under us.
    }
    process.exit(0);
  };
  /**
   * The keeper goes last: who waits at the door for the end of the manager is not to meet half of
   * it.
   */
  const controlEnded = () =>
    new Promise((resolve) => {
      whenControlEnded = () => resolve(undefined);
      if (link.pid === null) return whenControlEnded();
      setTimeout(() => {
        babysitter.giveUp();
        whenControlEnded();
      }, CONTROL_EXIT_MS);
    });
  /**
   * Makes way for another keeper. To everybody else it is as if we had been killed; but what is on
   * its way to a worker arrives first.
   */
  const abdicate = async () => {
    babysitter.stop();
    await keeper.settle();
    log('keeper-abdicated', {});
    process.exit(0);
  };
  let isTerminating = false;
  const terminate = () => {
    keeper.terminate();
    if (isTerminating) return;
    isTerminating = true;
    setInterval(() => {
      if (!isControlReady) void keeper.retireAll(DEFAULT_KILL_TIMEOUT_MS).then(leave);
    }, TERMINATE_MS);
  };
  // Somebody removed the home. The next command would begin a new one beside us, and nobody could
  // ever stop what we keep.
  const watch = setInterval(() => {
    if (claim.isHeld()) return;
    clearInterval(watch);
    log('home-removed', {});
    terminate();
  }, HOME_LOOK_MS).unref();
  process
    .on('SIGTERM', terminate)
    .on('SIGINT', terminate)
    .on('SIGHUP', () => {})
    .on('SIGUSR2', () => {}); // The latter is for control: log files are to be opened anew.

  log('keeper-started', { pid: process.pid, epoch: claim.epoch, version, node: process.version, isInherited });
  if (!isInherited) return babysitter.start();
  // Control may have died before there was a listener for it, and a channel that closes while a
  // handle waits to be acknowledged never says 'disconnect' (Node 20 to 26).
  const look = setInterval(() => {
    if (process.connected) return;
    clearInterval(look);
    onEnded();
    babysitter.restart();
  }, CONTROL_LOOK_MS);
  link.connect(/** @type {Peer} */ (/** @type {unknown} */ (withPid(process, process.ppid))));
  link.event('here', {});
}

/**
 * @param {NodeJS.Process} channel
 * @param {number} pid  Who is at the other end.
 */
function withPid(channel, pid) {
  return {
    pid,
    get connected() {
      return channel.connected;
    },
    send: channel.send?.bind(channel),
    on: channel.on.bind(channel),
    once: channel.once.bind(channel),
  };
}

/**
 * Empties the environment: node:cluster gives a worker everything the primary has, and an app's
 * environment is what its user declared.
 * @returns {Record<string, string>}  What control gets.
 */
function takeEnvironment() {
  const kept = ['NCLUST_HOME', 'PATH', 'HOME', 'LANG', 'TZ', 'MALLOC_ARENA_MAX'];
  const env = Object.fromEntries(
    kept.flatMap((key) => (process.env[key] === undefined ? [] : [[key, process.env[key] ?? '']])),
  );
  for (const key of Object.keys(process.env)) if (key !== 'PATH') delete process.env[key];
  return env;
}

/** Started by hand there is no launcher, and descriptor 3 belongs to Node itself. */
let hasAnswered = !isPipe(LAUNCHER_FD);

/** @param {number} fd */
function isPipe(fd) {
  const stat = fstatSync(fd);
  return stat.isSocket() || stat.isFIFO();
}

/**
 * @param {object} answer
 * @param {number} [exitCode]  Ends the keeper when given.
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
 * @param {NodeJS.ErrnoException} error
 * @returns {never}
 */
function failed(error) {
  log('keeper-failed', describeError(error));
  answerLauncher({ error: { code: error.code, message: error.message } }, 1);
  throw error;
}

function readVersion() {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
}

await main();
