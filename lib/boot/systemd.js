import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createSerial } from '../shared/serial.js';

/**
 * @typedef {object} Service
 * @property {string} name
 * @property {string} user
 * @property {string} userHome
 * @property {string} home  NCLUST_HOME.
 * @property {string} launcher  See launcher-script.js.
 * @property {boolean} isUserUnit
 * @property {boolean} waitsForIp
 * @property {number} stopSeconds
 */

/**
 * KillMode is "process", because workers must survive the main process (`nclust daemon`). The next
 * main process finds the workers.
 * @param {Service} service
 */
export function systemdUnit({ name, user, home, launcher, isUserUnit, waitsForIp, stopSeconds }) {
  // systemd replaces $HOME in commands only.
  const run = `/bin/sh ${quote(launcher.replaceAll('$', '$$$$'))}`;
  const network = waitsForIp
    ? ['Wants=network-online.target', 'After=network-online.target']
    : ['After=network.target'];
  return `${[
    '[Unit]',
    `Description=nclust, process manager of ${plain(user)}`,
    ...(isUserUnit ? [] : network),
    `RequiresMountsFor=${quote(home)}`,
    'StartLimitIntervalSec=0',
    '',
    '[Service]',
    'Type=notify',
    `NotifyAccess=${notifyAccess(user)}`,
    ...(isUserUnit ? [] : [`User=${plain(user)}`]),
    `ExecStart=${run} daemon`,
    `ExecReload=${run} reload all`,
    '# The service is ready when the apps are up. It asks for more time while they start.',
    'TimeoutStartSec=90',
    `TimeoutStopSec=${stopSeconds}`,
    'WatchdogSec=60',
    'WatchdogSignal=SIGKILL',
    'Restart=always',
    'RestartSec=1',
    '# The exit status after "nclust kill".',
    'RestartPreventExitStatus=0',
    '# The main process stops the apps itself. If it is killed, they live on, and the next one adopts them.',
    'KillMode=process',
    '# If one app uses too much memory, only that app is killed, and nclust restarts it.',
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
 * Only root may send with systemd-notify(1) in the name of the main process. For other users,
 * systemd has to accept messages of all processes. This is not a new risk, because the apps of such
 * a user can end the manager anyway.
 * @param {string} user
 */
function notifyAccess(user) {
  return user === 'root' ? 'main' : 'all';
}

/** @param {string} word */
function quote(word) {
  const text = plain(word);
  return /[\s"'\\;]/.test(text) ? `"${text.replace(/(["\\])/g, '\\$1')}"` : text;
}

/**
 * Keeps systemd from replacing %h, for example.
 * @param {string} text
 */
function plain(text) {
  return text.replaceAll('%', '%%');
}

/** Time limit for systemd-notify, which waits a few ms until systemd has read the message. */
const SEND_MS = 10_000;

/**
 * @typedef {object} Notifier
 * @property {(...fields: string[]) => void} send  Sends "READY=1", for example. Never throws.
 * @property {() => Promise<void>} sent
 * @property {number | null} watchdogMs  The longest time between two WATCHDOG=1. Null: no watchdog.
 */

/**
 * Runs systemd-notify(1), because Node.js cannot write to Unix datagram sockets.
 * @param {Record<string, string | undefined>} env  Loses variables that apps must not inherit.
 * @param {(sentence: string) => void} printMessage
 * @returns {Notifier | null}  Null: systemd does not listen.
 */
export function takeNotifier(env, printMessage) {
  const { NOTIFY_SOCKET, WATCHDOG_USEC, PATH } = env;
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete env[name];
  if (!NOTIFY_SOCKET) return null;
  let isFailing = false;
  const options = { env: { NOTIFY_SOCKET, PATH }, timeout: SEND_MS };
  const send = async (/** @type {string[]} */ fields) => {
    const error = await promisify(execFile)('systemd-notify', fields, options).then(
      () => null,
      (failure) => failure,
    );
    if (error && !isFailing)
      printMessage(`systemd was not notified of "${fields.join(' ')}": ${error.stderr?.trim() || error.message}`);
    isFailing = error !== null;
  };
  const inTurn = createSerial();
  const watchdogMs = Number(WATCHDOG_USEC) / 1_000;
  return {
    send(...fields) {
      void inTurn(() => send(fields)); // Never rejects.
    },
    sent: () => inTurn(() => {}),
    watchdogMs: watchdogMs > 0 ? watchdogMs : null,
  };
}
