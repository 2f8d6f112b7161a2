import { expect, test } from 'vitest';
import { sourceFiles } from '../helpers/source-tree.js';

// A manager of root must not do anything as root at a path that the user of an app can choose or
// exchange: see lib/shared/host/as-user.js. The table lists the source files that call functions of
// node:fs or of lib/shared/daemon/files.js with a path, and why the user of an app cannot influence
// this path.

const HOME = 'in the home, which only its owner can enter';
const SYSTEM = 'of the system, such as /proc or /etc/passwd';
const INSTALLED = 'of the installation';
const OPERATOR = 'named in the settings of the manager';
const ASKS = 'asks what is there, and opens nothing';
const OWN_RIGHTS = 'only when the app has no other user, or can change nothing on the way';
const GUARD = 'is what goes along a path with the rights of a user';

const TABLE = {
  'daemon/control/api/saved-list.js': ['renameSync', HOME],
  'daemon/control/api/server.js': ['mkdirSync renameSync rmSync statSync', HOME],
  'daemon/control/api/update.js': ['existsSync', INSTALLED],
  'daemon/control/host/activity-kind.js': ['namesIn', SYSTEM],
  'daemon/control/host/oom-kills.js': ['readIfThere', SYSTEM],
  'daemon/control/host/processes.js': ['readdirSync statSync', SYSTEM],
  'daemon/control/host/socket-holder.js': ['namesIn readlinkSync', SYSTEM],
  'daemon/control/journal/log-file.js': ['lstatSync openSync renameSync rmSync statSync', HOME],
  'daemon/control/logs/archive/archive.js': ['rmSync', HOME],
  'daemon/control/logs/archive/compression.js': ['createReadStream', 'of a descriptor'],
  'daemon/control/logs/history/content-reader.js': ['createReadStream', 'of a descriptor'],
  'daemon/control/logs/manager-log.js': ['openSync statSync', HOME],
  'daemon/control/logs/pipe.js': ['openSync', HOME],
  'daemon/control/logs/times/format.js': ['openSync readFileSync', HOME],
  'daemon/control/logs/times/times.js': ['mkdirSync openSync renameSync statSync', HOME],
  'daemon/control/main.js': ['mkdirSync', HOME],
  'daemon/control/metrics/host.js': ['readFileSync statfsSync', 'of the kernel, and the home'],
  'daemon/control/metrics/prometheus.js': ['lstatSync renameSync rmSync', OPERATOR],
  'daemon/control/notify/queue-file.js': ['mkdir open readFile readdir rename rm', HOME],
  'daemon/control/recovery/find-orphans.js': [
    'lstatSync readIfThere readlinkSync statSync',
    'of the kernel, and the pipes in the home',
  ],
  'daemon/control/settings-file.js': ['statSync', HOME],
  'daemon/control/spawn/git-checkout.js': ['lstat', ASKS],
  'daemon/control/spawn/preflight.js': ['accessSync existsSync isFile isFolder', ASKS],
  'daemon/control/state/durable-file.js': [
    'copyFileSync linkSync openSync readFileSync renameSync rmSync statSync writeFileSync',
    HOME,
  ],
  'daemon/control/state/store.js': ['existsSync renameSync rmSync', HOME],
  'daemon/control/status/pid-files.js': ['namesIn writeFileSync', OWN_RIGHTS],
  'daemon/control/triggers/app-watch.js': ['readFileSync stat', ASKS],
  'daemon/control/triggers/folder-watcher.js': ['stat watch as watchFolder', ASKS],
  'daemon/control/web/dashboard.js': ['rmSync', HOME],
  'daemon/control/web/server.js': ['readFileSync readdirSync', INSTALLED],
  'daemon/control/web/token.js': ['readFileSync', HOME],
  'daemon/keeper/control-supervisor.js': ['existsSync', INSTALLED],
  'daemon/keeper/home.js': ['lstatSync lutimesSync namesIn statSync', HOME],
  'daemon/keeper/lock.js': ['linkSync mkdirSync readdirSync statSync unlinkSync writeFileSync', HOME],
  'daemon/keeper/host/log.js': ['openSync statSync', HOME],
  'daemon/keeper/main.js': ['readFileSync', INSTALLED],
  'daemon/keeper/host/pipe-maker.js': ['openSync readdirSync readlinkSync', SYSTEM],
  'daemon/keeper/enter-folder.js': ['readlinkSync', 'is called by callAsOwner() only'],
  'daemon/keeper/host/unnamed-pipes.js': ['openSync symlinkSync', HOME],
  'daemon/keeper/pipes.js': ['existsSync namesIn openSync rmSync statSync', HOME],
  'daemon/keeper/host/processes.js': ['readlinkSync', SYSTEM],
  'daemon/keeper/sockets/unix-path.js': [
    'chmodSync linkSync lstatSync renameSync unlinkSync',
    'is called by withUid() only',
  ],
  'lib/shared/daemon/accounts.js': ['readIfThere', SYSTEM],
  'lib/shared/daemon/close-shared.js': ['existsSync', 'asks for /bin/cat'],
  'lib/shared/daemon/code-digest.js': ['readFileSync readdirSync statSync', INSTALLED],
  'lib/shared/daemon/files.js': ['readFileSync readdirSync statSync', 'named by the callers in this table'],
  'lib/shared/daemon/home-folders.js': ['lstatSync readIfThere readlinkSync', 'asks who can change the home'],
  'lib/shared/daemon/home-processes.js': ['namesIn openSync realpathSync statIfThere statSync', SYSTEM],
  'lib/shared/daemon/inherited-descriptors.js': ['namesIn openSync', SYSTEM],
  'lib/shared/daemon/keeper-process.js': ['statIfThere', HOME],
  'lib/shared/daemon/oom-score.js': ['readIfThere writeFileSync', SYSTEM],
  'lib/shared/event-log.js': ['openSync readFileSync readdirSync', HOME],
  'lib/shared/host/as-user.js': [
    'lstatSync mkdirSync openSync opendirSync renameSync statSync statfsSync unlinkSync',
    GUARD,
  ],
  'lib/shared/host/cpus.js': ['readIfThere', SYSTEM],
  'lib/shared/host/follow-links.js': ['lstatSync readlinkSync realpathSync', ASKS],
  'lib/shared/host/read-regular.js': ['* as fs', OWN_RIGHTS],
  'lib/shared/host/replace-file.js': ['openSync renameSync rmSync writeFileSync', HOME],
  'lib/shared/host/run-as-user.js': ['mkdtempSync openSync rmSync', 'a new folder that only the manager may enter'],
  'lib/shared/host/system-limits.js': ['readIfThere', SYSTEM],
  'lib/shared/host/user-path.js': ['lstatSync openSync readlinkSync', GUARD],
  'lib/shared/settings/rules.js': ['openSync readFileSync', HOME],
  'lib/shared/version.js': ['readFileSync', INSTALLED],
};

const BY_DESCRIPTOR = new Set(
  ['close', 'fchown', 'fdatasync', 'fstat', 'fsync', 'ftruncate', 'futimes', 'read', 'write', 'writev'].flatMap(
    (name) => [name, `${name}Sync`],
  ),
);

function pathFunctionsOf(code) {
  return [
    ...code.matchAll(
      /(?:\{([^}]+)\}|\* as (\w+)) (?:from |= await import\()'(?:node:fs(?:\/promises)?|[./\w-]*\/files\.js)'/g,
    ),
  ]
    .flatMap(([, names, all]) => names?.split(',') ?? [`* as ${all}`])
    .map((name) => name.trim())
    .filter((name) => !['', 'constants', 'tryTo', 'nullIfMissing'].includes(name) && !BY_DESCRIPTOR.has(name))
    .sort()
    .join(' ');
}

test('the manager calls node:fs only with paths that the user of an app cannot choose', () => {
  const found = sourceFiles('daemon/control', 'daemon/keeper', 'lib/shared')
    .map(({ path, code }) => [path, pathFunctionsOf(code)])
    .filter(([, functions]) => functions !== '');
  expect(Object.fromEntries(found)).toEqual(
    Object.fromEntries(Object.entries(TABLE).map(([path, [functions]]) => [path, functions])),
  );
});
