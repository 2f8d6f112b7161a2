// Knows: how control appends to log files: rotation, slow and full disks, lost lines.
// Must not: throw when a disk fails, or lose a line without counting it.
// Start at: createLogFile(), then open-file.js; file-table.js opens each path once.
import { createOpenFile } from './open-file.js';

/** @import { Disk } from './disk.js' */
/** @import { Position } from './open-file.js' */

/** Limit for bytes that wait for a slow disk when the app must not wait. */
const PENDING_MAX_BYTES = 1024 * 1024;

const NEWLINE = 0x0a;
const LINE_END = Buffer.from('\n');

/**
 * Bytes that cannot be written are lost and counted, because the app must not wait for them.
 * @typedef {object} LogFile
 * @property {() => void} prepare  Opens an existing file before output comes. Never throws.
 * @property {(chunk: Buffer, onWritten: OnWritten) => Promise<void> | null} append
 *   Null: the caller may append more at once. Otherwise it waits for the promise. Never throws or
 *   rejects.
 * @property {() => Position | null} position  Position of the next byte. Null: not an open
 *   regular file.
 * @property {() => Promise<void>} truncate  Rejects with errors of the system.
 * @property {() => void} reopen  The next write opens the path again.
 * @property {() => boolean} isIdle  No bytes wait for the disk.
 * @property {() => string | null} notice  A recent loss or a present problem, for people.
 * @property {Losses} losses
 * @property {() => void} finish  Writes all waiting bytes before it returns. Never throws.
 * @property {() => void} close  Idempotent; a later append opens the file again.
 */

/**
 * @typedef {(part: Buffer, at: Position | null) => void} OnWritten  Called with the position of
 *   each part of a chunk. Null: the part is lost, or the file is not a regular file.
 */

/** @typedef {{ chunk: Buffer, onWritten: OnWritten }} Pending */

/**
 * @param {object} o
 * @param {Disk} o.disk
 * @param {() => boolean} o.isDropping  Lines may be lost, so that the app does not wait.
 * @param {(reason: string) => void} [o.onLost]  Called at the first loss after a quiet hour.
 * @param {Parameters<typeof createOpenFile>[0]} o.place
 * @returns {LogFile}
 */
export function createLogFile({ disk, isDropping, onLost, place }) {
  const { path, nowMs } = place;
  const file = createOpenFile(place);
  const losses = createLosses(nowMs, onLost);
  let isClosed = false;
  /** Bytes were lost inside a line, so a line end must be written before the next line. */
  let isTorn = false;
  /** @type {Pending[]} */
  const pending = [];
  let pendingBytes = 0;
  /** @type {Promise<void> | null} */
  let pumping = null;
  /** The chunk that another thread is writing. @type {(Pending & { from: number }) | null} */
  let writing = null;
  /** Work on the file that waits until no other thread writes to it. @type {(() => void)[]} */
  const inBetween = [];

  /**
   * @param {Buffer} chunk
   * @param {OnWritten} onWritten
   */
  function writeNow(chunk, onWritten) {
    let from = 0;
    try {
      const cut = begin(chunk);
      while (from < chunk.length)
        from = finishWrite(chunk, from, disk.writeNow(file.ready(), takeRest(chunk, from, cut)), cut, onWritten);
      losses.recovered();
    } catch (error) {
      lose(chunk, from, error, onWritten);
    }
  }

  /**
   * Like writeNow(), but for a slow disk.
   * @param {Buffer} chunk
   * @param {OnWritten} onWritten
   */
  async function writeSlowly(chunk, onWritten) {
    let from = 0;
    try {
      const cut = begin(chunk);
      while (from < chunk.length) {
        writing = { chunk, onWritten, from };
        from = finishWrite(
          chunk,
          from,
          await disk.writeLater(file.ready(), takeRest(chunk, from, cut)),
          cut,
          onWritten,
        );
      }
      losses.recovered();
    } catch (error) {
      lose(chunk, from, error, onWritten);
    } finally {
      writing = null;
    }
  }

  /**
   * @param {Buffer} chunk
   * @returns {number}  Where the next file begins in the chunk. 0: not in this chunk.
   */
  function begin(chunk) {
    file.ready();
    file.rotateWhenDue();
    if (isTorn) file.noteWritten(disk.writeNow(file.ready(), LINE_END));
    isTorn = false;
    return file.cutOf(chunk);
  }

  /**
   * @param {Buffer} chunk
   * @param {number} from
   * @param {number} written
   * @param {number} cut
   * @param {OnWritten} onWritten
   * @returns {number}  Where the rest of the chunk begins.
   */
  function finishWrite(chunk, from, written, cut, onWritten) {
    const next = from + written;
    onWritten(chunk.subarray(from, next), file.noteWritten(written));
    if (next === cut) file.rotate();
    return next;
  }

  /**
   * @param {Buffer} chunk
   * @param {number} from
   * @param {unknown} error
   * @param {OnWritten} onWritten
   */
  function lose(chunk, from, error, onWritten) {
    const lost = chunk.subarray(from);
    isTorn ||= from > 0 && chunk[from - 1] !== NEWLINE;
    losses.add(lost, /** @type {NodeJS.ErrnoException} */ (error).code ?? String(error));
    onWritten(lost, null);
  }

  /**
   * @param {Buffer} chunk
   * @param {OnWritten} onWritten
   */
  function queue(chunk, onWritten) {
    if (pendingBytes > PENDING_MAX_BYTES && isDropping()) {
      losses.add(chunk, 'the disk is slow');
      onWritten(chunk, null);
      return null;
    }
    pending.push({ chunk: Buffer.from(chunk), onWritten });
    pendingBytes += chunk.length;
    pumping ??= pump();
    return isDropping() ? null : pumping;
  }

  async function pump() {
    for (let next = pending.shift(); next; next = pending.shift()) {
      await writeSlowly(next.chunk, next.onWritten);
      pendingBytes -= next.chunk.length;
      for (const act of inBetween.splice(0)) act();
    }
    pumping = null;
    if (isClosed) file.close();
  }

  /**
   * Runs `act` after the current write, not after all writes, because a flood may never end.
   * @param {() => void} act  Must not throw.
   */
  function betweenWrites(act) {
    if (pumping) inBetween.push(act);
    else act();
  }

  return {
    losses,
    prepare: file.prepare,
    append(chunk, onWritten) {
      isClosed = false;
      if (pumping || disk.isSlow()) return queue(chunk, onWritten);
      writeNow(chunk, onWritten);
      return null;
    },
    position: file.position,
    truncate: () =>
      new Promise((resolve, reject) => {
        betweenWrites(() => {
          try {
            resolve(file.truncate());
            isTorn = false;
            if (isClosed) file.close();
          } catch (error) {
            reject(error);
          }
        });
      }),
    reopen: () => betweenWrites(file.close),
    isIdle: () => pumping === null,
    finish() {
      // Writes only the rest of the chunk that another thread is writing, because that thread may
      // have written a part of the chunk.
      if (writing)
        writeNow(
          writing.chunk.subarray(Math.min(writing.chunk.length, writing.from + file.catchUp())),
          writing.onWritten,
        );
      for (const { chunk, onWritten } of pending.splice(0)) writeNow(chunk, onWritten);
    },
    notice() {
      const lost = losses.recent();
      if (!lost) return file.problem();
      const said =
        `${lost.lines} lines (${lost.bytes} bytes) could not be written to the log file ` +
        `"${path}" (${lost.reason}) and are lost`;
      if (isClosed) return `${said}.`;
      return losses.isLosing() ? `${said}; nclust keeps trying.` : `${said}; the file is being written again.`;
    },
    close() {
      isClosed = true;
      betweenWrites(file.close);
    },
  };
}

/**
 * @param {Buffer} chunk
 * @param {number} from
 * @param {number} cut
 */
function takeRest(chunk, from, cut) {
  return from < cut ? chunk.subarray(from, cut) : chunk.subarray(from);
}

/** A loss is reported for this time, in ms. */
const REPORTED_MS = 3_600_000;

/**
 * @typedef {object} Losses
 * @property {(bytes: Buffer, reason: string) => void} add
 * @property {() => void} recovered  Writing works again.
 * @property {() => { lines: number, bytes: number, reason: string, atMs: number } | null} recent
 *   Null: there was no loss in the last hour.
 * @property {() => boolean} isLosing  Whether the last write failed.
 */

/**
 * @param {() => number} nowMs
 * @param {(reason: string) => void} [onFirst]  Called at the first loss after a quiet hour.
 * @returns {Losses}
 */
export function createLosses(nowMs, onFirst = () => {}) {
  const sum = { lines: 0, bytes: 0, reason: '', atMs: 0 };
  let isLosing = false;
  return {
    add(bytes, reason) {
      isLosing = true;
      if (nowMs() - sum.atMs > REPORTED_MS) Object.assign(sum, { lines: 0, bytes: 0 });
      if (sum.bytes === 0) onFirst(reason);
      sum.lines += countLines(bytes);
      sum.bytes += bytes.length;
      sum.reason = reason;
      sum.atMs = nowMs();
    },
    recovered() {
      isLosing = false;
    },
    recent: () => (sum.bytes === 0 || nowMs() - sum.atMs > REPORTED_MS ? null : { ...sum }),
    isLosing: () => isLosing,
  };
}

/** @param {Buffer} bytes */
function countLines(bytes) {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}
