import { randomUUID } from 'node:crypto';
import { closeSync, fchownSync, openSync, readSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { explainUnwritable } from '../cli/session/user-file.js';
import { NclustError } from '../shared/errors.js';

const CHUNK_BYTES = 1024 * 1024;

/**
 * @typedef {object} Output
 * @property {string} file
 * @property {string} writable  The file that the process writes. A temporary file if the process
 *   belongs to another user.
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
  create(file);
  const between = explainUnwritable(file, () => orRemove(file, () => betweenUsers(pid)));
  let isOpen = true;
  const end = () => {
    isOpen = false;
    between?.close();
  };
  return {
    file,
    writable: between?.path ?? file,
    keep() {
      if (between) explainUnwritable(file, () => between.copyTo(file));
      end();
      return statSync(file).size;
    },
    discard() {
      if (!isOpen) return;
      end();
      rmSync(file, { force: true });
    },
  };
}

/** @param {string} file */
function create(file) {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (cause) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (cause);
    if (code === 'ENOENT')
      throw new NclustError('ERR_NCLUST_FILE_UNWRITABLE', `The folder "${dirname(file)}" does not exist.`, {
        hint: 'Create it, or give another file with --output.',
        data: { file },
      });
    if (code === 'EEXIST')
      throw new NclustError('ERR_NCLUST_FILE_UNWRITABLE', `"${file}" already exists, and is not overwritten.`, {
        hint: 'Move it away, or give another name with --output.',
        data: { file },
      });
    explainUnwritable(file, () => {
      throw cause;
    });
  }
}

/**
 * On Linux, if the process belongs to another user, creates a temporary file, because that user may
 * not be able to write to the folder. Otherwise returns null. nclust keeps the temporary file
 * open. If that user replaces the file, nclust still reads the original.
 * @param {number} pid
 */
function betweenUsers(pid) {
  if (process.platform !== 'linux') return null;
  const { uid, gid } = statSync(`/proc/${pid}`);
  if (uid === process.getuid?.()) return null;
  const path = join(tmpdir(), `nclust-${randomUUID()}`);
  const fd = openSync(path, 'wx+', 0o600);
  const close = () => {
    closeSync(fd);
    rmSync(path, { force: true });
  };
  try {
    fchownSync(fd, uid, gid);
  } catch (error) {
    close();
    throw error;
  }
  return { path, close, copyTo: (/** @type {string} */ file) => copy(fd, file) };
}

/**
 * @param {number} from
 * @param {string} file
 */
function copy(from, file) {
  const to = openSync(file, 'r+');
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    for (let at = 0, read = 0; (read = readSync(from, chunk, 0, chunk.length, at)) > 0; at += read) {
      for (let written = 0; written < read;) written += writeSync(to, chunk, written, read - written);
    }
  } finally {
    closeSync(to);
  }
}

/**
 * @template T
 * @param {string} file
 * @param {() => T} make
 */
function orRemove(file, make) {
  try {
    return make();
  } catch (error) {
    rmSync(file, { force: true });
    throw error;
  }
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
