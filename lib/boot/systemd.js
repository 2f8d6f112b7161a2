import { execFile } from 'node:child_process';

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
 * The main process is `nclust daemon`, which follows the keeper and starts the next one when both
 * halves of the manager are gone. So KillMode is "process": whatever happens to the main process,
 * the workers live on, and the next main process finds them.
 * @param {Service} service
 */
export function systemdUnit({ name, user, home, launcher, isUserUnit, waitsForIp, stopSeconds }) {
  const run = `/bin/sh ${quote(launcher)}`;
  const network = waitsForIp
    ? ['Wants=network-online.target', 'After=network-online.target']
    : ['After=network.target'];
  return `${[
    '[Unit]',
    `Description=nclust, process manager of ${user.replaceAll('%', '%%')}`,
    ...(isUserUnit ? [] : network),
    `RequiresMountsFor=${quote(home)}`,
    'StartLimitIntervalSec=0',
    '',
    '[Service]',
    'Type=notify',
    `NotifyAccess=${notifyAccess(user)}`,
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
 * Which processes of the unit systemd listens to. Messages go through systemd-notify(1). If root
 * runs it, it sends them in the name of the process that started it, the main one, and an app that
 * runs as another user cannot. Other users may not do that, so systemd has to listen to all; but
 * each of their apps runs as the same user, and could end the manager anyway.
 * @param {string} user
 */
function notifyAccess(user) {
  return user === 'root' ? 'main' : 'all';
}

/**
 * One word of a unit file.
 * @param {string} word
 */
function quote(word) {
  const plain = word.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /[\s"'\\;]/.test(plain) ? `"${plain.replace(/(["\\])/g, '\\$1')}"` : plain;
}

/** systemd-notify waits until systemd has read the message, which takes a few ms. */
const SEND_MS = 10_000;

/**
 * Tells systemd how things stand.
 * @typedef {object} Notifier
 * @property {(...fields: string[]) => void} say  As "READY=1". In order; never throws.
 * @property {() => Promise<void>} settled  Everything said so far has been sent.
 * @property {number | null} watchdogMs  After so long without WATCHDOG=1 the service counts as
 *   hung. Null: nobody watches.
 */

/**
 * Node cannot write to datagram sockets of the file system, so systemd's own program does.
 * @param {Record<string, string | undefined>} env  NOTIFY_SOCKET and the WATCHDOG variables are
 *   taken out: they are for this process, and for none it starts.
 * @param {(sentence: string) => void} talk
 * @returns {Notifier | null}  Null: nobody listens.
 */
export function takeNotifier(env, talk) {
  const { NOTIFY_SOCKET, WATCHDOG_USEC, PATH } = env;
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete env[name];
  if (!NOTIFY_SOCKET) return null;
  let isFailing = false;
  const send = (/** @type {string[]} */ fields) =>
    /** @type {Promise<void>} */ (
      new Promise((resolve) => {
        execFile(
          'systemd-notify',
          fields,
          { env: { NOTIFY_SOCKET, PATH }, timeout: SEND_MS },
          (error, _stdout, stderr) => {
            if (error && !isFailing)
              talk(`systemd cannot be told "${fields.join(' ')}": ${stderr.trim() || error.message}`);
            isFailing = error !== null;
            resolve();
          },
        );
      })
    );
  let last = Promise.resolve();
  const watchdogMs = Number(WATCHDOG_USEC) / 1_000;
  return {
    say(...fields) {
      last = last.then(() => send(fields));
    },
    settled: () => last,
    watchdogMs: watchdogMs > 0 ? watchdogMs : null,
  };
}
