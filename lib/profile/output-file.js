import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { explainUnwritable } from '../cli/session/user-file.js';
import { findHomeFault } from '../shared/daemon/home-folders.js';
import { NclustError } from '../shared/errors.js';

/** @import { Stats } from 'node:fs' */

const CHUNK_BYTES = 1024 * 1024;
const BLOCK_BYTES = 512;

/** A file system that compresses stores a profile in at least this share of its length. */
const STORED_SHARE_MIN = 1 / 100;

/**
 * The user of an app may exchange the names in its folder at any time. So this opens `file` once
 * and then uses only descriptors: of the file, and of the folder that it was created in.
 * @typedef {object} Output
 * @property {string} file
 * @property {string} writable  The file that the process writes. A temporary file if the process
 *   belongs to another user, or if another user can change the folder of `file`.
 * @property {(text: string) => void} write  Writes `file` in place of the process.
 * @property {() => number} keep  Completes `file`. Returns the size of `file` in bytes.
 * @property {() => void} discard  Removes the file unless it was kept. Idempotent.
 */

/**
 * Creates a file that only its owner can read, because a heap contains secrets. Fails if the file
 * already exists.
 * @param {string} file  Absolute.
 * @param {number} pid
 * @returns {Output}
 */
export function createOutput(file, pid) {
  const made = create(file);
  /** @type {ReturnType<typeof betweenUsers>} */
  let between = null;
  let isWritten = false;
  let isOpen = true;
  const end = (isKept = false) => {
    if (!isOpen) return;
    isOpen = false;
    try {
      between?.close();
      if (!isKept) made.remove();
    } finally {
      made.close();
    }
  };
  try {
    between = explainUnwritable(file, () => betweenUsers(file, pid));
  } catch (error) {
    end();
    throw error;
  }
  return {
    file,
    writable: between?.path ?? file,
    write(text) {
      explainUnwritable(file, () => writeFileSync(made.fd, text));
      isWritten = true;
    },
    keep() {
      if (between && !isWritten) copy(between.fd, made.fd, file);
      assertInPlace(made.fd, file);
      const { size } = fstatSync(made.fd);
      end(true);
      return size;
    },
    discard: () => end(),
  };
}

/** @param {string} file */
function create(file) {
  /** @type {number | null} */
  let folder = null;
  try {
    folder = process.platform === 'linux' ? openSync(dirname(file), FOLDER) : null;
    const path = folder === null ? file : `/proc/self/fd/${folder}/${basename(file)}`;
    const fd = openSync(path, 'wx', 0o600);
    return {
      fd,
      remove: () => removeIfSame(path, fd),
      close() {
        closeSync(fd);
        if (folder !== null) closeSync(folder);
      },
    };
  } catch (cause) {
    if (folder !== null) closeSync(folder);
    throw explainNoFile(file, cause);
  }
}

/** O_PATH needs no permission to read the folder. */
const FOLDER = 0o10000000 | constants.O_DIRECTORY;

/**
 * @param {string} file
 * @param {unknown} cause
 */
function explainNoFile(file, cause) {
  const { code } = /** @type {NodeJS.ErrnoException} */ (cause);
  if (code === 'ENOENT')
    return new NclustError('ERR_NCLUST_FILE_UNWRITABLE', `The folder "${dirname(file)}" does not exist.`, {
      hint: 'Create it, or give another file with --output.',
      data: { file },
    });
  if (code === 'EEXIST')
    return new NclustError('ERR_NCLUST_FILE_UNWRITABLE', `"${file}" already exists, and is not overwritten.`, {
      hint: 'Move it away, or give another name with --output.',
      data: { file },
    });
  return explainUnwritable(file, () => {
    throw cause;
  });
}

/**
 * Creates a temporary file if the process of another user may not be able to write to the folder,
 * or if another user can exchange `file` before the process opens it. Otherwise returns null.
 * @param {string} file
 * @param {number} pid
 */
function betweenUsers(file, pid) {
  const own = process.geteuid?.() ?? 0;
  // Other systems do not show the user of a process in this way.
  const { uid, gid } = process.platform === 'linux' ? statSync(`/proc/${pid}`) : { uid: own, gid: 0 };
  if (uid === own && findHomeFault(dirname(file)) === null) return null;
  const path = join(tmpdir(), `nclust-${randomUUID()}`);
  const fd = openSync(path, 'wx+', 0o600);
  const close = () => {
    try {
      removeIfSame(path, fd);
    } finally {
      closeSync(fd);
    }
  };
  try {
    if (uid !== own) fchownSync(fd, uid, gid);
  } catch (error) {
    close();
    throw error;
  }
  return { path, fd, close };
}

/**
 * Removes nothing if the user of the app has put another file in place.
 * @param {string} path
 * @param {number} fd
 */
function removeIfSame(path, fd) {
  if (isSame(lstatSync(path, { throwIfNoEntry: false }), fd)) unlinkSync(path);
}

/**
 * @param {Stats | undefined} found
 * @param {number} fd
 */
function isSame(found, fd) {
  const { dev, ino } = fstatSync(fd);
  return found?.dev === dev && found.ino === ino;
}

/**
 * @param {number} fd
 * @param {string} file
 */
function assertInPlace(fd, file) {
  if (isSame(lstatSync(file, { throwIfNoEntry: false }), fd)) return;
  throw new NclustError('ERR_NCLUST_FILE_UNWRITABLE', `Another program has removed or replaced "${file}".`, {
    hint: 'Use --output, with a folder that only you can change.',
    data: { file },
  });
}

/**
 * @param {number} from
 * @param {number} to
 * @param {string} file  For messages.
 */
function copy(from, to, file) {
  // The process may still write. So this copies only what the file has now.
  const { size, blocks } = fstatSync(from);
  if (blocks * BLOCK_BYTES < size * STORED_SHARE_MIN)
    throw new NclustError(
      'ERR_NCLUST_FILE_UNWRITABLE',
      `"${file}" was not written, because the file of the process is almost empty, but claims ${size} bytes.`,
      { hint: 'nclust list', data: { file } },
    );
  explainUnwritable(file, () => {
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size));
    for (let at = 0, read = 0; at < size; at += read) {
      read = readSync(from, chunk, 0, Math.min(chunk.length, size - at), at);
      if (read === 0) return;
      for (let written = 0; written < read;) written += writeSync(to, chunk, written, read - written);
    }
  });
}

/**
 * @typedef {object} Kind
 * @property {'cpu' | 'heap' | 'heap-sampling'} word  Name in the protocol of the manager.
 * @property {string} ending  File extension that Chrome recognizes.
 * @property {'Profiler' | 'HeapProfiler' | ''} domain
 * @property {string} start  Empty: a snapshot, without a duration.
 * @property {string} stop
 * @property {string} panel  The panel of Chrome DevTools that opens the file.
 */

/** @type {Record<'cpu' | 'heap' | 'heapSampling', Kind>} */
export const KINDS = {
  cpu: { word: 'cpu', ending: 'cpuprofile', domain: 'Profiler', start: 'start', stop: 'stop', panel: 'Performance' },
  heap: { word: 'heap', ending: 'heapsnapshot', domain: '', start: '', stop: '', panel: 'Memory' },
  heapSampling: {
    word: 'heap-sampling',
    ending: 'heapprofile',
    domain: 'HeapProfiler',
    start: 'startSampling',
    stop: 'stopSampling',
    panel: 'Memory',
  },
};
