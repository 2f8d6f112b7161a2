import { parseShipTarget } from '../../../../lib/app-spec/ship-target.js';
import { withDeadline } from '../../../../lib/shared/deadline.js';
import { shortTarget } from '../../../../lib/shared/without-secrets.js';
import { backoffMs } from '../../policy/restart-policy.js';
import { createBacklog } from './backlog.js';
import { chooseConnector } from './links.js';
import { PARTING_MS, describeError } from './transports.js';

/** @import { User } from '../../../../lib/shared/host/user-path.js' */
/** @import { LogStream, Shipped } from '../../../../lib/shared/wire/protocol.js' */
/** @import { ManagerLog } from '../../context.js' */
/** @import { Clock } from '../../host/clock.js' */
/** @import { ShippedLine } from './backlog.js' */
/** @import { Connect } from './links.js' */
/** @import { Link } from './transports.js' */

/** Bytes written at once. */
const BATCH_BYTES = 64 * 1024;

/** The backlog and the batch that is being written have 1 MiB together. */
const BACKLOG_BYTES = 1024 * 1024 - BATCH_BYTES;

/** Pause before the second attempt; doubles up to 15 s. */
const RETRY_MS = 500;

/** If a link was open for this long, in ms, the pause after its end is short again. */
const GOOD_MS = 10_000;

/**
 * Sends lines to one target. No app waits for a shipper: if the target accepts too few lines, the
 * shipper drops and counts the oldest lines.
 * @typedef {object} Shipper
 * @property {(stream: LogStream, lines: string[], atMs: number, id: number) => void} send
 *   `lines` have no line ends. `id`: id of the slot.
 * @property {Tally['counters']} counters
 * @property {Tally['notice']} notice
 * @property {(listener: () => void) => void} onceIdle
 *   Calls the listener when no line waits, perhaps at once. A second listener replaces the first.
 * @property {(graceMs?: number) => Promise<void>} close  Sends for up to a second. Then sent lines
 *   have `graceMs` to arrive, by default a second. Idempotent; never rejects.
 * @property {() => Promise<void>} hurry  Shortens the current grace period to one second.
 */

/**
 * @param {string} target
 * @param {object} o
 * @param {string} o.name
 * @param {() => User | null} [o.userNow]  The user of the app, for the next connection.
 * @param {Clock} o.clock
 * @param {ManagerLog} o.managerLog
 * @param {Connect} [o.connect]
 * @param {Tally} [o.tally]
 * @returns {Shipper}
 */
export function createShipper(
  target,
  {
    name,
    userNow = () => null,
    clock,
    managerLog,
    connect = createConnector(target, name, userNow),
    tally = createTally(target, name, clock.nowMs),
  },
) {
  const backlog = createBacklog(BACKLOG_BYTES);
  /** @type {Link | null} */
  let link = null;
  let isOpen = false;
  let openedAtMs = 0;
  let failures = 0;
  /** @type {ShippedLine[]} */
  let written = [];
  let takenOfWritten = 0;
  let cancelRetry = () => {};
  /** @type {Promise<void> | null} */
  let closing = null;
  let onIdle = () => {};

  function open() {
    try {
      link = connect({ clock, events: { onOpen, onTaken, onDown } });
    } catch (error) {
      onDown(describeError(error)); // Perhaps no descriptor was free. A later try may succeed.
    }
  }

  function onOpen() {
    isOpen = true;
    openedAtMs = clock.nowMs();
    tally.setProblem(null);
    pump();
  }

  /** @param {number} count */
  function onTaken(count) {
    tally.sent(count);
    takenOfWritten += count;
    if (takenOfWritten < written.length) return;
    written = [];
    pump();
  }

  /** @param {string} reason */
  function onDown(reason) {
    failures = isOpen && clock.nowMs() - openedAtMs >= GOOD_MS ? 1 : failures + 1;
    // Logs only the first failure, because UDP, or a command that exits at once, may fail at each
    // attempt.
    if (failures === 1) managerLog('shipping-failed', { app: name, target: shortTarget(target), reason });
    isOpen = false;
    link = null;
    // The next link sends these lines again. A line may arrive twice, which is better than a loss.
    backlog.putBack(untaken());
    tally.setProblem(reason);
    if (closing) onIdle();
    else cancelRetry = clock.after(backoffMs(failures, RETRY_MS), open);
  }

  function untaken() {
    const lines = written.slice(takenOfWritten);
    written = [];
    return lines;
  }

  function pump() {
    if (!isOpen || written.length > 0) return;
    written = backlog.shift(BATCH_BYTES);
    takenOfWritten = 0;
    if (written.length > 0) link?.write(written);
    else onIdle();
  }

  const isBusy = () => written.length > 0 || !backlog.isEmpty();

  /** @param {number} graceMs */
  async function part(graceMs) {
    cancelRetry();
    // Does not wait during a pause, because in a pause no connection can accept the lines.
    const idle = new Promise((resolve) => {
      onIdle = () => resolve(undefined);
    });
    if (link && isBusy()) await withDeadline(PARTING_MS, idle, () => {}, clock.after);
    isOpen = false;
    tally.lost(untaken().length + backlog.clear());
    await link?.close(graceMs);
  }

  open();
  return {
    send(stream, lines, atMs, id) {
      if (closing) return tally.lost(lines.length);
      tally.lost(backlog.add(stream, lines, atMs, id));
      pump();
    },
    counters: tally.counters,
    notice: tally.notice,
    onceIdle(listener) {
      onIdle = listener;
      if (!isBusy()) listener();
    },
    close: (graceMs = PARTING_MS) => (closing ??= part(graceMs)),
    hurry: async () => link?.close(PARTING_MS),
  };
}

/**
 * @param {string} target
 * @param {string} name
 * @param {() => User | null} userNow
 */
function createConnector(target, name, userNow) {
  const parsed = parseShipTarget(target);
  if (!parsed) throw new Error(`"${target}" was checked with the spec.`);
  return chooseConnector(parsed, name, userNow);
}

/** Time for which a loss is reported, in ms. */
const LOSS_REPORTED_MS = 3_600_000;

/**
 * Counts lines. Outlives connections, processes and instances.
 * @typedef {object} Tally
 * @property {(count: number) => void} sent
 * @property {(count: number) => void} lost
 * @property {(reason: string | null) => void} setProblem  Why nothing can be sent now.
 * @property {() => Shipped} counters
 * @property {() => string | null} notice  A message for people with the sum of all losses.
 *   Null: there was no loss in the last hour.
 */

/**
 * @param {string} target
 * @param {string} name
 * @param {() => number} nowMs
 * @returns {Tally}
 */
export function createTally(target, name, nowMs) {
  let sent = 0;
  let dropped = 0;
  let droppedAtMs = 0;
  /** @type {string | null} */
  let problem = null;
  return {
    sent(count) {
      sent += count;
    },
    lost(count) {
      dropped += count;
      if (count > 0) droppedAtMs = nowMs();
    },
    setProblem(reason) {
      problem = reason;
    },
    counters: () => ({ target, sent, dropped, problem }),
    notice() {
      if (dropped === 0 || nowMs() - droppedAtMs > LOSS_REPORTED_MS) return null;
      return (
        `${dropped} lines of "${name}" could not be sent to "${target}" ` +
        `(${problem ?? 'it was too slow'}) and are missing there.`
      );
    },
  };
}
