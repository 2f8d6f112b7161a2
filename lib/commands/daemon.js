import { followManager } from '../boot/foreground.js';
import { takeNotifier } from '../boot/systemd.js';
import { longestKillMs } from '../boot/service.js';
import { newToken, openClient } from '../client/client.js';
import { connectOnly } from '../client/connect.js';
import { tryTo } from '../shared/daemon/files.js';

/** @import { Notifier } from '../boot/systemd.js' */
/** @import { Context } from '../cli/session/context.js' */

/** Time that the manager may need to stop, in addition to the longest kill_timeout, in ms. */
const SLACK_MS = 30_000;

/**
 * SIGTERM and SIGINT stop the manager and its apps. The next manager restores the apps. SIGHUP
 * reloads the apps.
 * @param {Context} context
 * @returns {Promise<{ home: string }>}  Resolves when the manager has exited.
 */
export async function daemon({ home, env, printMessage }) {
  process.title = `nclust daemon (${home})`;
  const notifier = takeNotifier(env, printMessage);
  const ending = new AbortController();
  const end = () => {
    if (ending.signal.aborted) return;
    notifier?.send('STOPPING=1', `EXTEND_TIMEOUT_USEC=${(longestKillMs(home) + SLACK_MS) * 1_000}`);
    ending.abort();
  };
  /** @type {Parameters<typeof followManager>[0]['send']} */
  const send = (pid, signal) => void tryTo(() => process.kill(pid, signal), null); // It may have exited.
  const reload = () => void reloadAll(home, notifier).catch((error) => printMessage(error.message));
  process.on('SIGTERM', end).on('SIGINT', end).on('SIGHUP', reload);
  try {
    await followManager({ home, notifier, printMessage, ending: ending.signal, send });
    await notifier?.sent();
  } finally {
    process.off('SIGTERM', end).off('SIGINT', end).off('SIGHUP', reload);
  }
  return { home };
}

/**
 * @param {string} home
 * @param {Notifier | null} notifier
 */
async function reloadAll(home, notifier) {
  const client = await openClient(() => connectOnly(home));
  if (!client) return;
  notifier?.send('RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1_000n}`);
  try {
    await client.request('reload', { targets: ['all'], token: newToken() });
  } finally {
    notifier?.send('READY=1');
    await client.close();
  }
}
