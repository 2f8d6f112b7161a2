import { setTimeout as pause } from 'node:timers/promises';
import { createDeadline } from '../client/connect.js';
import { askControl, connectKeeper } from './probe-manager.js';

/** @import { HomePaths } from '../shared/paths.js' */
/** @import { SlotStatus } from '../shared/wire/protocol.js' */
/** @import { Notifier } from './systemd.js' */

/** Interval of checks if systemd does not set one, in ms. */
const EVERY_MS = 30_000;

/** Time limit for an answer, in ms. Keeper and control answer from memory. */
const ANSWER_MS = 10_000;

/** Interval while apps start, and after a check without an answer, in ms. */
const SOON_MS = 250;

/**
 * A process counts as hung if it does not answer this number of checks in a row. One check without
 * an answer may only mean a busy machine.
 */
const SILENT_PROBES_MAX = 2;

const EXTENSION_MS = 60_000;

/**
 * @typedef {{ isKeeperThere: boolean, controlPid: number | null, slots: SlotStatus[] | null }} Look
 *   `slots` is null if control did not answer.
 */

/**
 * Reports the state of the manager to systemd. Ends a keeper or control that hangs, because systemd
 * could only end everything.
 * @param {object} o
 * @param {HomePaths} o.paths
 * @param {Notifier | null} o.notifier
 * @param {() => number | null} o.keeperPid
 * @param {(pid: number, what: 'keeper' | 'control') => void} o.endHung
 * @param {AbortSignal} o.signal
 * @returns {Promise<void>}  Never rejects.
 */
export async function superviseManager({ paths, notifier, keeperPid, endHung, signal }) {
  const everyMs = notifier?.watchdogMs ? notifier.watchdogMs / 2 : EVERY_MS;
  const report = notifier ? createReport(notifier) : null;
  let silent = { what: '', looks: 0 };
  while (!signal.aborted) {
    const lookedMono = performance.now();
    const pid = keeperPid();
    const found = await look(paths, Math.min(ANSWER_MS, everyMs), signal);
    if (signal.aborted) return;
    const what = silentHalf(found);
    silent = { what, looks: what === silent.what ? silent.looks + 1 : 1 };
    if (what === '' && found.slots) report?.update(found.slots);
    if (what !== '' && silent.looks >= SILENT_PROBES_MAX) {
      const hung = what === 'control' ? found.controlPid : pid;
      if (hung !== null) endHung(hung, what);
      silent.looks = 0;
    }
    const isSoon = what !== '' || report?.isStarting();
    const restMs = isSoon ? SOON_MS : Math.max(0, everyMs - (performance.now() - lookedMono));
    await pause(restMs, undefined, { signal }).catch(() => {}); // Aborted.
  }
}

/**
 * @param {HomePaths} paths
 * @param {number} withinMs
 * @param {AbortSignal} signal
 * @returns {Promise<Look>}
 */
async function look({ run, sock }, withinMs, signal) {
  const enough = createDeadline(withinMs, signal);
  try {
    const [visit, slots] = await Promise.all([
      connectKeeper(run, enough.signal).catch(() => null),
      askControl(sock, enough.signal),
    ]);
    visit?.leave();
    return { isKeeperThere: visit !== null, controlPid: visit?.controlPid() ?? null, slots };
  } finally {
    enough.release();
  }
}

/**
 * Returns 'keeper' or 'control' if only this process does not answer, otherwise ''. If neither
 * keeper nor control answers, only the machine is busy.
 * @param {Look} found
 */
function silentHalf({ isKeeperThere, slots }) {
  if (isKeeperThere === (slots !== null)) return '';
  return isKeeperThere ? 'control' : 'keeper';
}

/** @param {Notifier} notifier */
function createReport(notifier) {
  let isStarting = true;
  let said = '';
  let extendedMono = -Infinity;
  return {
    isStarting: () => isStarting,
    /** @param {SlotStatus[]} slots */
    update(slots) {
      const fields = [];
      if (isStarting && isDecided(slots)) {
        isStarting = false;
        fields.push('READY=1');
      } else if (isStarting && performance.now() - extendedMono > EXTENSION_MS / 4) {
        extendedMono = performance.now();
        fields.push(`EXTEND_TIMEOUT_USEC=${EXTENSION_MS * 1_000}`);
      }
      if (readState(slots) !== said) fields.push(`STATUS=${(said = readState(slots))}`);
      if (!isStarting && notifier.watchdogMs !== null) fields.push('WATCHDOG=1');
      if (fields.length > 0) notifier.send(...fields);
    },
  };
}

/**
 * Whether every app that should run is up, or failed at its first attempt.
 * @param {Pick<SlotStatus, 'status' | 'restarts'>[]} slots
 */
export function isDecided(slots) {
  return slots.every(({ status, restarts }) => restarts > 0 || (status !== 'launching' && status !== 'stopping'));
}

/**
 * One line for `systemctl status`.
 * @param {Pick<SlotStatus, 'status'>[]} slots
 */
export function readState(slots) {
  const count = (/** @type {string[]} */ ...words) => slots.filter(({ status }) => words.includes(status)).length;
  const stopped = count('stopped');
  const parts = [
    `${count('online')} of ${slots.length - stopped} instances are up`,
    ...countText(count('waiting restart'), 'waiting to be restarted'),
    ...countText(count('errored'), 'given up'),
    ...countText(stopped, 'stopped'),
  ];
  return parts.join(', ');
}

/**
 * @param {number} number
 * @param {string} what
 */
function countText(number, what) {
  return number > 0 ? [`${number} ${what}`] : [];
}
