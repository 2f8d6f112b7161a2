import { isRecord } from '../../../lib/shared/is-record.js';
import { shortReceiver } from '../../../lib/shared/settings/receiver.js';
import { shortNotice } from '../../../lib/shared/without-secrets.js';

/** @import { ManagerLog } from '../context.js' */
/** @import { Clock } from '../host/clock.js' */
/** @import { DeathNotes } from './manager-deaths.js' */
/** @import { Message } from './message.js' */
/** @import { QueueFile, Saved } from './queue-file.js' */
/** @import { Ledger } from './reconcile.js' */
/** @import { Failure } from './send.js' */

const MESSAGES_MAX = 1_000;
const GIVEN_UP_MS = 24 * 3_600_000;
const RETRY_MS = 1_000;
const RETRY_MAX_MS = 300_000;
const SAVE_MS = 1_000;

/** After this many attempts, a message that the receiver refuses makes way for the next one. */
const REFUSALS_MAX = 5;

/**
 * The messages for one receiver, and the troubles that it knows. A message is on disk before it is
 * sent, and until the receiver has taken it.
 * @typedef {object} Outbox
 * @property {string} to
 * @property {Ledger} notified
 * @property {DeathNotes} deaths
 * @property {boolean} isOfApp  Only apps name the receiver, or named it last.
 * @property {() => void} start  Nothing is sent before.
 * @property {(messages: Message[]) => void} add  Also saves `notified` and `deaths`.
 * @property {(isWanted: (message: { app: string | null }) => boolean) => void} keepOnly
 * @property {() => OutboxState} describe
 * @property {() => Promise<void>} close  Sends nothing more. Waiting messages stay on disk. Resolves
 *   when no write is under way.
 * @property {() => Promise<void>} remove
 */

/**
 * @typedef {object} OutboxState
 * @property {number} waiting
 * @property {number | null} waitingSinceMs  Age of the oldest message. Null: none waits.
 * @property {number} dropped  Since the last message that was sent.
 * @property {number | null} sentMs  Null: no message was sent yet.
 * @property {string | null} problem  Why the last attempt failed.
 */

/**
 * @param {string} to
 * @param {object} o
 * @param {QueueFile} o.file
 * @param {Saved | null} o.saved
 * @param {number} o.throughMs  Without `saved`: earlier deaths of the manager do not count.
 * @param {Clock} o.clock
 * @param {ManagerLog} o.managerLog
 * @param {(to: string, message: Message) => Promise<Failure | null>} o.send
 * @returns {Outbox}
 */
export function createOutbox(to, { file, saved, throughMs, clock, managerLog, send }) {
  const { state = {}, messages = [] } = saved ?? {};
  let queue = messages;
  let dropped = Number(state.dropped ?? 0);
  /** @type {number | null} */
  let sentMs = state.sentMs ?? null;
  /** @type {string | null} */
  let problem = null;
  let failures = 0;
  let refusals = 0;
  let isResting = false;
  let isStarted = false;
  let isSending = false;
  let isClosed = false;
  /** True at first: later deaths of the manager count only if there is a file. */
  let isDirty = saved === null;
  let isUnwritable = false;
  let isSaveDue = false;
  let saving = Promise.resolve();
  let cancelRetry = () => {};
  let cancelSave = () => {};

  /** @type {Outbox} */
  const outbox = {
    to,
    notified: restoreLedger(state.notified),
    deaths: isRecord(state.deaths) ? /** @type {any} */ (state.deaths) : { throughMs, notifiedMs: 0, waiting: null },
    isOfApp: state.isOfApp === true,
    start() {
      if (isStarted) return;
      isStarted = true;
      void pump();
    },
    add(added) {
      queue.push(...added.map((message) => ({ ...pickKeys(message), line: JSON.stringify(message) })));
      const excess = queue.length - MESSAGES_MAX;
      // The first one may be on its way.
      if (excess > 0) dropped += queue.splice(isSending ? 1 : 0, excess).length;
      isDirty = true;
      if (isSending || isResting) saveSoon();
      else void pump();
    },
    keepOnly(isWanted) {
      const kept = queue.filter(isWanted);
      isDirty ||= kept.length < queue.length;
      queue = kept;
    },
    describe: () => ({
      waiting: queue.length,
      waitingSinceMs: queue.length > 0 ? queue[0].at : null,
      ...{ dropped, sentMs, problem },
    }),
    close() {
      isClosed = true;
      cancelRetry();
      cancelSave();
      return saving;
    },
    async remove() {
      await outbox.close();
      await file.remove();
    },
  };

  function listLines() {
    const { notified, deaths, isOfApp } = outbox;
    return [JSON.stringify({ v: 1, to, notified, deaths, isOfApp, dropped, sentMs }), ...queue.map(({ line }) => line)];
  }

  /** @returns {Promise<void>}  Resolves when all is on disk, or cannot be written. */
  function save() {
    if (isDirty && !isClosed) saving = write();
    return saving;
  }

  async function write() {
    isDirty = false;
    try {
      await file.save(listLines);
      isUnwritable = false;
    } catch (error) {
      isDirty = true;
      // A full disk must not keep a message back.
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
      if (!isUnwritable) managerLog('notify-unsaved', { receiver: shortReceiver(to), reason: code ?? message });
      isUnwritable = true;
    }
  }

  /**
   * While nothing can be sent, and in a long queue, the file is written less often, because each
   * write has all messages. If control is killed before a write, the next control finds the same
   * news again, and sends what was sent since the last write once more.
   */
  function saveSoon() {
    if (isSaveDue) return;
    isSaveDue = true;
    cancelSave = clock.after(SAVE_MS, () => {
      isSaveDue = false;
      isDirty = true;
      void save();
    });
  }

  async function pump() {
    if (!isStarted || isSending || isClosed) return;
    isSending = true;
    for (;;) {
      // A message that is added during a write is written before it is sent, too.
      do await save();
      while (isDirty && !isUnwritable && !isClosed);
      if (isClosed || isResting || queue.length === 0) break;
      await attempt(queue[0]);
    }
    isSending = false;
  }

  /** @param {Saved['messages'][number]} head */
  async function attempt({ id, at, line }) {
    if (clock.nowMs() - at > GIVEN_UP_MS) return giveUp(id);
    const reported = dropped;
    const failure = await trySend({ ...JSON.parse(line), ...(reported > 0 ? { dropped: reported } : {}) });
    if (failure) return fail(id, failure);
    take(id);
    dropped -= reported;
    sentMs = clock.nowMs();
    problem = null;
    failures = 0;
  }

  /**
   * @param {Message} message
   * @returns {Promise<Failure | null>}
   */
  async function trySend(message) {
    try {
      return await send(to, message);
    } catch (error) {
      return { reason: `it cannot be sent (${shortNotice(/** @type {Error} */ (error).message)})` };
    }
  }

  /**
   * @param {string} id
   * @param {Failure} failure
   */
  function fail(id, { reason, isRefused, retryAfterMs }) {
    refusals = isRefused ? refusals + 1 : 0;
    if (refusals >= REFUSALS_MAX) giveUp(id);
    problem = reason;
    failures += 1;
    if (failures === 1) managerLog('notify-failed', { receiver: shortReceiver(to), reason });
    isResting = true;
    cancelRetry = clock.after(retryAfterMs ?? Math.min(RETRY_MS * 2 ** (failures - 1), RETRY_MAX_MS), () => {
      isResting = false;
      void pump();
    });
  }

  /** @param {string} id */
  function giveUp(id) {
    take(id);
    dropped += 1;
  }

  /** @param {string} id */
  function take(id) {
    queue = queue.filter((one) => one.id !== id);
    refusals = 0;
    if (queue.length === 0) isDirty = true;
    else saveSoon();
  }

  return outbox;
}

/** @param {Message} message */
function pickKeys({ id, at, app }) {
  return { id, at, app };
}

/**
 * @param {unknown} saved
 * @returns {Ledger}
 */
function restoreLedger(saved) {
  const entries = isRecord(saved) ? Object.entries(saved) : [];
  return Object.fromEntries(
    entries.map(([id, notified]) => [id, { .../** @type {any} */ (notified), isRestored: true }]),
  );
}
