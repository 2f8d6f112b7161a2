/** @import { ManagerLog } from '../context.js' */
/** @import { DesiredApp } from '../state/desired.js' */

/** Limit for reloads at the same time, because one git checkout may trigger hundreds of apps. */
const APPS_AT_ONCE = 8;

/** @typedef {'watch' | 'cron' | 'memory' | 'health'} Trigger */

/**
 * @typedef {object} ReloadRequest
 * @property {Trigger} trigger
 * @property {string} by  Trigger and reason: "watch: src/a.js changed".
 * @property {(app: DesiredApp) => number[]} choose  Picks the slots when the reload begins.
 * @property {(end: 'replaced' | 'nothing' | 'failed') => void} [onEnd]
 */

/**
 * @typedef {{ atMs: number, by: string, problem: string | null }} LastTurn  `atMs`: its beginning, or
 *   the time of its failure.
 */

/**
 * All requests of a trigger that arrive during a reload of an app lead to one more reload.
 * @typedef {object} ReloadQueue
 * @property {(name: string, due: ReloadRequest) => void} enqueue
 * @property {(name: string) => boolean} isBusy
 * @property {(name: string) => LastTurn | null} last
 * @property {(isListed: (name: string) => boolean) => void} forget  Drops records of deleted apps.
 */

/**
 * @param {object} o
 * @param {(name: string, due: ReloadRequest) => Promise<boolean>} o.reload  False: nothing to do.
 * @param {() => number} o.nowMs
 * @param {ManagerLog} o.managerLog
 * @returns {ReloadQueue}
 */
export function createReloadQueue({ reload, nowMs, managerLog }) {
  /** @type {Set<string>} */
  const busy = new Set();
  /** @type {Map<string, ReloadRequest[]>} */
  const pending = new Map();
  /** @type {Map<string, LastTurn>} */
  const lasts = new Map();
  let underWay = 0;
  /** @type {(() => void)[]} */
  const queue = [];

  /**
   * @param {ReloadRequest['trigger']} trigger
   * @returns {Promise<void> | null}
   */
  function waitForRoom(trigger) {
    if (underWay < APPS_AT_ONCE) {
      underWay += 1;
      return null;
    }
    // Reloads that an instance needs come first.
    return new Promise(
      (resolve) => void (trigger === 'memory' || trigger === 'health' ? queue.unshift(resolve) : queue.push(resolve)),
    );
  }

  function leaveRoom() {
    const next = queue.shift();
    if (next) next();
    else underWay -= 1;
  }

  /**
   * @param {string} name
   * @param {ReloadRequest} due
   */
  async function take(name, due) {
    const turn = { atMs: nowMs(), by: due.by, problem: null };
    managerLog('triggered', { app: name, by: due.by });
    try {
      const hasReplaced = await reload(name, due);
      if (hasReplaced) lasts.set(name, turn);
      due.onEnd?.(hasReplaced ? 'replaced' : 'nothing');
    } catch (error) {
      const { message, code, data } = /** @type {{ message: string, code?: string, data?: { fault?: string } }} */ (
        error
      );
      managerLog('trigger-failed', { app: name, by: due.by, code, message, reason: data?.fault });
      lasts.set(name, { ...turn, atMs: nowMs(), problem: message });
      due.onEnd?.('failed');
    }
  }

  /**
   * @param {string} name
   * @param {ReloadRequest} due
   */
  async function begin(name, due) {
    busy.add(name);
    for (let next = /** @type {ReloadRequest | undefined} */ (due); next; next = pending.get(name)?.shift()) {
      const room = waitForRoom(next.trigger);
      if (room) await room;
      await take(name, next);
      leaveRoom();
    }
    pending.delete(name);
    busy.delete(name);
  }

  return {
    enqueue(name, due) {
      if (busy.has(name)) pending.set(name, addTo(pending.get(name) ?? [], due));
      else void begin(name, due); // Never rejects: take() records errors.
    },
    isBusy: (name) => busy.has(name),
    last: (name) => lasts.get(name) ?? null,
    forget(isListed) {
      for (const name of lasts.keys()) if (!isListed(name)) lasts.delete(name);
    },
  };
}

/**
 * Requests of different triggers differ in what they record.
 * @param {ReloadRequest[]} waiting
 * @param {ReloadRequest} due
 * @returns {ReloadRequest[]}
 */
function addTo(waiting, due) {
  const same = due.trigger === 'health' ? undefined : waiting.find(({ trigger }) => trigger === due.trigger);
  if (!same) return [...waiting, due];
  const both = {
    ...same,
    choose: (/** @type {DesiredApp} */ app) => [...new Set([...same.choose(app), ...due.choose(app)])],
  };
  return waiting.map((one) => (one === same ? both : one));
}
