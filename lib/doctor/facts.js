import { existsSync, readdirSync, statfsSync, statSync } from 'node:fs';
import { freemem, homedir, release, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { countSavedApps } from '../client/not-running.js';
import { readIfThere } from '../shared/daemon/files.js';
import { realPath } from '../shared/daemon/home-processes.js';
import { availableCpus } from '../shared/host/cpus.js';
import { systemLimits } from '../shared/host/system-limits.js';
import { homePaths } from '../shared/paths.js';
import { readSettingsFile } from '../shared/settings/rules.js';
import { readVersion } from '../shared/version.js';
import { shortTarget } from '../shared/without-secrets.js';
import { escapeRegExp } from '../shared/escape-reg-exp.js';

/** @import { Client } from '../client/client.js' */
/** @import { Context } from '../cli/session/context.js' */
/** @import { NclustError } from '../shared/errors.js' */
/** @import { Trouble } from '../shared/troubles.js' */
/** @import { ShownReceiver } from '../shared/settings/notify-keys.js' */
/** @import { HeldSocket, Hello, SlotStatus } from '../shared/wire/protocol.js' */

/**
 * @typedef {object} DiskFacts
 * @property {number} freeBytes
 * @property {number} totalBytes
 * @property {number} freeInodes
 * @property {number} inodes
 * @property {boolean} isMemory
 * @property {boolean} isRemote
 */

/**
 * Null: no limit, or not known.
 * @typedef {object} GroupFacts
 * @property {number | null} maxBytes
 * @property {number | null} nowBytes
 * @property {number | null} pidsMax
 * @property {number | null} pidsNow
 */

/**
 * @typedef {object} Facts
 * @property {string} version  Of this command.
 * @property {number} nowMs
 * @property {{ version: string, file: string }} node
 * @property {string} system  "linux 6.1.0 x64".
 * @property {number} uid
 * @property {string | null} sudoUser  Null: SUDO_USER is not set.
 * @property {string | null} nodeOptions  Null: NODE_OPTIONS is not set.
 * @property {string} home
 * @property {{ mode: number, uid: number } | null} homeStat  Null: the home does not exist yet.
 * @property {DiskFacts | null} disk  Of the home. Null: not known.
 * @property {number} cpus
 * @property {{ freeBytes: number, totalBytes: number }} memory
 * @property {GroupFacts} group  The control group of the manager. If no manager runs: of this
 *   command.
 * @property {number | null} openFiles  The limit of the manager. If no manager runs: of this
 *   command. Null: no limit is known.
 * @property {Record<string, number>} sysctls
 * @property {Hello | null} manager  Null: no manager runs, or it does not answer.
 * @property {{ message: string, hint: string | null } | null} silence  Why the manager, or its
 *   keeper, does not answer. Null: they answer, or no manager runs.
 * @property {number} keptApps  Apps that the home keeps, to run at the next start.
 * @property {ReturnType<typeof shownSlot>[]} slots
 * @property {Trouble[]} troubles  Of apps, the worst first.
 * @property {ShownReceiver[]} receivers  The receivers of messages about troubles.
 * @property {HeldSocket[]} sockets
 * @property {string[]} notices
 * @property {boolean | null} isAtBoot  A systemd unit starts the manager at boot. Null: this
 *   system does not use systemd.
 * @property {number | null} pm2Pid  Null: PM2 does not run.
 * @property {number} logsMaxTotalBytes
 */

const SYSCTLS = [
  'net.core.somaxconn',
  'net.ipv4.tcp_max_syn_backlog',
  'fs.inotify.max_user_watches',
  'fs.inotify.max_user_instances',
  'fs.file-max',
  'kernel.pid_max',
  'vm.overcommit_memory',
  'kernel.core_uses_pid',
];

/** f_type of statfs(2) for tmpfs and ramfs. */
const MEMORY_TYPES = [0x0102_1994, 0x8584_58f6];
/** f_type of statfs(2) for NFS, CIFS, SMB 2, SMB and FUSE. */
const REMOTE_TYPES = [0x6969, 0xff53_4d42, 0xfe53_4d42, 0x517b, 0x6573_5546];

/**
 * Changes nothing and starts nothing.
 * @param {Context} context
 * @param {object} [o]
 * @param {string} [o.root]  The folder of /proc, /sys and /etc.
 * @returns {Promise<Facts>}
 */
export async function gatherFacts(context, { root = '/' } = {}) {
  /** @type {NclustError[]} */
  const silent = [];
  const unlessSilent = (/** @type {Promise<any>} */ answer) =>
    answer.catch((error) => {
      if (error.code !== 'ERR_NCLUST_DAEMON_UNREACHABLE') throw error;
      silent.push(error);
      return null;
    });
  /** @type {Client | null} */
  const client = await unlessSilent(context.managerOfAnyVersion());
  const ask = async (/** @type {Parameters<Client['request']>[0]} */ method, params = {}) =>
    (client && (await unlessSilent(client.request(method, params)))) ?? {};
  const { slots = [], notices = [] } = await ask('list', { detail: true });
  const { sockets = [] } = await ask('sockets');
  const manager = client?.hello ?? null;
  // An earlier version has no such methods.
  const isSame = manager?.version === readVersion();
  const { troubles = [] } = isSame ? await ask('troubles') : {};
  const { receivers = [] } = isSame ? await ask('notify') : {};
  const pid = manager?.keeperPid ?? process.pid;
  const limits = systemLimits(pid, { root });
  return {
    version: readVersion(),
    nowMs: Date.now(),
    node: context.node,
    system: `${process.platform} ${release()} ${process.arch}`,
    uid: process.geteuid?.() ?? 0,
    sudoUser: context.env.SUDO_USER ?? null,
    nodeOptions: context.env.NODE_OPTIONS ?? null,
    home: context.home,
    homeStat: readOwner(context.home),
    disk: readDisk(context.home),
    cpus: availableCpus({ root }),
    memory: { freeBytes: availableMemory(root), totalBytes: totalmem() },
    group: { ...readGroup(root, pid), pidsMax: orNull(limits.tasks) },
    openFiles: orNull(limits.files),
    sysctls: readSysctls(root),
    manager,
    silence: silent.map(({ message, hint }) => ({ message, hint }))[0] ?? null,
    keptApps: countSavedApps(context.home),
    slots: slots.map(shownSlot),
    troubles,
    receivers,
    sockets,
    notices: notices.filter((/** @type {string} */ notice) => notice !== silent[0]?.message),
    isAtBoot: isAtBoot(root, context),
    pm2Pid: pm2Pid(root, context.env),
    logsMaxTotalBytes: Number(readSettingsFile(homePaths(context.home).settings).values['logs.max_total']),
  };
}

/**
 * Fields of a slot that a report contains unchanged. Environment, arguments and output are left
 * out, because they may be secret.
 */
const SLOT_FIELDS = /** @type {const} */ ([
  'id',
  'name',
  'namespace',
  'slot',
  'pid',
  'status',
  'generation',
  'restarts',
  'crashes',
  'unstableRestarts',
  'startedAtMs',
  'onlineSinceMs',
  'createdAtMs',
  'cpu',
  'memoryBytes',
  'mode',
  'version',
  'user',
  'interpreter',
  'nodeVersion',
  'watching',
  'isReady',
  'autorestart',
  'logLost',
  'listenFailure',
]);

/** @param {SlotStatus} slot */
function shownSlot(slot) {
  const { shipping = [], lastDeath } = slot;
  return {
    .../** @type {Pick<SlotStatus, typeof SLOT_FIELDS[number]>} */ (
      Object.fromEntries(SLOT_FIELDS.map((key) => [key, slot[key]]))
    ),
    shipping: shipping.map((one) => ({ ...one, target: shortTarget(one.target) })),
    lastDeath: lastDeath && { ...lastDeath, words: undefined, frame: undefined, lastLines: [] },
  };
}

/** @param {string} home */
function readOwner(home) {
  const stat = statSync(home, { throwIfNoEntry: false });
  return stat ? { mode: stat.mode & 0o777, uid: stat.uid } : null;
}

/**
 * Looks at the parent folder if the home does not exist.
 * @param {string} home
 * @returns {Facts['disk']}
 */
function readDisk(home) {
  const folder = existsSync(home) ? home : dirname(home);
  try {
    const { type, bsize, blocks, bavail, files, ffree } = statfsSync(folder);
    return {
      freeBytes: bavail * bsize,
      totalBytes: blocks * bsize,
      freeInodes: ffree,
      inodes: files,
      isMemory: MEMORY_TYPES.includes(type >>> 0),
      isRemote: REMOTE_TYPES.includes(type >>> 0),
    };
  } catch {
    // Looks at the folder above, because this folder probably does not exist yet.
    return folder === dirname(folder) ? null : readDisk(folder);
  }
}

/** @param {string} root */
function availableMemory(root) {
  const kilobytes = /^MemAvailable:\s+(\d+)/m.exec(readIfThere(join(root, 'proc/meminfo')))?.[1];
  return kilobytes ? Number(kilobytes) * 1024 : freemem();
}

/**
 * @param {string} root
 * @returns {Record<string, number>}
 */
function readSysctls(root) {
  const values = SYSCTLS.map((key) => ({
    key,
    value: parseNumber(readIfThere(join(root, 'proc/sys', key.replaceAll('.', '/')))),
  }));
  return Object.fromEntries(values.flatMap(({ key, value }) => (value === null ? [] : [[key, value]])));
}

/** @param {number} limit  Infinity: no limit. */
function orNull(limit) {
  return Number.isFinite(limit) ? limit : null;
}

/**
 * @param {string} root
 * @param {number} pid
 * @returns {Omit<Facts['group'], 'pidsMax'>}
 */
function readGroup(root, pid) {
  const path = /^0::(.*)$/m.exec(readIfThere(join(root, 'proc', String(pid), 'cgroup')))?.[1];
  // In a container, /proc may show a path of the host that does not exist in the container. Then
  // "/" is the right path.
  const folder =
    [path ?? '/', '/']
      .map((one) => join(root, 'sys/fs/cgroup', one))
      .find((one) => existsSync(join(one, 'pids.current'))) ?? join(root, 'sys/fs/cgroup');
  const [maxBytes, nowBytes, pidsNow] = ['memory.max', 'memory.current', 'pids.current'].map((file) =>
    parseNumber(readIfThere(join(folder, file))),
  );
  return { maxBytes, nowBytes, pidsNow };
}

/**
 * @param {string} root
 * @param {Context} context
 */
function isAtBoot(root, { home, env }) {
  if (!existsSync(join(root, 'run/systemd/system'))) return null;
  const folders = [
    join(root, 'etc/systemd/system'),
    join(env.XDG_CONFIG_HOME ?? join(env.HOME ?? homedir(), '.config'), 'systemd/user'),
  ];
  // Searches all units for the path of the home, because the unit may have any name. The path may
  // also be a part of the path of another home.
  const path = `(${[home, realPath(home)].map(escapeRegExp).join('|')})`;
  const word = new RegExp(`(?<=^|[="'\\s:])${path}(?=$|["'\\s:;]|/launcher\\.sh)`, 'm');
  return folders.some((folder) => listUnits(folder).some((file) => word.test(readIfThere(file))));
}

/** @param {string} folder */
function listUnits(folder) {
  return existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => name.endsWith('.service'))
        .map((name) => join(folder, name))
    : [];
}

/**
 * @param {string} root
 * @param {Record<string, string | undefined>} env
 */
function pm2Pid(root, env) {
  const pid = parseNumber(readIfThere(join(env.PM2_HOME ?? join(env.HOME ?? '/nonexistent', '.pm2'), 'pm2.pid')));
  // Checks the command line, because PM2 may have exited and another process may have its pid.
  return pid !== null && /pm2/i.test(readIfThere(join(root, 'proc', String(pid), 'cmdline'))) ? pid : null;
}

/** @param {string} text */
function parseNumber(text) {
  return /^\d+$/.test(text.trim()) ? Number(text) : null;
}
