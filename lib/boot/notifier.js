import { execFile } from 'node:child_process';

/** systemd-notify waits until systemd has read the message, which takes a few ms. */
const SEND_MS = 10_000;

/**
 * Tells systemd how things stand.
 * @typedef {object} Notifier
 * @property {(...fields: string[]) => void} say  As "READY=1". In order; never throws.
 * @property {() => Promise<void>} settled  Everything said so far has been sent.
 * @property {number|null} watchdogMs  After so long without WATCHDOG=1 the service counts as hung. Null: nobody watches.
 */

/**
 * Node cannot write to datagram sockets of the file system, so systemd's own program does.
 * @param {Record<string, string|undefined>} env  NOTIFY_SOCKET and the WATCHDOG variables are taken out: they are for this process, and for none it starts.
 * @param {(sentence: string) => void} talk
 * @returns {Notifier|null}  Null: nobody listens.
 */
export function takeNotifier(env, talk) {
  const { NOTIFY_SOCKET, WATCHDOG_USEC, PATH } = env;
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete env[name];
  if (!NOTIFY_SOCKET) return null;
  let isFailing = false;
  const send = (/** @type {string[]} */ fields) => /** @type {Promise<void>} */ (new Promise((resolve) => {
    execFile('systemd-notify', fields, { env: { NOTIFY_SOCKET, PATH }, timeout: SEND_MS }, (error, _stdout, stderr) => {
      if (error && !isFailing) talk(`systemd cannot be told "${fields.join(' ')}": ${stderr.trim() || error.message}`);
      isFailing = error !== null;
      resolve();
    });
  }));
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
