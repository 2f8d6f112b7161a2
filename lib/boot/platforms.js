import { findProgram } from '../config/spec/find-program.js';
import { nearWords } from '../shared/did-you-mean.js';
import { NclustError } from '../shared/errors.js';

/** @typedef {'systemd' | 'launchd' | 'openrc' | 'rcd' | 'rcd-openbsd'} Platform */

/**
 * Sorted by the order of detection. `names` are the names in PM2.
 * @type {{ platform: Platform | 'upstart' | 'systemv' | 'smf', probe: string, names: string[] }[]}
 */
const PLATFORMS = [
  {
    platform: 'systemd',
    probe: 'systemctl',
    names: ['systemd', 'ubuntu', 'debian', 'centos', 'fedora', 'arch', 'oracle'],
  },
  { platform: 'upstart', probe: 'update-rc.d', names: ['upstart', 'ubuntu14', 'ubuntu12'] },
  { platform: 'systemv', probe: 'chkconfig', names: ['systemv', 'amazon', 'centos6'] },
  { platform: 'openrc', probe: 'rc-update', names: ['openrc', 'gentoo', 'alpine'] },
  { platform: 'launchd', probe: 'launchctl', names: ['launchd', 'macos', 'darwin'] },
  { platform: 'rcd', probe: 'sysrc', names: ['rcd', 'freebsd'] },
  { platform: 'rcd-openbsd', probe: 'rcctl', names: ['rcd-openbsd', 'openbsd'] },
  { platform: 'smf', probe: 'svcadm', names: ['smf', 'sunos', 'solaris'] },
];

/** @type {Platform[]} */
const SUPPORTED = ['systemd', 'launchd', 'openrc', 'rcd', 'rcd-openbsd'];

/** Folders of service managers that may be missing from PATH. */
const MORE_PATH = ':/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin';

/**
 * @param {string | undefined} word  The platform, as typed. Undefined: detect the platform.
 * @param {object} o
 * @param {string | undefined} o.path
 * @param {string} o.instead  A command that restores the apps if there is no service.
 * @returns {Platform}  Throws ERR_NCLUST_USAGE if the platform is unknown, and
 *   ERR_NCLUST_STARTUP if nclust has no service for the platform.
 */
export function choosePlatform(word, { path, instead }) {
  const row = word === undefined ? detected(path) : PLATFORMS.find(({ names }) => names.includes(word.toLowerCase()));
  if (!row && word !== undefined) throw unknownPlatform(word);
  const platform = SUPPORTED.find((name) => name === row?.platform);
  if (platform) return platform;
  const found = row
    ? `There is no service for ${row.platform}`
    : `No service manager was found (${PLATFORMS.map(({ probe }) => probe).join(', ')})`;
  throw new NclustError('ERR_NCLUST_STARTUP', `${found}.`, {
    hint: `Put this line into the crontab of the user ("crontab -e") instead: @reboot ${instead}`,
  });
}

/** @param {string | undefined} path */
function detected(path) {
  return PLATFORMS.find(({ probe }) => findProgram(probe, { path: `${path ?? ''}${MORE_PATH}`, cwd: '/' }) !== null);
}

/** @param {string} word */
function unknownPlatform(word) {
  const names = PLATFORMS.flatMap((row) => row.names);
  const [near] = nearWords(word, names);
  return new NclustError('ERR_NCLUST_USAGE', `"${word}" is not a platform; accepted: ${names.join(', ')}.`, {
    hint: near ? `Did you mean "${near}"?` : null,
  });
}
