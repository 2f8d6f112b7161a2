import { createLineFormat, createPlainFormat } from './format.js';
import { createLosses } from './write/log-file.js';
import { readUnfinishedLine } from './write/open-file.js';

/** @import { LogStream as StreamName } from '../../../lib/shared/wire/protocol.js' */
/** @import { LogPlace } from './app-logs.js' */
/** @import { Followers, Source } from './followers.js' */
/** @import { Foreground } from './foreground.js' */
/** @import { FileTable } from './write/file-table.js' */
/** @import { Losses } from './write/log-file.js' */
/** @import { Position } from './write/open-file.js' */

/**
 * Passes one stream of one instance from the pipe to files, followers and targets.
 * @typedef {object} LogStream
 * @property {string | null} pipe
 * @property {string[]} files
 * @property {(chunk: Buffer) => Promise<void> | null} write
 *   The caller waits for the promise before the next chunk.
 * @property {() => string[]} lastLines  Lines of stderr; empty for stdout.
 * @property {() => Losses | null} refused  Losses of lines above the rate limit.
 * @property {LastLines | null} tail
 * @property {() => void} adopt  An earlier control may have written the beginning of a line.
 * @property {() => void} finish  A line that is held until it is whole gets a line end.
 * @property {() => void} leave  Called when another LogStream takes over.
 * @property {() => void} end  No more output will come: an unfinished line gets a line end.
 * @property {() => void} handOver  Called when control exits and the files are written. Followers
 *   get an unfinished line of a file from the next control, which reads it from the file.
 */

/**
 * @param {LogPlace} place
 * @param {StreamName} name
 * @param {object} o
 * @param {FileTable} o.files
 * @param {Followers} o.followers
 * @param {() => number} o.nowMs
 * @param {(lines: Buffer) => void} o.ship
 * @param {Foreground} o.foreground
 * @param {(app: string, chunk: Buffer) => void} o.onErrors  Gets all output on stderr, even above the
 *   rate limit. Copies what it keeps.
 * @param {(name: string, reason: string, id?: number) => void} o.onLost
 * @param {LogStream} [o.before]  The stream that the new stream continues. Its last lines and
 *   losses are kept.
 * @returns {LogStream}
 */
export function createLogStream(place, name, o) {
  const { files, followers, nowMs, ship, foreground, onErrors, onLost, before } = o;
  const path = name === 'out' ? place.outFile : place.errorFile;
  const { logFile: combined, rateLimitBytes } = place;
  const isCombinedOnly = hasOnlyCombined(place);
  const format = createLineFormat({ ...place, stream: name, nowMs });
  // Holds back incomplete lines for the combined file, because lines of the two streams must not
  // mix. Formatted lines are always whole.
  const whole = combined === '' || format ? null : createPlainFormat();
  const limit = rateLimitBytes === 0 ? null : createRateLimit(rateLimitBytes, () => performance.now());
  const refused = before?.refused() ?? (limit && createLosses(nowMs, (reason) => onLost(place.name, reason, place.id)));
  const lastLines = before?.tail ?? (name === 'err' ? createLastLines() : null);
  /** @type {Source} */
  const source = {
    slot: { id: place.id, name: place.name },
    stream: name,
    path: isCombinedOnly ? combined : path,
    splitter: null,
  };

  /** @param {Buffer} chunk */
  function follow(chunk, at = /** @type {Position | null} */ (null)) {
    if (!place.isMuted) followers.push(source, chunk, at && { atMs: nowMs(), ...at });
  }

  /**
   * Followers also get the position of the lines, so that a follower can continue there later.
   * @param {Buffer} lines
   */
  function write(lines) {
    return lines.length === 0 || isCombinedOnly ? null : files.append(path, lines, follow);
  }

  /** @param {Buffer} lines  Whole lines. */
  function combine(lines) {
    return combined === '' || lines.length === 0
      ? null
      : files.append(combined, lines, isCombinedOnly ? follow : () => {});
  }

  function finish() {
    const last = (format ?? whole)?.end();
    if (last && format) write(last);
    if (last) combine(last);
  }

  function leave() {
    finish();
    followers.end(source);
  }

  return {
    pipe: name === 'out' ? place.outPipe : place.errPipe,
    files: [path, combined],
    write(chunk) {
      if (name === 'err') onErrors(place.name, chunk);
      const { passed, refused: above } = limit ? limit.admit(chunk) : { passed: chunk, refused: null };
      if (above && above.length > 0) refused?.add(above, 'the rate limit');
      if (passed.length === 0) return null;
      /** @type {(Promise<void> | null)[]} */
      const waits = [];
      if (format) format.each(passed, nowMs(), (lines) => void waits.push(write(lines), combine(lines)));
      else waits.push(write(passed), combine(whole ? whole.push(passed, nowMs()) : passed));
      lastLines?.push(passed);
      ship(passed);
      return whenAll(...waits, foreground.write(place, name, passed));
    },
    lastLines: () => lastLines?.lines() ?? [],
    refused: () => refused,
    tail: lastLines,
    adopt() {
      const at = files.fileAt(source.path)?.position();
      if (at && !place.isMuted)
        followers.begin(source.path, at, readUnfinishedLine(source.path, place.user, at.offset));
    },
    finish,
    leave,
    end() {
      leave();
      foreground.end(place, name);
    },
    handOver() {
      if (!source.lineFrom) followers.end(source);
      foreground.end(place, name);
    },
  };
}

/**
 * @param {Pick<LogPlace, 'outFile' | 'errorFile' | 'logFile'>} place
 * @returns {boolean}  True: lines are read from the combined file.
 */
export function hasOnlyCombined({ outFile, errorFile, logFile }) {
  return outFile === '' && errorFile === '' && logFile !== '';
}

/**
 * @param {(Promise<void> | null)[]} all
 * @returns {Promise<void> | null}
 */
function whenAll(...all) {
  const waiting = all.filter((one) => one !== null);
  return waiting.length < 2 ? (waiting[0] ?? null) : Promise.all(waiting).then(() => {});
}

const NEWLINE = 0x0a;

/**
 * @typedef {object} RateLimit  Passes whole lines on, up to a number of bytes per second. Cuts a
 *   line if its beginning has passed and the rest is too long. Lines above the limit are lost,
 *   because some users prefer lost lines to a full disk.
 * @property {(chunk: Buffer) => { passed: Buffer, refused: Buffer }} admit
 */

/**
 * @param {number} bytesPerSecond  Also the size of a burst.
 * @param {() => number} nowMono  In ms.
 * @returns {RateLimit}
 */
export function createRateLimit(bytesPerSecond, nowMono) {
  let leftBytes = bytesPerSecond;
  let filledMono = nowMono();
  /**
   * State of the unfinished line at the end of the last chunk. cut: the rest of the line is
   * refused, except the line end.
   * @type {'passed' | 'refused' | 'cut' | null}
   */
  let unfinished = null;

  function fill() {
    const now = nowMono();
    leftBytes = Math.min(bytesPerSecond, leftBytes + ((now - filledMono) / 1000) * bytesPerSecond);
    filledMono = now;
  }

  return {
    admit(chunk) {
      fill();
      // If the beginning of a line has passed, the rest passes too and uses up the bytes of later
      // lines, up to a limit.
      if (unfinished === 'passed' && leftBytes < -bytesPerSecond) unfinished = 'cut';
      const begin = unfinished ? endOfLine(chunk) : 0;
      const was = unfinished;
      if (was === 'passed') leftBytes -= begin;
      const rest = chunk.subarray(begin);
      const end = rest.length <= leftBytes ? rest.length : lastLineWithin(rest, leftBytes);
      leftBytes -= end;
      if (chunk.at(-1) === NEWLINE) unfinished = null;
      else if (rest.length > 0) unfinished = end === rest.length ? 'passed' : 'refused';
      if (was === 'passed') return { passed: chunk.subarray(0, begin + end), refused: rest.subarray(end) };
      if (was === 'cut' && chunk[begin - 1] === NEWLINE)
        return {
          passed: chunk.subarray(begin - 1, begin + end),
          refused: Buffer.concat([chunk.subarray(0, begin - 1), rest.subarray(end)]),
        };
      return {
        passed: rest.subarray(0, end),
        refused: begin === 0 ? rest.subarray(end) : Buffer.concat([chunk.subarray(0, begin), rest.subarray(end)]),
      };
    },
  };
}

/** @param {Buffer} chunk */
function endOfLine(chunk) {
  const at = chunk.indexOf(NEWLINE);
  return at === -1 ? chunk.length : at + 1;
}

/**
 * @param {Buffer} bytes
 * @param {number} maxBytes
 */
function lastLineWithin(bytes, maxBytes) {
  return maxBytes < 1 ? 0 : bytes.lastIndexOf(NEWLINE, Math.floor(maxBytes) - 1) + 1;
}

const MAX_BYTES = 4096;

/**
 * Remembers the end of a stream, for the death record.
 * @typedef {object} LastLines
 * @property {(chunk: Buffer) => void} push  Copies what it keeps.
 * @property {() => string[]} lines  With at most 4 KiB together.
 */

/** @returns {LastLines} */
function createLastLines() {
  let kept = Buffer.alloc(0);
  let isCut = false;
  return {
    push(chunk) {
      isCut ||= kept.length + chunk.length > MAX_BYTES;
      kept =
        chunk.length >= MAX_BYTES
          ? Buffer.from(chunk.subarray(-MAX_BYTES))
          : Buffer.concat([kept.subarray(-(MAX_BYTES - chunk.length)), chunk]);
    },
    lines() {
      const newline = kept.indexOf(NEWLINE);
      // Drops the first line if its beginning was cut off, unless there is only one line.
      const whole = isCut && newline !== -1 && newline < kept.length - 1 ? kept.subarray(newline + 1) : kept;
      const lines = whole.toString('utf8').split(/\r?\n/);
      if (lines.at(-1) === '') lines.pop();
      return lines;
    },
  };
}
