import { join } from 'node:path';
import { launchdPlist } from './launchd.js';
import { freebsdScript, identifier, openbsdScript, openrcScript } from './rc-scripts.js';
import { systemdUnit } from './systemd.js';

/** @import { Platform } from './platforms.js' */
/** @import { Service } from './systemd.js' */

/**
 * @typedef {object} PlannedFile
 * @property {string} path
 * @property {string} text
 * @property {number} mode
 * @property {boolean} isOwners  The user of the service owns and writes the file.
 */

/**
 * @typedef {object} ServicePlan
 * @property {PlannedFile} file
 * @property {string[][]} enable  Commands that run in order after the file is written.
 * @property {string[][]} disable  Commands before the file is removed. They may fail.
 * @property {string[][]} forget  Commands after the file is removed.
 * @property {string | null} next  A step for the user.
 */

/** Platforms with services that need no root. */
export const USER_UNITS = /** @type {Platform[]} */ (['systemd', 'launchd']);

/**
 * @param {Platform} platform
 * @param {Service} service
 * @param {{ uid: number, configHome?: string }} whose
 */
export function planService(platform, service, whose) {
  return PLANS[platform](service, whose);
}

/**
 * @type {Record<
 *   Platform,
 *   (service: Service, whose: { uid: number, configHome?: string }) => ServicePlan
 * >}
 */
const PLANS = {
  systemd(service, { configHome }) {
    const { name, user, userHome, isUserUnit } = service;
    const systemctl = isUserUnit ? ['systemctl', '--user'] : ['systemctl'];
    const folder = isUserUnit ? join(configHome || join(userHome, '.config'), 'systemd/user') : '/etc/systemd/system';
    return {
      file: { path: join(folder, `${name}.service`), text: systemdUnit(service), mode: 0o644, isOwners: isUserUnit },
      enable: [
        [...systemctl, 'daemon-reload'],
        [...systemctl, 'enable', '--now', name],
      ],
      disable: [[...systemctl, 'disable', name]],
      forget: [[...systemctl, 'daemon-reload']],
      next: isUserUnit ? `To run it while "${user}" is logged out too: loginctl enable-linger ${user}` : null,
    };
  },
  launchd(service, { uid }) {
    const { name, userHome, isUserUnit } = service;
    const domain = isUserUnit ? `gui/${uid}` : 'system';
    const path = join(isUserUnit ? join(userHome, 'Library/LaunchAgents') : '/Library/LaunchDaemons', `${name}.plist`);
    return {
      file: { path, text: launchdPlist(service), mode: 0o644, isOwners: isUserUnit },
      enable: [
        ['launchctl', 'enable', `${domain}/${name}`],
        ['launchctl', 'bootstrap', domain, path],
      ],
      disable: [['launchctl', 'disable', `${domain}/${name}`]],
      forget: [],
      next: isUserUnit ? 'It starts when you log in; to start it at boot: sudo nclust startup' : null,
    };
  },
  openrc(service) {
    const { name } = service;
    const enable = [`rc-update add ${name} default`, `rc-service ${name} start`];
    return script(`/etc/init.d/${name}`, openrcScript(service), enable, `rc-update del ${name} default`);
  },
  rcd(service) {
    const word = identifier(service.name);
    const enable = [`sysrc ${word}_enable=YES`, `service ${word} start`];
    return script(`/usr/local/etc/rc.d/${word}`, freebsdScript(service), enable, `sysrc -x ${word}_enable`);
  },
  'rcd-openbsd'(service) {
    const word = identifier(service.name);
    const enable = [`rcctl enable ${word}`, `rcctl start ${word}`];
    return script(`/etc/rc.d/${word}`, openbsdScript(service), enable, `rcctl disable ${word}`);
  },
};

/**
 * @param {string} path
 * @param {string} text
 * @param {string[]} enable  Commands. The name of a service has no space.
 * @param {string} disable
 * @returns {ServicePlan}
 */
function script(path, text, enable, disable) {
  const file = { path, text, mode: 0o755, isOwners: false };
  const words = (/** @type {string} */ command) => command.split(' ');
  return { file, enable: enable.map(words), disable: [words(disable)], forget: [], next: null };
}
