// Knows: `nclust run`: a manager of its own in the foreground, its output, its exit status.
// Must not: use the home of the user, or leave a process behind.
// Start at: this file, then output.js; first-process.js is for pid 1 in a container.
import { setTimeout as pause } from 'node:timers/promises';
import { newToken, openClient } from '../client/client.js';
import { connectOnly, connectOrLaunch } from '../client/connect.js';
import { endManager } from '../client/end-manager.js';
import { countSavedApps } from '../client/not-running.js';
import { NclustError } from '../shared/errors.js';
import { homePaths } from '../shared/paths.js';
import { outputSocket } from '../shared/wire/output-frame.js';
import { killedSlots, judge, describeGivenUp } from './verdict.js';
import { openOutput } from './output.js';

/** @import { Client } from '../client/client.js' */
/** @import { AppSpec } from '../app-spec/types.js' */
/** @import { LogStream, SlotStatus } from '../shared/wire/protocol.js' */
/** @import { Reactions } from './first-process.js' */
/** @import { Shape } from './output.js' */
/** @import { Sink } from './sink.js' */

/**
 * Interval of checks of the app list, in ms. The end of an output also starts a check, but an app
 * that cannot be started has no output.
 */
const LOOK_EVERY_MS = 2_000;

/**
 * If a user has stopped apps, `run` exits only when this many checks in a row find no running app,
 * because the user may start the apps again.
 */
const IDLE_CHECKS_MIN = 4;

/** The exit status that shells report for a process that SIGKILL has ended. */
const KILLED = 137;

/**
 * @typedef {object} RunParts
 * @property {string} home  The home of this run.
 * @property {{ out: Sink, err: Sink }} sinks
 * @property {(name: string, stream: LogStream) => LogStream} outputOf
 * @property {Shape} shape
 * @property {(sentence: string) => void} printMessage
 * @property {(react: Reactions) => void} listen
 */

/**
 * Starts apps under their own manager. Waits until they have exited, or stops them at a signal.
 * @param {AppSpec[]} specs
 * @param {{ delayMs: number, isAutoExit: boolean }} o
 * @param {RunParts} parts
 * @returns {Promise<number>}  The exit status. No process is left, even if the promise rejects.
 */
export async function runForeground(
  specs,
  { delayMs, isAutoExit },
  { home, sinks, outputOf, shape, printMessage, listen },
) {
  let nudge = () => {};
  /** @type {Client | null} */
  let client = null;
  const stop = new AbortController();
  /**
   * @param {string} doing
   * @param {(client: Client) => Promise<unknown>} ask
   */
  const askManager = (doing, ask) => {
    if (client) ask(client).catch((error) => printMessage(`${doing}: ${error.message}`));
  };
  listen({
    onStop() {
      stop.abort();
      nudge();
    },
    onHurry: () =>
      askManager('The apps could not be killed', (one) =>
        one.request('signal', { targets: ['all'], signal: 'SIGKILL' }),
      ),
    onReload: () =>
      askManager('The apps could not be reloaded', (one) =>
        one.request('reload', { targets: ['all'], token: newToken() }),
      ),
    onReopen: () => askManager('The log files could not be reopened', (one) => one.request('reloadLogs', {})),
  });

  const output = await openOutput(outputSocket(homePaths(home).run), {
    sinks,
    outputOf,
    shape,
    onEnded: () => nudge(),
  });
  try {
    await pause(delayMs, undefined, { signal: stop.signal }).catch(() => {}); // Aborted.
    client = stop.signal.aborted ? null : await openManager(home);
    if (stop.signal.aborted || !client) return 0;
    await client.request('start', { specs, wait: false, token: newToken() });
    const exitStatus = await waitUntilOver(client, {
      isAutoExit,
      printMessage,
      signal: stop.signal,
      onNudge: (wake) => {
        nudge = wake;
      },
    }).catch((error) => unlessKilled(error, home));
    if (exitStatus !== null) return exitStatus;
    const late = killedSlots(await stopAll(client));
    for (const { name, id } of late) printMessage(`"${name}" (id ${id}) did not exit in time and was killed.`);
    return late.length > 0 ? KILLED : 0;
  } finally {
    await endManager(home).catch((error) => printMessage(error.message));
    const isWhole = await output.close();
    await client?.close();
    const isShown = isWhole && !(await Promise.all([sinks.out.flush(), sinks.err.flush()])).includes(false);
    if (!isShown) printMessage('the last lines of output are lost, because their reader did not read them in time.');
  }
}

/**
 * Starts the manager. Starts it again if it dies, but not if a user has ended it.
 * @param {string} home
 */
function openManager(home) {
  return openClient(
    () => connectOrLaunch(home),
    () => (countSavedApps(home) > 0 ? connectOrLaunch(home) : connectOnly(home)),
  );
}

/**
 * @param {unknown} error
 * @param {string} home
 * @returns {number}
 */
function unlessKilled(error, home) {
  if (error instanceof NclustError && error.code === 'ERR_NCLUST_CONNECTION_LOST' && countSavedApps(home) === 0)
    return 0;
  throw error;
}

/**
 * @param {Client} client
 * @param {object} o
 * @param {boolean} o.isAutoExit
 * @param {(sentence: string) => void} o.printMessage
 * @param {AbortSignal} o.signal
 * @param {(wake: () => void) => void} o.onNudge
 * @returns {Promise<number | null>}  The exit status. Null: `signal` was aborted.
 */
async function waitUntilOver(client, { isAutoExit, printMessage, signal, onNudge }) {
  /** @type {Set<number>} */
  let givenUp = new Set();
  for (let idleLooks = 0; !signal.aborted;) {
    /** @type {{ slots: SlotStatus[] }} */
    const { slots } = await client.request('list');
    for (const slot of slots)
      if (slot.status === 'errored' && !givenUp.has(slot.id)) printMessage(describeGivenUp(slot));
    givenUp = new Set(slots.filter(({ status }) => status === 'errored').map(({ id }) => id));
    const { isOver, isByCommand, exitStatus } = judge(slots);
    idleLooks = isOver ? idleLooks + 1 : 0;
    if (isAutoExit && isOver && (!isByCommand || idleLooks >= IDLE_CHECKS_MIN)) return exitStatus;
    const wake = new AbortController();
    onNudge(() => wake.abort());
    if (!signal.aborted) await pause(LOOK_EVERY_MS, undefined, { signal: wake.signal }).catch(() => {}); // Woken.
  }
  return null;
}

/**
 * @param {Client} client
 * @returns {Promise<SlotStatus[]>}
 */
async function stopAll(client) {
  const { slots } = await client.request('list');
  return slots.length === 0 ? [] : (await client.request('stop', { targets: ['all'], token: newToken() })).slots;
}
