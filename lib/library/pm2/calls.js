import { toPm2, uniqueId } from '../../render/jlist.js';
import { toNclustError, NclustError } from '../../shared/errors.js';

/** @import { ErrorCode } from '../../shared/errors.js' */
/** @import { ProcessInEvent, SlotStatus } from '../../shared/wire/protocol.js' */
/** @import { Nclust } from '../nclust.js' */

/** @typedef {(nclust: Nclust, ...args: any[]) => Promise<any>} Call */

const DONE = { success: true };

/**
 * Arguments of start() that have another name in a config file.
 * @type {Record<string, string>}
 */
const WORDS = { scriptArgs: 'args' };

/** The calls of PM2, without callbacks. @type {Record<string, Call>} */
export const CALLS = {
  async start(nclust, what, o) {
    const target = typeof what === 'number' ? String(what) : what;
    const isListed = typeof target === 'string' && (await nclust.isListed(target));
    return listChanged(
      nclust,
      isListed && Object.keys(o ?? {}).length > 0
        ? nclust.restart(target, splitOptions(o))
        : nclust.start(target, renameOptions(o)),
    );
  },
  restart: (nclust, what, o) => listChanged(nclust, nclust.restart(what, splitOptions(o))),
  reload: (nclust, what, o) => listChanged(nclust, nclust.reload(what, splitOptions(o))),
  gracefulReload: (nclust, what, o) => listChanged(nclust, nclust.reload(what, splitOptions(o))),
  stop: (nclust, what) => listChanged(nclust, nclust.stop(what)),

  async delete(nclust, what) {
    const before = await detailed(nclust);
    const gone = new Set((await nclust.delete(what)).map(({ id }) => id));
    return before
      .filter(({ id }) => gone.has(id))
      .map((slot) => toWorker({ ...slot, status: 'stopped', pid: 0, cpu: 0, memoryBytes: 0 }));
  },

  list: async (nclust) => (await detailed(nclust)).map(toWorker),
  jlist: async (nclust) => (await detailed(nclust)).map(toWorker),

  async describe(nclust, what) {
    const slots = await detailed(nclust);
    const byName = slots.filter(({ name, namespace }) => name === String(what) || namespace === String(what));
    return (byName.length > 0 ? byName : slots.filter(({ id }) => String(id) === String(what))).map(toWorker);
  },

  scale: (nclust, name, instances) => answer(nclust.scale(name, instances)),
  reset: (nclust, what) => answer(nclust.reset(what)),
  dump: (nclust, force) => answer(nclust.save({ force: force === true })),
  clearDump: (nclust) => answer(nclust.request('save', { isEmpty: true, force: true })),
  resurrect: (nclust) => listChanged(nclust, nclust.resurrect()),

  async flush(nclust, what) {
    await nclust.flush(what ?? undefined);
    return CALLS.list(nclust);
  },

  reloadLogs: (nclust) => answer(nclust.reloadLogs(), {}),

  async sendDataToProcessId(nclust, first, second) {
    const packet = typeof first === 'object' && first !== null ? first : { ...second, id: first };
    if (packet.id === undefined || packet.topic === undefined || packet.data === undefined)
      throw new NclustError('ERR_NCLUST_USAGE', 'ID, DATA or TOPIC field is missing');
    const known = (await nclust.list()).some(({ id }) => String(id) === String(packet.id));
    if (!known) throw new NclustError('ERR_NCLUST_APP_NOT_FOUND', `Process with ID <${packet.id}> unknown.`);
    await nclust.sendMessage(String(packet.id), packet);
    return { ...DONE, data: packet };
  },

  async msgProcess(nclust, { id, name, msg, ...more }) {
    const slots = await nclust.sendMessage(id ?? name, Object.keys(more).length > 0 ? { msg, ...more } : msg);
    return { process_count: slots.length, ...DONE };
  },

  async trigger(nclust, target, action, params) {
    const slots = new Map((await nclust.list()).map((slot) => [slot.id, slot]));
    const replies = await nclust.trigger(target, action, params);
    if (!replies.some(({ outcome }) => outcome === 'replied'))
      throw new NclustError('ERR_NCLUST_NO_ACTION', `Action doesn't exist ${action} for ${target}`, {
        data: { replies },
      });
    return replies
      .filter(({ outcome }) => outcome === 'replied')
      .map(({ id, name, reply }) => ({
        at: Date.now(),
        data: { return: reply, action_name: action },
        process: { pm_id: id, name, namespace: slots.get(id)?.namespace ?? 'default' },
      }));
  },

  async sendLineToStdin(nclust, id, line, separator = '\n') {
    const input = `${line}${separator}`;
    return answer(nclust.request('sendInput', { target: String(id), input }), { pm_id: id, line: input });
  },

  sendSignalToProcessName: (nclust, signal, name) => listChanged(nclust, nclust.signal(name, signal)),
  sendSignalToProcessId: (nclust, signal, id) => listChanged(nclust, nclust.signal(id, signal)),
  getPID: async (nclust, name) =>
    (await CALLS.list(nclust))
      .filter((/** @type {any} */ one) => name === undefined || one.name === name)
      .map((/** @type {any} */ one) => one.pid),
  getProcessIdByName: async (nclust, name) =>
    (await nclust.list()).filter((slot) => slot.name === name).map(({ id }) => id),
  getVersion: async (nclust) => (await nclust.hello()).version,
  env: (nclust, id) => nclust.env(id),

  ping: (nclust) => answer(nclust.ping(), { msg: 'pong' }),
  update: (nclust) => answer(nclust.update()),
  inspect: (nclust, what) => nclust.inspect(what),

  serve: (nclust, path = '.', port = 8080, o = {}) =>
    listChanged(nclust, nclust.start({ static: [{ path: String(path), port: Number(port), ...renameOptions(o) }] })),
};

/**
 * @param {Promise<unknown>} work
 * @param {object} [result]
 */
async function answer(work, result = DONE) {
  await work;
  return result;
}

/**
 * @param {Nclust} nclust
 * @param {Promise<SlotStatus[]>} change
 */
async function listChanged(nclust, change) {
  const ids = new Set((await change).map(({ id }) => id));
  return (await detailed(nclust)).filter(({ id }) => ids.has(id)).map(toWorker);
}

/**
 * @param {Nclust} nclust
 * @returns {Promise<SlotStatus[]>}
 */
async function detailed(nclust) {
  return (await nclust.request('list', { detail: true })).slots;
}

/** @param {Record<string, unknown> | null} [o] */
function renameOptions(o) {
  return Object.fromEntries(Object.entries(o ?? {}).map(([key, value]) => [WORDS[key] ?? key, value]));
}

/**
 * As in PM2, options of restart() and reload() are settings of the app, beside a few others.
 * @param {Record<string, any> | null} [o]
 */
function splitOptions(o) {
  const { updateEnv, only, env, ...others } = renameOptions(o);
  return {
    ...(updateEnv ? { updateEnv: true } : {}),
    ...(typeof env === 'string' ? { env } : {}),
    ...(typeof only === 'string' ? { only } : {}),
    settings: { ...others, ...(typeof env === 'object' ? { env } : {}) },
  };
}

/**
 * PM2 describes a process in two shapes: for a list and for a change. The result has the
 * fields of both shapes.
 * @param {SlotStatus} slot  With details.
 */
function toWorker(slot) {
  const { namespace, status, restarts, pid } = slot;
  return { ...toPm2(slot), namespace, status, restart_time: restarts, process: { pid } };
}

/** @param {ProcessInEvent} process */
export function toPm2Env({ id, name, namespace, pid, slot, instanceId, status, version, generation, ...more }) {
  const { startedAtMs, createdAtMs, restarts, mode, exitCode, signal } = more;
  return {
    name,
    namespace,
    pm_id: id,
    pid,
    NODE_APP_INSTANCE: slot,
    unique_id: uniqueId(instanceId),
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

/** The same texts as in PM2, because programs compare these texts. */
const NOT_FOUND = 'process or namespace not found';
const NOTHING_THERE = 'process name not found';

/** @type {Record<string, string>} */
const NOT_FOUND_BY = {
  scale: 'App not found',
  sendSignalToProcessName: 'Unknown process name',
  sendSignalToProcessId: 'Unknown process id',
  reset: 'Unknown process name',
  trigger: 'Unknown process',
  msgProcess: 'Unknown process',
};

/**
 * @param {unknown} thrown
 * @param {string} method
 * @param {unknown} what  The first argument of the call.
 * @returns {NclustError}
 */
export function toPm2Error(thrown, method, what) {
  const error = toNclustError(thrown);
  if (method === 'sendDataToProcessId') return error;
  if (error.code === 'ERR_NCLUST_APP_NOT_FOUND')
    return reworded(error, NOT_FOUND_BY[method] ?? (what === 'all' ? NOTHING_THERE : NOT_FOUND));
  if (error.code === 'ERR_NCLUST_APP_EXISTS') return reworded(error, 'Script already launched');
  return error;
}

/**
 * @param {NclustError} error
 * @param {string} message
 */
function reworded(error, message) {
  const { code, hint, data } = error;
  return new NclustError(/** @type {ErrorCode} */ (code), message, { hint: hint ?? error.message, data, cause: error });
}
