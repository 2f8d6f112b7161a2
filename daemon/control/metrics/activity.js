import { createProcTreeReader, readIoBytes } from '../host/processes.js';
import { isListening } from '../host/socket-holder.js';
import { createPidusageReader } from './pidusage-reader.js';

/**
 * @typedef {object} Activity  Of a process and its descendants.
 * @property {number} cpuMs
 * @property {number} ioBytes
 * @property {boolean} isListening  On a socket that the keeper does not know.
 */

/**
 * On macOS, reads only the CPU time of the process itself.
 * @param {object} [o]
 * @param {ReturnType<typeof createPidusageReader>} [o.readPids]
 * @param {ReturnType<typeof createProcTreeReader> | null} [o.readTrees]
 * @returns {(pid: number, isNode: boolean) => Promise<Activity | null>}  Null: the process cannot be
 *   measured. `isNode`: its agent reports its sockets, and it may hold sockets of the keeper.
 */
export function createActivityReader({
  readPids = createPidusageReader(),
  readTrees = process.platform === 'linux' ? createProcTreeReader() : null,
} = {}) {
  return async (pid, isNode) => {
    const reading = (readTrees?.([pid]) ?? (await readPids([pid]))).get(pid);
    if (!reading) return null;
    const { cpuMs, pids } = reading;
    const ioBytes = readTrees ? pids.reduce((sum, one) => sum + readIoBytes(one), 0) : 0;
    const others = isNode ? pids.filter((one) => one !== pid) : pids;
    return { cpuMs, ioBytes, isListening: readTrees !== null && isListening(others) };
  };
}
