import { createProcTreeReader, readIoBytes, readProcTable } from '../host/processes.js';
import { isListening } from '../host/socket-holder.js';
import { createPidusageReader } from './pidusage-reader.js';

/** @import { Activity } from '../state/registry.js' */

/** Apps that start together are looked at together. So all looks of this time share one table. */
const TABLE_MS = 100;

/**
 * A tree whose descendants are missing seems to be idle, so each look has a table.
 * @param {() => ReturnType<typeof readProcTable>} [readTable]
 * @param {() => number} [nowMono]
 */
export function createSharedTreeReader(readTable = readProcTable, nowMono = () => performance.now()) {
  let last = { atMono: -Infinity, table: /** @type {ReturnType<typeof readProcTable>} */ ([]) };
  const readShared = () => {
    if (nowMono() - last.atMono >= TABLE_MS) last = { atMono: nowMono(), table: readTable() };
    return last.table;
  };
  return createProcTreeReader({ readTable: readShared, scanShare: Infinity });
}

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
  readTrees = process.platform === 'linux' ? createSharedTreeReader() : null,
} = {}) {
  return async (pid, isNode) => {
    const reading = (readTrees?.([pid]) ?? (await readPids([pid]))).get(pid);
    if (!reading) return null;
    const { cpuMs, rows } = reading;
    const pids = rows.map((row) => row.pid);
    const ioBytes = readTrees ? pids.reduce((sum, one) => sum + readIoBytes(one), 0) : 0;
    const others = isNode ? pids.filter((one) => one !== pid) : pids;
    return { cpuMs, ioBytes, isListening: readTrees !== null && isListening(others) };
  };
}
