// Knows: the known problems of a machine, and a remedy for each.
// Must not: examine the machine, because facts.js does this.
// Start at: RULES.
import { formatBytes, formatCount } from '../figures/format.js';
import { describeTrouble } from '../render/troubles.js';
import { countInstances } from '../render/attention.js';
import { shellQuote } from '../shared/shell-quote.js';

/** @import { Facts } from './facts.js' */

/**
 * bad: breaks a guarantee now or soon. warn: may break a guarantee later. note: good to know.
 * @typedef {{ level: 'bad' | 'warn' | 'note', what: string, remedy: string }} Finding
 */

const MB = 1024 ** 2;
const GB = 1024 ** 3;

/** A busy server needs more descriptors than this, because a proxied connection takes two. */
const OPEN_FILES_LOW = 4_096;

/** A message about a trouble that waits for longer does not arrive. */
const MESSAGE_LATE_MS = 300_000;

/** Length of the listen queue that Node.js asks for. The system may limit it to less. */
const BACKLOG = 511;

/**
 * @param {Facts} facts
 * @returns {Finding[]}  The worst first.
 */
export function findings(facts) {
  const found = RULES.flatMap((rule) => rule(facts) || []);
  return ['bad', 'warn', 'note'].flatMap((level) => found.filter((one) => one.level === level));
}

/** @type {((facts: Facts) => Finding | Finding[] | null | false)[]} */
const RULES = [
  ({ silence }) => silence !== null && bad(silence.message, silence.hint ?? 'nclust kill; then: nclust resurrect'),
  ({ manager, silence, keptApps }) =>
    manager === null &&
    silence === null &&
    keptApps > 0 &&
    bad(
      `No nclust runs here, but ${keptApps === 1 ? 'one app is' : `${keptApps} apps are`} kept in its list.`,
      'nclust resurrect',
    ),
  ({ manager, version }) =>
    manager !== null &&
    manager.version !== version &&
    warn(
      `The running manager is version ${manager.version}, but this command is version ${version}.`,
      'Replace the manager without an interruption: nclust update',
    ),
  ({ manager, version }) =>
    manager !== null &&
    manager.keeperVersion !== manager.version &&
    manager.version === version &&
    note(
      `The keeper is still version ${manager.keeperVersion}; control is version ${manager.version}.`,
      'Nothing to do, unless the release notes ask for a new keeper.',
    ),
  ({ node }) =>
    major(node.version) % 2 === 1 &&
    note(`Node.js ${node.version} is not a long-term version.`, 'Run servers on an even version: 22, 24, 26.'),
  ({ node }) =>
    major(node.version) < 22 &&
    note(
      `Node.js ${node.version} no longer gets security fixes.`,
      'Install a newer one, then: nclust update, and nclust reload all --interpreter /path/to/node',
    ),
  ({ disk, home }) =>
    disk !== null &&
    disk.freeBytes < 100 * MB &&
    bad(
      `The disk of ${home} has ${formatBytes(disk.freeBytes)} left.`,
      'Empty the log files: nclust flush. Keep them small: nclust set logs.max_total 500M',
    ),
  ({ disk, home, logsMaxTotalBytes }) =>
    disk !== null &&
    disk.freeBytes >= 100 * MB &&
    disk.freeBytes < logsMaxTotalBytes &&
    note(
      `Logs may take ${formatBytes(logsMaxTotalBytes)}, and the disk of ${home} has ` +
        `${formatBytes(disk.freeBytes)} left.`,
      'Set a smaller limit: nclust set logs.max_total <size>',
    ),
  ({ disk, home }) =>
    disk !== null &&
    disk.inodes > 0 &&
    disk.freeInodes < 1_000 &&
    bad(`The disk of ${home} can take only ${disk.freeInodes} more files.`, 'Remove files there: df -i'),
  ({ disk, home }) =>
    disk !== null &&
    disk.isRemote &&
    warn(
      `${home} is on a network file system: sockets and locks do not work well there.`,
      'Point NCLUST_HOME at a local disk.',
    ),
  ({ disk, home }) =>
    disk !== null &&
    disk.isMemory &&
    note(
      `${home} is in memory: the list and the logs are lost after a reboot.`,
      'Point NCLUST_HOME at a disk, unless this is intended.',
    ),
  ({ homeStat, home, uid }) =>
    homeStat !== null &&
    homeStat.uid !== uid &&
    bad(
      `${home} belongs to user id ${homeStat.uid}, but this is user id ${uid}.`,
      'Run the command as its owner, or point NCLUST_HOME at a folder of your own.',
    ),
  ({ sudoUser, uid, home }) =>
    sudoUser !== null &&
    sudoUser !== 'root' &&
    uid === 0 &&
    note(
      `Under sudo this is the home of root (${home}), not that of ${sudoUser}.`,
      `For the apps of ${sudoUser}, leave sudo out.`,
    ),
  ({ openFiles }) =>
    openFiles !== null &&
    openFiles < OPEN_FILES_LOW &&
    warn(
      `A process may open only ${openFiles} files and connections.`,
      'ulimit -n 65536 before the manager starts, or LimitNOFILE=65536 in its unit (nclust startup writes it).',
    ),
  ({ sysctls }) =>
    sysctls['net.core.somaxconn'] < BACKLOG &&
    warn(
      `The system lets only ${sysctls['net.core.somaxconn']} connections wait at a listening socket; Node.js ` +
        `asks for ${BACKLOG}.`,
      'sysctl -w net.core.somaxconn=4096',
    ),
  ({ sysctls, slots }) =>
    slots.some(({ watching }) => watching) &&
    sysctls['fs.inotify.max_user_watches'] < 65_536 &&
    warn(
      `A user may watch only ${sysctls['fs.inotify.max_user_watches']} files, and an app runs with --watch.`,
      'sysctl -w fs.inotify.max_user_watches=524288',
    ),
  ({ group }) =>
    isNear(group.nowBytes, group.maxBytes) &&
    bad(
      `The control group uses ${formatBytes(group.nowBytes ?? 0)} of ` +
        `${formatBytes(group.maxBytes ?? 0)} of memory.`,
      'Give it more memory, or run fewer instances: nclust scale <app> -1',
    ),
  ({ group }) =>
    isNear(group.pidsNow, group.pidsMax) &&
    bad(
      `The control group has ${group.pidsNow} of ${group.pidsMax} processes and threads; a Node.js process ` +
        `takes about eleven.`,
      'Raise pids.max (TasksMax= of the unit, --pids-limit of the container).',
    ),
  ({ memory }) =>
    memory.freeBytes < 0.05 * memory.totalBytes &&
    warn(
      `Only ${formatBytes(memory.freeBytes)} of ${formatBytes(memory.totalBytes)} of memory is free.`,
      'nclust list --sort memory:desc shows which app uses it; --max-memory-restart limits an app.',
    ),
  ({ slots, cpus }) => tooMany(slots, cpus),
  ({ nodeOptions }) =>
    nodeOptions !== null &&
    nodeOptions !== '' &&
    note(
      `NODE_OPTIONS is "${nodeOptions}" in this shell, and every app that you start here gets it.`,
      'unset NODE_OPTIONS, or --filter-env NODE_OPTIONS',
    ),
  ({ isAtBoot, slots }) =>
    isAtBoot === false &&
    slots.length > 0 &&
    warn('Nothing starts the apps of this home after a reboot.', 'nclust startup'),
  ({ pm2Pid }) =>
    pm2Pid !== null &&
    note(`PM2 is running, too (pid ${pm2Pid}).`, 'Take over its apps: nclust import pm2; then: pm2 kill'),
  ({ sockets, slots }) =>
    sockets
      .filter(({ app, users }) => users.length === 0 && !slots.some(({ name }) => name === app))
      .map(({ app, address, port }) =>
        bad(
          `The manager holds ${port === 0 ? address : `port ${port}`} for "${app}", which is not in the list.`,
          'No other program can listen there. Start the app again and delete it, or: nclust kill',
        ),
      ),
  ({ troubles, slots }) =>
    troubles.map((trouble) => {
      const { text, next } = describeTrouble(trouble, countInstances(slots, trouble.app));
      return { level: trouble.level, what: `"${trouble.app}" ${text}.`, remedy: next };
    }),
  ({ receivers, nowMs }) =>
    receivers
      .filter(({ waitingSinceMs }) => waitingSinceMs !== null && nowMs - waitingSinceMs > MESSAGE_LATE_MS)
      .map(({ receiver, names, waiting, problem }) =>
        warn(
          `${formatCount(waiting, 'message')} about troubles ${waiting === 1 ? 'waits' : 'wait'} for "${receiver}"` +
            `${problem === null ? '' : `, because ${problem}`}.`,
          `nclust notify test ${names.map((name) => shellQuote(name)).join(' ')}`,
        ),
      ),
  ({ slots }) =>
    perApp(
      slots,
      (slot) => slot.memoryBytes > 2 * GB && slot.interpreter.endsWith('node'),
      (name) =>
        note(
          `An instance of "${name}" uses more than 2 GB of memory; by default Node.js limits its heap to 2 to 4 GB.`,
          'Set the limit with --node-args="--max-old-space-size=..."',
        ),
    ),
  ({ notices }) =>
    notices.map((notice) =>
      warn(
        notice,
        /\((ENOSPC|EDQUOT)\) and are lost/.test(notice)
          ? 'Free space, or empty log files: nclust flush <app>. Then set a smaller limit: nclust set logs.max_size 1M'
          : 'It is in nclust.log too.',
      ),
    ),
];

/**
 * @param {Facts['slots']} slots
 * @param {number} cpus
 */
function tooMany(slots, cpus) {
  const clusters = slots.filter(({ mode, status }) => mode === 'cluster' && status === 'online');
  return perApp(
    clusters,
    ({ name }) => clusters.filter((other) => other.name === name).length > 2 * cpus,
    (name) => note(`"${name}" has more than two instances for each of the ${cpus} CPUs.`, `nclust scale ${name} max`),
  );
}

/**
 * @param {Facts['slots']} slots
 * @param {(slot: Facts['slots'][number]) => boolean} isMeant
 * @param {(name: string) => Finding} toFinding
 */
function perApp(slots, isMeant, toFinding) {
  return [...new Set(slots.filter(isMeant).map(({ name }) => name))].map(toFinding);
}

/**
 * @param {number | null} now
 * @param {number | null} max
 */
function isNear(now, max) {
  return now !== null && max !== null && now > 0.9 * max;
}

/** @param {string} version */
function major(version) {
  return Number(/^v?(\d+)/.exec(version)?.[1]);
}

/**
 * @param {string} what
 * @param {string} remedy
 * @returns {Finding}
 */
function bad(what, remedy) {
  return { level: 'bad', what, remedy };
}

/**
 * @param {string} what
 * @param {string} remedy
 * @returns {Finding}
 */
function warn(what, remedy) {
  return { level: 'warn', what, remedy };
}

/**
 * @param {string} what
 * @param {string} remedy
 * @returns {Finding}
 */
function note(what, remedy) {
  return { level: 'note', what, remedy };
}
