// Control's entry: started by the keeper, over whose IPC channel everything goes.
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { ApiServer } from './api/server.js';
import { reopenLogs } from './api/log-files.js';
import { toldByApps } from './api/messages.js';
import { createAnswer } from './api/methods.js';
import { createChronicle } from './events/log.js';
import { chronicled } from './events/manager-events.js';
import { systemClock } from './host/clock.js';
import { Control } from './control.js';
import { findApp } from './state/desired.js';
import { createEnvironment } from './spawn/environment.js';
import { createJournal, openOwnLog, OWN_LOG_LIMITS } from './logs/manager-log.js';
import { controlDigest, ownInstallation, probe, PROBE } from './update/installation.js';
import { KeeperLost } from './keeper-link/link.js';
import { launchKeeper } from './keeper-link/launch.js';
import { createArchive } from './logs/archive/archive.js';
import { createLogKeeper } from './logs/app-logs.js';
import { createFleet } from './logs/shipping/fleet.js';
import { findForeground } from './logs/foreground.js';
import { createExports } from './metrics/exports.js';
import { createPrivateMemory } from './host/private-memory.js';
import { createHostReader } from './metrics/host.js';
import { createMetrics } from './metrics/metrics.js';
import { createUsageReader } from './metrics/usage.js';
import { watchOomKills } from './host/oom-kills.js';
import { findOrphans } from './recovery/find-orphans.js';
import { createPidFiles } from './status/pid-files.js';
import { checkPresent, preflight, withPresentNode } from './spawn/preflight.js';
import { createSecrets } from './spawn/secrets.js';
import { createSettings } from './settings.js';
import { createStore } from './state/store.js';
import { createTidy } from './host/idle-gc.js';
import { systemLimits } from '../../lib/shared/host/system-limits.js';
import { openWatcher } from './triggers/watcher.js';
import { createTreeReader, sharedBytes } from './host/processes.js';
import { createTriggers } from './triggers/triggers.js';
import { createWeb } from './web/dashboard.js';
import { availableCpus } from '../../lib/shared/host/cpus.js';
import { homePaths, resolveHome } from '../../lib/shared/paths.js';
import { readVersion } from '../../lib/shared/version.js';

/** @import { Port } from './keeper-link/link.js' */
/** @import { Parts } from './keeper-link/tell.js' */

const own = { ...ownInstallation(), digest: controlDigest(ownInstallation().root) };
// Another version asks what this one is, before it makes way.
if (process.argv[2] === PROBE) {
  writeSync(1, `${JSON.stringify({ version: readVersion(), digest: own.digest })}\n`);
  process.exit(0);
}
const paths = homePaths(resolveHome(process.env));
const clock = systemClock();
const ownLog = openOwnLog(paths.daemonLog, {
  nowMs: clock.nowMs,
  onRotated: (segment) => archive.rotated(paths.daemonLog, segment),
});
const plainJournal = createJournal(ownLog, clock.nowMs);
const chronicle = createChronicle({ path: paths.events, nowMs: clock.nowMs, journal: plainJournal });
const journal = chronicled(plainJournal, chronicle);
const settings = createSettings(paths.settings, clock.nowMs);
const timesFolder = join(paths.logs, '.times');
const archive = createArchive({ clock, journal, limitsOf: settings.limitsOf, logsFolder: paths.logs, timesFolder });
archive.hold(paths.daemonLog, OWN_LOG_LIMITS, 'nclust');
/** @type {(name: string) => string[]} */
let targetsOf = () => [];
const fleet = createFleet({ clock, journal, targetsOf: (name) => targetsOf(name) });
let whenAlone = () => {};
const foreground = await findForeground(paths.run, { clock, onGone: () => whenAlone() });
const logs = createLogKeeper({
  clock,
  archive,
  limitsOf: settings.limitsOf,
  timesFolder,
  fleet,
  foreground,
  onLost: (app, reason, id) => journal('log-limit', { app, id, reason }),
});

process.title = `nclust control (${paths.home})`;
// The next control finds everything in the keeper and in the state file; a fault that is carried
// along would not get better.
process.on('uncaughtException', (error) => fail('control-crashed', error));
process.on('unhandledRejection', (error) => fail('control-crashed', error));
// Whatever is open is closed by the kernel; clients connect again and send their requests again.
process.on('SIGTERM', () => process.exit(0));
// What has been read is in no pipe any more. A compression that is cut off leaves nothing behind.
process.on('exit', () => {
  logs.close();
  void archive.close();
});
process
  .on('SIGINT', () => {})
  .on('SIGHUP', () => {})
  .on('SIGPIPE', () => {});

await boot().catch((error) => {
  const data = { code: error.code ?? 'ERR_NCLUST_INTERNAL', message: error.message, hint: error.hint ?? null };
  const end = () => fail('control-boot-failed', error);
  if (process.send) process.send({ v: 1, event: 'fatal', data }, end);
  else end();
});

async function boot() {
  mkdirSync(paths.logs, { recursive: true, mode: 0o700 });
  const parts = makeParts();
  const control = new Control(parts, parts.store.load());
  targetsOf = (name) => findApp(control.world.desired, name)?.spec.logShip ?? [];
  for (const notice of control.world.notices) journal('state-lost', { notice });
  const metrics = createMetrics({
    control,
    clock,
    read: createUsageReader(),
    readHost: createHostReader(paths.home),
    privateMemory: createPrivateMemory(clock.nowMs),
    told: () => toldByApps({ control, parts }),
    journal,
    onTick: parts.oom.refresh,
  });
  const exports = createExports({ metrics, settings: settings.metrics, clock, journal, version: readVersion() });
  const web = createWeb({
    settings,
    tokenFile: paths.webToken,
    desk: () => ({ ...desk, triggers }),
    onTick: metrics.onTick,
    clock,
    journal,
  });
  const desk = { control, parts, metrics, exports, web, paths, version: readVersion() };
  const triggers = createTriggers(desk, { openWatcher, readTrees: createTreeReader(), sharedBytes });
  const pidFiles = createPidFiles(control.world, { pids: paths.pids, journal });
  const tidy = createTidy(clock);
  control.follow(() => {
    tidy();
    pidFiles.look();
    triggers.look();
  });
  const api = new ApiServer({ answer: createAnswer({ ...desk, triggers }), clock, journal });
  whenAlone = () => {
    journal('foreground-gone');
    void control.end('shutdown'); // Leaving is what follows.
  };
  // What PM2's users send after they have rotated log files.
  process.on('SIGUSR2', () => reopenLogs(parts));
  parts.leave = (exitStatus) =>
    void Promise.all([exports.close(), web.close(), api.close(), fleet.close(), foreground.close()]).finally(() =>
      process.exit(exitStatus),
    );
  await meetKeeper(control);
  await api.listen(paths);
  control.announceReady();
  void web.look();
  journal('control-ready', {
    pid: process.pid,
    keeperPid: control.keeper?.pid,
    version: readVersion(),
    apps: control.world.desired.apps.length,
    instances: control.world.instances.size,
  });
}

/**
 * Only who has met a keeper may take the client socket. Should ours have died, the home may have
 * another one by now, with a control of its own whose socket it is; this control ends as soon as it
 * learns that.
 * @param {Control} control
 */
async function meetKeeper(control) {
  try {
    return await control.meet(/** @type {Port} */ (/** @type {unknown} */ (process)));
  } catch (error) {
    if (!(error instanceof KeeperLost)) throw error;
  }
  // It goes on trying to start one, and has told why it could not.
  for (let isMet = false; !isMet;)
    isMet = await control.meetsNext().then(
      () => true,
      () => false,
    );
}

/** @returns {Parts} */
function makeParts() {
  return {
    home: paths.home,
    logsFolder: paths.logs,
    clock,
    store: createStore(paths, clock.nowMs),
    logs,
    journal,
    chronicle,
    settings,
    ownLog,
    oom: watchOomKills(),
    environment: createEnvironment({ clock, secrets: createSecrets({ clock }) }),
    newInstanceId: randomUUID,
    cpus: availableCpus,
    findOrphans: () => findOrphans({ home: paths.home, run: paths.run }),
    launchKeeper: (from) =>
      launchKeeper({
        from: from ?? own,
        env: keeperEnv(),
        logFd: ownLog.fd(),
        onHeld: () => {
          journal('home-held-by-another-keeper');
          process.exit(0);
        },
        onFailed: (error) => journal('keeper-failed', { error }),
      }),
    withPresentNode,
    preflight: (specs) => preflight(specs.map((spec) => withPresentNode(spec))),
    checkPresent: (specs) => checkPresent(specs.map((spec) => withPresentNode(spec))),
    systemLimits,
    leave: (exitStatus) => process.exit(exitStatus),
    makeWay: () => process.exit(0),
    own,
    probe,
  };
}

function keeperEnv() {
  const kept = ['NCLUST_HOME', 'PATH', 'HOME', 'LANG', 'TZ'];
  return Object.fromEntries(
    kept.flatMap((key) => (process.env[key] === undefined ? [] : [[key, process.env[key] ?? '']])),
  );
}

/**
 * @param {string} event
 * @param {unknown} error
 */
function fail(event, error) {
  const { message, code, stack } = /** @type {NodeJS.ErrnoException} */ (
    error instanceof Error ? error : new Error(String(error))
  );
  journal(event, {
    message,
    code,
    stack: stack
      ?.split('\n')
      .slice(1, 8)
      .map((line) => line.trim()),
  });
  process.exit(1);
}
