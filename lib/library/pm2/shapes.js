import { toPm2 } from '../../render/jlist.js';

/** @typedef {import('../../shared/wire/protocol.js').SlotStatus} SlotStatus */
/** @typedef {import('../../shared/wire/protocol.js').ProcessInEvent} ProcessInEvent */

/**
 * What PM2's calls return of a process: its two shapes, that of a list and that of a change, in one.
 * @param {SlotStatus} slot  With details.
 */
export function toWorker(slot) {
  const { namespace, status, restarts, pid } = slot;
  return { ...toPm2(slot), namespace, status, restart_time: restarts, process: { pid } };
}

/**
 * The process of an event, with the fields of pm2_env that it has.
 * @param {ProcessInEvent} process
 */
export function toPm2Env({ id, name, namespace, slot, instanceId, status, startedAtMs, createdAtMs, restarts, mode, version, exitCode, signal, pid, generation }) {
  return {
    name,
    namespace,
    pm_id: id,
    pid,
    NODE_APP_INSTANCE: slot,
    unique_id: instanceId ?? '',
    status,
    pm_uptime: startedAtMs ?? createdAtMs,
    created_at: createdAtMs,
    restart_time: restarts,
    ...(mode === null ? {} : { exec_mode: `${mode}_mode` }),
    version,
    generation,
    ...(exitCode === null && signal === null ? {} : { exit_code: exitCode ?? 0, exit_signal: signal }),
  };
}
