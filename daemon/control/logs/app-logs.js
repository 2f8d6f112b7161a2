// Knows: the way of a line from the pipe, through the stream, to files and followers. Must not: let
// an app wait without need, or keep an unlimited amount of output in memory. Start at:
// createAppLogs(), then stream.js. Each folder below has one concern.
import { closeSync, constants, ftruncateSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { openAsUser } from '../../../lib/shared/host/as-user.js';
import { createFollowers } from './followers.js';
import { NO_FOREGROUND } from './foreground.js';
import { createInspectorLines } from './inspector-lines.js';
import { createPipeOpener } from './pipe.js';
import { createLogStream } from './stream.js';
import { createTimes } from './times/times.js';
import { createFileTable } from './write/file-table.js';

/** @import { User } from '../../../lib/shared/host/user-path.js' */
/** @import { LogStream as StreamName, Shipped } from '../../../lib/shared/wire/protocol.js' */
/** @import { GivenLimits, LogLimits } from '../context.js' */
/** @import { Clock } from '../host/clock.js' */
/** @import { Archive } from './archive/archive.js' */
/** @import { OwnedFile } from './archive/segments.js' */
/** @import { Followers } from './followers.js' */
/** @import { Foreground } from './foreground.js' */
/** @import { PipeReader } from './pipe.js' */
/** @import { ShipperPool } from './shipping/shipper-pool.js' */
/** @import { LogStream } from './stream.js' */
/** @import { Position } from './write/open-file.js' */

/** Opening a pipe fails if too many files are open. Control retries after this pause, in ms. */
const REOPEN_MS = 500;

const STREAMS = /** @type {const} */ (['out', 'err']);

/**
 * @typedef {object} LogPlace
 * @property {string} instanceId
 * @property {number} id  The id of the slot.
 * @property {string} name
 * @property {User | null} user  The owner of the log files.
 * @property {string | null} outPipe
 * @property {string | null} errPipe
 * @property {string} outFile  Empty: stdout has no file of its own.
 * @property {string} errorFile
 * @property {string} logFile  File for both streams. Empty: such a file is not written.
 * @property {'raw' | 'json'} logType
 * @property {string | null} logDateFormat
 * @property {boolean} isMuted  Followers and the foreground do not get the lines of this place.
 * @property {'block' | 'drop'} overflow
 * @property {number} rateLimitBytes  Per second. 0: no limit.
 * @property {string[]} ship
 * @property {GivenLimits} limits
 */

/**
 * @typedef {object} LogState
 * @property {{ lines: number, bytes: number, reason: string } | null} logLost
 * @property {Shipped[]} shipping
 */

/** @typedef {{ lines: number, file: string | null, reason: string }} Losing */

/**
 * @typedef {object} AppLogs
 * @property {(place: LogPlace, isAdopted?: boolean) => void} attach  Idempotent. A later place
 *   replaces the first. `isAdopted`: an earlier control has read the pipes.
 * @property {(instanceId: string) => string[]} drain  Reads the pipes. Returns last stderr lines.
 * @property {(instanceId: string) => void} detach  Reads the rest of the pipes, and closes them.
 * @property {Followers['add']} follow
 * @property {Followers['heldFrom']} heldFrom
 * @property {(path: string) => Position | null} positionOf  Position of the next byte of a file.
 *   Null if control does not write to it.
 * @property {(files: OwnedFile[]) => Promise<void>} flush  Empties files and removes their
 *   segments. If a file cannot be emptied, empties the others and then rejects with the error.
 * @property {() => void} close  Before it returns, writes all data, even unfinished lines.
 *   Idempotent.
 * @property {() => void} reopen  Opens all files by their names again.
 * @property {(instanceId: string, name: string) => LogState} describe  Lists the losses of the last
 *   hour.
 * @property {(instanceId: string, onUrl: (url: string) => void) => () => void} hideInspector  Takes
 *   the lines of Node.js about its inspector out of stderr, until the returned function is called.
 * @property {() => Map<string, Losing>} losing  By app: the lines that are lost because the last
 *   write failed.
 * @property {(hasApp: (name: string) => boolean) => string[]} notices  Leaves out deleted apps.
 */

/**
 * @typedef {object} Tap
 * @property {LogStream} stream
 * @property {PipeReader | null} reader
 * @property {boolean} isWaiting
 * @property {ReturnType<typeof createInspectorLines>} inspectorLines
 */
/** @typedef {{ place: LogPlace, taps: Tap[] }} Attached */

/**
 * @param {object} o
 * @param {Clock} o.clock
 * @param {Archive} o.archive
 * @param {(given: GivenLimits | null) => LogLimits} o.limitsOf
 * @param {string} o.timesFolder
 * @param {ShipperPool} o.shippers
 * @param {Foreground} [o.foreground]
 * @param {(app: string, chunk: Buffer) => void} [o.onErrors]  Gets all output on stderr.
 * @param {(name: string, reason: string, id?: number) => void} [o.onLost]
 *   Called when an app begins to lose lines. `id`: only this slot loses lines.
 * @returns {AppLogs}
 */
export function createAppLogs({
  clock,
  archive,
  limitsOf,
  timesFolder,
  shippers,
  foreground = NO_FOREGROUND,
  onErrors = () => {},
  onLost = () => {},
}) {
  const { nowMs } = clock;
  const openPipe = createPipeOpener(clock);
  const followers = createFollowers(nowMs);
  const files = createFileTable({
    nowMs,
    openTimes: (path) => createTimes(timesFolder, path, { nowMs }),
    archive,
    limitsOf,
    onLost,
  });
  /** @type {Map<string, Attached>} */
  const attached = new Map();

  /**
   * @param {LogPlace} place
   * @param {boolean} isAdopted
   */
  function newlyAttached(place, isAdopted) {
    /** @type {Attached} */
    const one = { place, taps: [] };
    one.taps = STREAMS.map((name) => ({
      stream: getStream(one, name),
      reader: null,
      isWaiting: false,
      inspectorLines: createInspectorLines(),
    }));
    if (isAdopted) for (const { stream } of one.taps) stream.adopt();
    return one;
  }

  /**
   * @param {Attached} one
   * @param {StreamName} name
   * @param {LogStream} [before]
   */
  function getStream(one, name, before) {
    const ship = (/** @type {Buffer} */ chunk) => shippers.send(one.place, name, chunk);
    const parts = { files, followers, nowMs, ship, foreground, onErrors, onLost, before };
    const stream = createLogStream(one.place, name, parts);
    for (const path of stream.files) files.acquire(path, one.place);
    return stream;
  }

  /**
   * @param {Attached} one
   * @param {LogPlace} place
   */
  function move(one, place) {
    for (const { reader } of one.taps) reader?.drain();
    const isOtherwise = !isDeepStrictEqual(getShape(one.place), getShape(place));
    one.place = place;
    one.taps.forEach((tap, at) => {
      const before = tap.stream;
      if (isOtherwise) {
        before.leave();
        tap.stream = getStream(one, STREAMS[at], before);
      } else {
        for (const path of before.files) files.acquire(path, place);
      }
      // release() comes after the new acquire(), so that a file that stays in use is not closed in
      // between.
      for (const path of before.files) files.release(path);
    });
    shippers.retarget(place);
  }

  /**
   * @param {string} instanceId
   * @param {Tap} tap
   */
  function open(instanceId, tap) {
    const { pipe } = tap.stream;
    if (pipe === null || tap.reader?.isOpen() || !attached.get(instanceId)?.taps.includes(tap)) return;
    tap.isWaiting = false;
    try {
      tap.reader = openPipe(pipe, (chunk) => tap.stream.write(tap.inspectorLines.takeOut(chunk)));
    } catch (error) {
      // The pipe does not exist: the keeper is gone, and no process writes to the pipe.
      if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return;
      tap.isWaiting = true;
      clock.after(REOPEN_MS, () => open(instanceId, tap));
    }
  }

  return {
    attach(place, isAdopted = false) {
      const { instanceId } = place;
      const one = attached.get(instanceId) ?? newlyAttached(place, isAdopted);
      attached.set(instanceId, one);
      if (!isDeepStrictEqual(one.place, place)) move(one, place);
      for (const tap of one.taps) open(instanceId, tap);
    },
    drain(instanceId) {
      const taps = attached.get(instanceId)?.taps ?? [];
      for (const { reader } of taps) reader?.drain();
      return taps.flatMap(({ stream }) => stream.lastLines());
    },
    detach(instanceId) {
      for (const tap of attached.get(instanceId)?.taps ?? []) {
        // Tries again to open a pipe that could not be opened before.
        if (!tap.reader) open(instanceId, tap);
        tap.reader?.drain();
        tap.reader?.close();
        tap.stream.end();
        for (const path of tap.stream.files) files.release(path);
      }
      attached.delete(instanceId);
      shippers.release(instanceId);
    },
    hideInspector: (instanceId, onUrl) =>
      attached.get(instanceId)?.taps[STREAMS.indexOf('err')].inspectorLines.hide(onUrl) ?? (() => {}),
    follow: followers.add,
    heldFrom: followers.heldFrom,
    positionOf: (path) => files.fileAt(path)?.position() ?? null,
    async flush(owned) {
      const emptied = await Promise.allSettled(
        owned.map(async ({ path, user }) => files.fileAt(path)?.truncate() ?? empty(path, user)),
      );
      await archive.flush(owned.filter((_, at) => emptied[at].status === 'fulfilled'));
      const failed = emptied.find((one) => one.status === 'rejected');
      if (failed) throw failed.reason;
    },
    close() {
      const taps = [...attached.values()].flatMap((one) => one.taps);
      for (const { reader, stream } of taps) {
        reader?.close();
        stream.finish();
      }
      attached.clear();
      files.finish();
      for (const { stream } of taps) stream.handOver();
      foreground.finish();
    },
    reopen: files.reopen,
    describe(instanceId, name) {
      const streams = attached.get(instanceId)?.taps.map(({ stream }) => stream) ?? [];
      const paths = new Set(streams.flatMap((stream) => stream.files));
      const losses = [
        ...[...paths].map((path) => files.fileAt(path)?.losses),
        ...streams.map((stream) => stream.refused()),
        foreground.lossesOf(name),
      ];
      return { logLost: sumLost(losses.flatMap((one) => one?.recent() ?? [])), shipping: shippers.countersOf(name) };
    },
    losing() {
      /** @type {ReturnType<AppLogs['losing']>} */
      const found = new Map();
      const seen = new Set();
      for (const { place, taps } of attached.values())
        for (const { file, losses } of taps.flatMap(({ stream }) => [
          ...stream.files.map((path) => ({ file: path, losses: files.fileAt(path)?.losses })),
          { file: null, losses: stream.refused() },
        ])) {
          const lost = losses?.isLosing() && !seen.has(losses) ? losses.recent() : null;
          seen.add(losses);
          if (!lost) continue;
          const lines = (found.get(place.name)?.lines ?? 0) + lost.lines;
          found.set(place.name, { lines, file, reason: lost.reason });
        }
      return found;
    },
    notices(hasApp) {
      const taps = [...attached.values()].flatMap(({ place, taps: own }) =>
        own.map((tap) => ({ name: place.name, tap })),
      );
      const waiting = new Set(taps.filter(({ tap }) => tap.isWaiting).map(({ name }) => name));
      return [
        ...[...waiting].map((name) => `The output of "${name}" is not read yet: its pipe cannot be opened.`),
        ...rateNotices(taps),
        ...files.notices(hasApp),
        ...archive.notices(),
        ...shippers.notices(),
        ...foreground.notices(),
      ];
    },
  };
}

/**
 * Returns the fields whose change needs a new stream. The other fields concern only files and
 * targets.
 * @param {LogPlace} place
 */
function getShape({ limits: _, ship: __, ...shape }) {
  return shape;
}

/** @param {{ name: string, tap: Tap }[]} taps */
function rateNotices(taps) {
  const names = [...new Set(taps.map(({ name }) => name))];
  return names.flatMap((name) => {
    const own = taps.filter((one) => one.name === name);
    const all = sumLost(own.flatMap(({ tap }) => tap.stream.refused()?.recent() ?? []));
    return all ? `${all.lines} lines (${all.bytes} bytes) of "${name}" exceeded its log rate limit and are lost.` : [];
  });
}

/** @param {{ lines: number, bytes: number, reason: string }[]} lost */
function sumLost(lost) {
  if (lost.length === 0) return null;
  const sum = (/** @type {'lines' | 'bytes'} */ key) => lost.reduce((total, one) => total + one[key], 0);
  return {
    lines: sum('lines'),
    bytes: sum('bytes'),
    reason: [...new Set(lost.map(({ reason }) => reason))].join(', '),
  };
}

/**
 * @param {string} path
 * @param {User | null} user
 */
function empty(path, user) {
  try {
    const fd = openAsUser(user, path, constants.O_WRONLY | constants.O_NONBLOCK);
    try {
      ftruncateSync(fd);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error;
  }
}
