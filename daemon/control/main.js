// Knows: how the parts of control are put together, its signals, its boot. Must not: hold policy;
// each part has a folder. The keeper starts this file and talks to it over the IPC channel.
//
// If two parts need each other, the first part gets a function that returns the second.
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { availableCpus } from '../../lib/shared/host/cpus.js';
import { followLinks } from '../../lib/shared/host/follow-links.js';
import { digestCode } from '../../lib/shared/daemon/code-digest.js';
import { findHomeFault } from '../../lib/shared/daemon/home-folders.js';
import { createIdleGc } from '../../lib/shared/daemon/idle-gc.js';
import { homeMark } from '../../lib/shared/daemon/home-processes.js';
import { NclustError } from '../../lib/shared/errors.js';
import { readLastEvents } from '../../lib/shared/event-log.js';
import { systemLimits } from '../../lib/shared/host/system-limits.js';
import { homePaths, resolveHome } from '../../lib/shared/paths.js';
import { readVersion } from '../../lib/shared/version.js';
import { reopenLogs } from './api/log-files.js';
import { queryAppMetadata } from './api/messages.js';
import { createAnswer } from './api/methods.js';
import { ApiServer } from './api/server.js';
import { Control } from './control.js';
import { createEventLog, RECALLED_BYTES } from './journal/log.js';
import { teeToEventLog } from './journal/manager-events.js';
import { createHealth } from './health/health.js';
import { createHomeKeeping } from './home.js';
import { createActivityKinds } from './host/activity-kind.js';
import { systemClock } from './host/clock.js';
import { watchOomKills } from './host/oom-kills.js';
import { createHolderFinder } from './host/socket-holder.js';
import { createTreeReader, sharedBytes } from './host/processes.js';
import { launchKeeper } from './keeper-link/launch.js';
import { createAppLogs } from './logs/app-logs.js';
import { createArchive } from './logs/archive/archive.js';
import { findForeground } from './logs/foreground.js';
import { createManagerLog, openOwnLog, OWN_LOG_LIMITS } from './logs/manager-log.js';
import { createShipperPool } from './logs/shipping/shipper-pool.js';
import { createActivityReader } from './metrics/activity.js';
import { createErrorCounts } from './metrics/error-lines.js';
import { createExports } from './metrics/exports.js';
import { createPrivateMemory } from './host/private-memory.js';
import { createHostReader } from './metrics/host.js';
import { createMetrics } from './metrics/metrics.js';
import { createUsageReader } from './metrics/usage.js';
import { createNotify } from './notify/notify.js';
import { findOrphans } from './recovery/find-orphans.js';
import { createSettings } from './settings-file.js';
import { createEnvironment } from './spawn/environment.js';
import { readVersioning } from './spawn/git-checkout.js';
import { preflight, substituteMissingNode } from './spawn/preflight.js';
import { createSecrets } from './spawn/secrets.js';
import { findApp } from './state/desired.js';
import { createStore } from './state/store.js';
import { createPidFiles } from './status/pid-files.js';
import { createTriggers } from './triggers/triggers.js';
import { createTroubles } from './troubles/troubles.js';
import { openWatcher } from './triggers/folder-watcher.js';
import { CONTROL_CODE, ownInstallation, probe, PROBE } from './update/installation.js';
import { createWeb } from './web/dashboard.js';

/** @import { ApiContext, Parts } from './context.js' */
/** @import { Port } from './keeper-link/link.js' */

const own = { ...ownInstallation(), digest: digestCode(ownInstallation().root, CONTROL_CODE) };
// Before a running manager makes way for this installation, it asks for the version.
if (process.argv[2] === PROBE) {
  writeSync(1, `${JSON.stringify({ version: readVersion(), digest: own.digest })}\n`);
  process.exit(0);
}
const paths = homePaths(resolveHome(process.env));
await refuseExposed();
const clock = systemClock();
const ownLogFile = followLinks(null, paths.daemonLog);
const ownLog = openOwnLog(paths.daemonLog, {
  nowMs: clock.nowMs,
  onRotated: (segment) => archive.rotated(ownLogFile, segment),
});
const plainManagerLog = createManagerLog(ownLog, clock.nowMs);
const eventLog = createEventLog({ path: paths.events, nowMs: clock.nowMs, managerLog: plainManagerLog });
const managerLog = teeToEventLog(plainManagerLog, eventLog);
const settings = createSettings(paths.settings, clock.nowMs);
const timesFolder = join(paths.logs, '.times');
const archive = createArchive({ clock, managerLog, limitsOf: settings.limitsOf, logsFolder: paths.logs, timesFolder });
const errorCounts = createErrorCounts();
archive.acquire(ownLogFile, OWN_LOG_LIMITS, 'nclust');

await boot().catch(async (error) => {
  await tellFatal(error);
  fail('control-boot-failed', error);
});

/** Runs before any file of the home is opened, because each file could be a link. */
async function refuseExposed() {
  const fault = findHomeFault(paths.home);
  if (!fault) return;
  writeSync(2, `${fault.message}\n`);
  await tellFatal(new NclustError('ERR_NCLUST_HOME_EXPOSED', fault.message, fault));
  process.exit(1);
}

/**
 * @param {Error & { code?: string, hint?: string | null }} error
 * @returns {Promise<void>}
 */
async function tellFatal({ code = 'ERR_NCLUST_INTERNAL', message, hint = null }) {
  const { send } = process;
  const fatal = { v: 1, event: 'fatal', data: { code, message, hint } };
  if (send) await new Promise((resolve) => void send.call(process, fatal, resolve));
}

async function boot() {
  const { logs, shippers, foreground } = await openAppLogs(() => control);
  handleProcessEvents(logs);
  mkdirSync(paths.logs, { recursive: true, mode: 0o700 });
  const parts = makeParts(logs, (exitStatus) => void closeAll().finally(() => process.exit(exitStatus)));
  const control = new Control(parts, parts.store.load());
  for (const notice of control.registry.notices) managerLog('state-lost', { notice });
  const context = createApiContext(control, parts);
  const pidFiles = createPidFiles(control.registry, { pids: paths.pids, managerLog });
  const collectWhenIdle = createIdleGc();
  control.follow(() => {
    collectWhenIdle();
    pidFiles.sync();
    context.triggers.sync();
  });
  const api = new ApiServer({ answer: createAnswer(context), clock, managerLog });
  const closeAll = () =>
    Promise.all([context.notify, context.exports, context.web, api, shippers, foreground].map((part) => part.close()));
  // Users of PM2 send SIGUSR2 after they have rotated log files.
  process.on('SIGUSR2', () => reopenLogs(context));
  // Comes before listen(). If our keeper has died and another keeper holds the home, this process
  // exits here (see onHeld), because the socket belongs to the other control.
  await control.session.meet(/** @type {Port} */ (/** @type {unknown} */ (process)));
  await api.listen(paths);
  const putBack = createHomeKeeping({ paths, parts, control, api, pidFiles });
  control.welcome(putBack);
  context.metrics.onTick(() => {
    control.session.look();
    putBack();
  });
  control.session.announceReady();
  void context.web.sync();
  managerLog('control-ready', {
    pid: process.pid,
    keeperPid: control.keeper?.pid,
    version: readVersion(),
    apps: control.registry.desired.apps.length,
    instances: control.registry.instances.size,
  });
}

/** @param {() => Control} control  Called later, because control is created after the logs. */
async function openAppLogs(control) {
  const shippers = createShipperPool({
    clock,
    managerLog,
    targetsOf: (name) => findApp(control().registry.desired, name)?.spec.logShip ?? [],
  });
  const foreground = await findForeground(paths.run, {
    clock,
    onGone() {
      managerLog('foreground-gone');
      void control().end('shutdown');
    },
  });
  const logs = createAppLogs({
    clock,
    archive,
    limitsOf: settings.limitsOf,
    timesFolder,
    shippers,
    foreground,
    onErrors: errorCounts.take,
    onLost: (app, reason, id) => managerLog('log-limit', { app, id, reason }),
  });
  return { logs, shippers, foreground };
}

/** @param {Parts['logs']} logs */
function handleProcessEvents(logs) {
  process.title = `nclust control (${paths.home})`;
  // Exits, because the state of this process may be wrong. The next control reads everything again.
  process.on('uncaughtException', (error) => fail('control-crashed', error));
  process.on('unhandledRejection', (error) => fail('control-crashed', error));
  // The kernel closes the sockets; clients connect again and repeat their requests.
  process.on('SIGTERM', () => process.exit(0));
  // Writes the output that control has read, because it is not in the pipe any more.
  process.on('exit', () => {
    logs.close();
    void archive.close();
  });
  for (const signal of ['SIGINT', 'SIGHUP', 'SIGPIPE']) process.on(signal, () => {});
}

/** @type {(control: Control, parts: Parts) => ApiContext} */
function createApiContext(control, parts) {
  const metrics = createMetrics({
    control,
    clock,
    read: createUsageReader(),
    readHost: createHostReader(paths.home),
    errorCounts,
    activityKinds: createActivityKinds(),
    privateMemory: createPrivateMemory(clock.nowMs),
    readAppMetadata: () => queryAppMetadata({ control, parts }),
    managerLog,
    onTick: parts.oom.refresh,
  });
  const past = readLastEvents(paths.events, RECALLED_BYTES);
  const health = createHealth({ control, replace: (...about) => context.triggers.replace(...about) });
  const troubles = createTroubles({
    health,
    control,
    parts,
    metrics,
    past,
    takeFrame: async (id, instanceId) =>
      (await import('./profiling/frame.js')).takeFrame({ control, parts }, String(id), instanceId),
  });
  const notify = createNotify({ control, parts, metrics, troubles, past, folder: paths.notify });
  const exports = createExports({
    metrics,
    troubles: troubles.list,
    settings: settings.metrics,
    clock,
    managerLog,
    version: readVersion(),
  });
  const { onTick } = metrics;
  const web = createWeb({ settings, tokenFile: paths.webToken, context: () => context, onTick, clock, managerLog });
  const shared = { control, parts, metrics, troubles, notify, exports, web, paths, version: readVersion() };
  const triggers = createTriggers(shared, { openWatcher, readTrees: createTreeReader(), sharedBytes });
  const context = { ...shared, triggers };
  return context;
}

/** @type {(logs: Parts['logs'], leave: Parts['leave']) => Parts} */
function makeParts(logs, leave) {
  const mark = homeMark(paths.home);
  return {
    home: paths.home,
    logsFolder: paths.logs,
    clock,
    store: createStore(paths, clock.nowMs),
    logs,
    managerLog,
    eventLog,
    settings,
    ownLog,
    oom: watchOomKills(),
    findHolder: createHolderFinder(clock, paths.home),
    readActivity: createActivityReader(),
    environment: createEnvironment({ clock, secrets: createSecrets({ clock }) }),
    newInstanceId: () => randomUUID() + mark,
    cpus: availableCpus,
    findOrphans: (uidsOf, uids) => findOrphans({ home: paths.home, run: paths.run, mark, uidsOf, uids }),
    launchKeeper: (from) =>
      launchKeeper({
        from: from ?? own,
        env: keeperEnv(),
        logFd: ownLog.fd(),
        onHeld: () => {
          managerLog('home-held-by-another-keeper');
          process.exit(0);
        },
        onFailed: (error) => managerLog('keeper-failed', { error }),
      }),
    substituteMissingNode,
    preflight: (specs, method) =>
      preflight(
        specs.map((spec) => substituteMissingNode(spec)),
        method,
      ),
    readVersioning,
    systemLimits,
    leave,
    makeWay: () => process.exit(0),
    own,
    probe,
  };
}

function keeperEnv() {
  const { env } = process;
  const kept = ['NCLUST_HOME', 'PATH', 'HOME', 'LANG', 'TZ'];
  return Object.fromEntries(kept.flatMap((key) => (env[key] === undefined ? [] : [[key, env[key] ?? '']])));
}

/**
 * @param {string} event
 * @param {unknown} error
 */
function fail(event, error) {
  const { message, code, stack } = /** @type {NodeJS.ErrnoException} */ (
    error instanceof Error ? error : new Error(String(error))
  );
  const frames = stack?.split('\n').slice(1, 8);
  managerLog(event, { message, code, stack: frames?.map((line) => line.trim()) });
  process.exit(1);
}
