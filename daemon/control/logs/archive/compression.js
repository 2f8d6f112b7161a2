import { closeSync, constants, createReadStream, fchownSync, fstatSync, fsync, futimes, write } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { NclustError } from '../../../../lib/shared/errors.js';
import { openAsUser, removeAsUser, renameAsUser } from '../../../../lib/shared/host/as-user.js';
import { SUFFIX, UNFINISHED } from './segments.js';

/** @import { Transform } from 'node:stream' */
/** @import { User } from '../../../../lib/shared/host/user-path.js' */
/** @import { Compression } from './segments.js' */

const [put, sync, setTimes] = [promisify(write), promisify(fsync), promisify(futimes)];

const CHUNK_BYTES = 64 * 1024;

const READING = constants.O_RDONLY | constants.O_NONBLOCK;
const MAKING = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * Level 1 compresses 5.6 to 1 and takes 9 ms of CPU per MB. Level 6 compresses 6.6 to 1 and takes
 * 14 to 20 ms. With this window, a compression needs 128 KiB of memory.
 */
const GZIP = { level: 1, windowBits: 14, memLevel: 7, chunkSize: CHUNK_BYTES };

/** Level 1 compresses 12 to 1 and takes 3.5 ms of CPU per MB. */
const ZSTD_LEVEL = 1;

/** Node.js has zstd since 22.15 and 23.8. @type {() => Transform} */
const createZstd =
  /** @type {any} */ (zlib).createZstdCompress &&
  (() => {
    const { createZstdCompress, constants } = /** @type {any} */ (zlib);
    return createZstdCompress({ chunkSize: CHUNK_BYTES, params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } });
  });

/** @type {Record<Compression, () => Transform>} */
const COMPRESSORS = { gzip: () => zlib.createGzip(GZIP), zstd: createZstd };

/** @param {string} kind */
export function canCompress(kind) {
  return kind === 'none' || Boolean(COMPRESSORS[/** @type {Compression} */ (kind)]);
}

/**
 * Throws ERR_NCLUST_BAD_SETTING if the Node.js of the manager does not support this compression.
 * @param {string} kind
 */
export function checkCompression(kind) {
  if (canCompress(kind)) return;
  throw new NclustError(
    'ERR_NCLUST_BAD_SETTING',
    `Logs cannot be compressed with ${kind}: the manager runs on Node.js ${process.versions.node}, which ` +
      `does not support it.`,
    {
      hint: 'Use gzip, or run the manager with Node.js 22.15 or later.',
      data: { accepted: ['gzip', 'none'] },
    },
  );
}

/**
 * Compresses a segment. At every moment a whole segment exists, plain or compressed.
 * @param {string} plainPath
 * @param {Compression} kind
 * @param {object} o
 * @param {User | null} o.user
 * @param {AbortSignal} o.signal
 * @param {() => Promise<void>} o.pause  Awaited after each chunk, because other work comes first.
 * @returns {Promise<{ path: string, sizeBytes: number }>}
 *   The compressed segment. Rejects with errors of the file system, or after an abort. In both
 *   cases the plain segment stays.
 */
export async function compressSegment(plainPath, kind, { user, signal, pause }) {
  const path = plainPath + SUFFIX[kind];
  const unfinished = path + UNFINISHED;
  const from = openAsUser(user, plainPath, READING);
  const source = createReadStream('', { fd: from, highWaterMark: CHUNK_BYTES });
  try {
    const { mode, uid, gid, atime, mtime } = fstatSync(from);
    // Removes an unfinished file that a dead control or the app has left.
    removeAsUser(user, unfinished);
    const to = openAsUser(user, unfinished, MAKING, mode & 0o777);
    try {
      await pipeline(source, createPacer(pause), COMPRESSORS[kind](), into(to), { signal });
      if (user === null && process.getuid?.() === 0) fchownSync(to, uid, gid);
      // Keeps the times of the segment, as gzip(1) does.
      await setTimes(to, atime, mtime);
      await sync(to);
      signal.throwIfAborted();
      // Renames and removes in one turn, so that a reader sees the segment exactly once.
      const { size } = fstatSync(to);
      renameAsUser(user, unfinished, path);
      removeAsUser(user, plainPath);
      return { path, sizeBytes: size };
    } finally {
      closeSync(to);
    }
  } catch (error) {
    source.destroy();
    removeAsUser(user, unfinished);
    throw error;
  }
}

/** @param {() => Promise<void>} pause */
function createPacer(pause) {
  return async function* (/** @type {AsyncIterable<Buffer>} */ chunks) {
    for await (const chunk of chunks) {
      yield chunk;
      await pause();
    }
  };
}

/**
 * Returns a function that writes chunks to `fd`. A write stream is not used, because it would close
 * the file at its end.
 * @param {number} fd
 */
function into(fd) {
  return async (/** @type {AsyncIterable<Buffer>} */ chunks) => {
    for await (const chunk of chunks)
      for (let at = 0; at < chunk.length;) at += (await put(fd, chunk, at, chunk.length - at)).bytesWritten;
  };
}
