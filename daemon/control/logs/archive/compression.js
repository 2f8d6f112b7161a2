import { createReadStream, renameSync, rmSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import * as zlib from 'node:zlib';
import { NclustError } from '../../../../lib/shared/errors.js';
import { SUFFIX, UNFINISHED } from './segments.js';

/** @import { FileHandle } from 'node:fs/promises' */
/** @import { Transform } from 'node:stream' */
/** @import { Compression } from './segments.js' */

const CHUNK_BYTES = 64 * 1024;

/**
 * Level 1 makes 5.6 of 1 and takes 9 ms of CPU per MB; level 6, 6.6 and 14 to 20. With this window
 * it needs 128 KiB of memory.
 */
const GZIP = { level: 1, windowBits: 14, memLevel: 7, chunkSize: CHUNK_BYTES };

/** Level 1: 12 of 1, and 3.5 ms per MB. */
const ZSTD_LEVEL = 1;

/** Node has it from 22.15 and 23.8. @type {() => Transform} */
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
 * Throws ERR_NCLUST_BAD_SETTING when the Node.js of the manager does not have this kind of
 * compression.
 * @param {string} kind
 */
export function checkCompression(kind) {
  if (canCompress(kind)) return;
  throw new NclustError(
    'ERR_NCLUST_BAD_SETTING',
    `Logs cannot be compressed with ${kind}: the manager runs on Node.js ${process.versions.node}, which ` +
      `does not have it.`,
    {
      hint: 'Take gzip, or run the manager with Node.js 22.15 or later.',
      data: { accepted: ['gzip', 'none'] },
    },
  );
}

/**
 * Replaces a segment by its compressed form. At every instant there is a whole one.
 * @param {string} plainPath
 * @param {Compression} kind
 * @param {object} o
 * @param {AbortSignal} o.signal
 * @param {() => Promise<void>} o.pause  Between two chunks: what serves comes first.
 * @returns {Promise<{ path: string, sizeBytes: number }>}  Rejects with what the file system says,
 *   or when it is aborted; the plain one is as it was then.
 */
export async function compressSegment(plainPath, kind, { signal, pause }) {
  const path = plainPath + SUFFIX[kind];
  const unfinished = path + UNFINISHED;
  try {
    const { mode, uid, gid, atime, mtime } = await stat(plainPath);
    const file = await open(unfinished, 'w', mode & 0o777);
    try {
      await pipeline(
        createReadStream(plainPath, { highWaterMark: CHUNK_BYTES }),
        pacedBy(pause),
        COMPRESSORS[kind](),
        into(file),
        { signal },
      );
      if (process.getuid?.() === 0) await file.chown(uid, gid);
      // When a line was written is in the times of its file, and for want of those in this.
      await file.utimes(atime, mtime);
      await file.sync();
    } finally {
      await file.close();
    }
    const { size } = await stat(unfinished);
    signal.throwIfAborted();
    // In one turn: nobody here sees it twice or not at all.
    renameSync(unfinished, path);
    rmSync(plainPath, { force: true });
    return { path, sizeBytes: size };
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
}

/** @param {() => Promise<void>} pause */
function pacedBy(pause) {
  return async function* (/** @type {AsyncIterable<Buffer>} */ chunks) {
    for await (const chunk of chunks) {
      yield chunk;
      await pause();
    }
  };
}

/**
 * Not a stream over the file: its end is waited for with the file closed, and there is more to do
 * to it.
 * @param {FileHandle} file
 */
function into(file) {
  return async (/** @type {AsyncIterable<Buffer>} */ chunks) => {
    for await (const chunk of chunks) await file.writeFile(chunk);
  };
}
