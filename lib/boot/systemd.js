/**
 * What every service is made from.
 * @typedef {object} Service
 * @property {string} name
 * @property {string} user
 * @property {string} userHome
 * @property {string} home  NCLUST_HOME.
 * @property {string} launcher  Script that runs nclust: see launcher-script.js.
 * @property {boolean} isUserUnit
 * @property {boolean} waitsForIp
 * @property {number} stopSeconds  How long ending everything may take.
 */

/**
 * The main process is `nclust daemon`, which follows the keeper and starts the next one when both halves of the manager are gone. So KillMode is
 * "process": whatever happens to the main process, the workers live on, and the next main process finds them.
 * @param {Service} service
 */
export function systemdUnit({ name, user, home, launcher, isUserUnit, waitsForIp, stopSeconds }) {
  const run = `/bin/sh ${quote(launcher)}`;
  const network = waitsForIp ? ['Wants=network-online.target', 'After=network-online.target'] : ['After=network.target'];
  return `${[
    '[Unit]',
    `Description=nclust, process manager of ${user.replaceAll('%', '%%')}`,
    ...(isUserUnit ? [] : network),
    `RequiresMountsFor=${quote(home)}`,
    'StartLimitIntervalSec=0',
    '',
    '[Service]',
    'Type=notify',
    'NotifyAccess=all',
    ...(isUserUnit ? [] : [`User=${user}`]),
    `ExecStart=${run} daemon`,
    `ExecReload=${run} reload all`,
    '# It is ready when the apps are up; it asks for more time as long as they start.',
    'TimeoutStartSec=90',
    `TimeoutStopSec=${stopSeconds}`,
    'WatchdogSec=60',
    'WatchdogSignal=SIGKILL',
    'Restart=always',
    'RestartSec=1',
    '# "nclust kill" has ended it.',
    'RestartPreventExitStatus=0',
    '# The main process ends the apps itself. When it is killed they live on, and the next one finds them.',
    'KillMode=process',
    '# An app that takes too much memory is one app, which is started again.',
    'OOMPolicy=continue',
    'LimitNOFILE=524288',
    'TasksMax=infinity',
    `SyslogIdentifier=${name}`,
    '',
    '[Install]',
    `WantedBy=${isUserUnit ? 'default.target' : 'multi-user.target'}`,
  ].join('\n')}\n`;
}

/**
 * One word of a unit file.
 * @param {string} word
 */
function quote(word) {
  const plain = word.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /[\s"'\\;]/.test(plain) ? `"${plain.replace(/(["\\])/g, '\\$1')}"` : plain;
}
