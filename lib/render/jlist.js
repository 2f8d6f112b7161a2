import { basename } from 'node:path';
import { inspect } from 'node:util';
import { setsOwnNumber } from '../app-spec/layers.js';
import { escapeControls, jsonLine } from './text.js';

/** @import { AppSpec } from '../app-spec/types.js' */
/** @import { SlotStatus } from '../shared/wire/protocol.js' */

/**
 * PM2's shape of a process, for scripts that parse `pm2 jlist`.
 * @typedef {object} Pm2Process
 * @property {number} pid
 * @property {string} name
 * @property {number} pm_id
 * @property {{ memory: number, cpu: number }} monit  Bytes and percent.
 * @property {Record<string, unknown>} pm2_env
 */

/**
 * @param {SlotStatus} slot  With detail.
 * @returns {Pm2Process}
 */
export function toPm2(slot) {
  return {
    pid: slot.pid,
    name: slot.name,
    pm_id: slot.id,
    monit: { memory: slot.memoryBytes, cpu: Number(slot.cpu.toFixed(1)) },
    pm2_env: pm2Env(slot),
  };
}

/** @param {{ slots: SlotStatus[] }} data */
export function renderJlist({ slots }) {
  return `${jsonLine(slots.map(toPm2))}\n`;
}

/**
 * Mixes attributes and variables of the app, as PM2 does. If both have the same name, the attribute
 * wins.
 * @param {SlotStatus} slot
 */
function pm2Env(slot) {
  const env = withNumbers(slot.effectiveEnv ?? slot.spec?.env ?? {}, slot.spec?.envUnquoted ?? []);
  return {
    ...env,
    ...identity(slot),
    ...paths(slot),
    ...state(slot),
    ...settings(slot),
    env: { ...env, unique_id: uniqueId(slot.instanceId) },
    axm_actions: slot.axm?.actions ?? [],
    axm_monitor: slot.axm?.monitor ?? {},
    axm_options: slot.axm?.options ?? {},
    axm_dynamic: {},
  };
}

/**
 * As in PM2, the list shows a number or boolean of the config file as a number or boolean. The app
 * itself gets a string.
 * @param {Record<string, string>} env
 * @param {string[]} unquoted  Variables that are not a string in the config file.
 * @returns {Record<string, string | number | boolean>}
 */
function withNumbers(env, unquoted) {
  const given = unquoted.filter((name) => Object.hasOwn(env, name));
  return { ...env, ...Object.fromEntries(given.map((name) => [name, unquote(env[name])])) };
}

/** @param {string} text  Any text, because a secret or nclust may have replaced the given value. */
function unquote(text) {
  if (text === 'true' || text === 'false') return text === 'true';
  return String(Number(text)) === text ? Number(text) : text;
}

/** @param {SlotStatus} slot */
function identity(slot) {
  return {
    name: slot.name,
    namespace: slot.namespace,
    pm_id: slot.id,
    unique_id: uniqueId(slot.instanceId),
    version: slot.version,
    username: slot.user,
    instances: slot.spec?.instances,
    instance_var: slot.spec?.instanceVar,
    ...toNumber(slot),
  };
}

/** @param {SlotStatus} slot */
function toNumber({ spec, slot }) {
  const variable = spec?.instanceVar ?? 'NODE_APP_INSTANCE';
  return spec && setsOwnNumber(spec) ? {} : { [variable]: slot };
}

/** @param {SlotStatus} slot */
function paths(slot) {
  return {
    pm_exec_path: slot.script,
    pm_cwd: slot.cwd,
    cwd: slot.cwd,
    pm_out_log_path: slot.outFile || '/dev/null',
    pm_err_log_path: slot.errorFile || '/dev/null',
    ...(slot.logFile ? { pm_log_path: slot.logFile } : {}),
    ...(slot.pidFile ? { pm_pid_path: slot.pidFile } : {}),
    // Reports the interpreter as the user gave it. If the user gave none, reports only its name,
    // such as "node" or "python3". PM2 does the same. Scripts that read jlist compare this word.
    exec_interpreter: slot.spec?.interpreterGiven ?? (slot.spec?.kind === 'node' ? 'node' : basename(slot.interpreter)),
    exec_mode: `${slot.mode}_mode`,
    node_args: slot.interpreterArgs,
    args: slot.args,
  };
}

/** @param {SlotStatus} slot */
function state(slot) {
  return {
    status: slot.status,
    pm_uptime: slot.startedAtMs ?? slot.createdAtMs,
    created_at: slot.createdAtMs,
    restart_time: slot.restarts,
    unstable_restarts: slot.unstableRestarts,
    ...(slot.lastDeath === null ? {} : { exit_code: slot.lastDeath.code ?? 0 }),
    node_version: slot.nodeVersion?.replace(/^v/, ''),
    vizion_running: false,
    ...(slot.spec?.vizion && slot.spec.versioning ? { versioning: slot.spec.versioning } : {}),
  };
}

/**
 * @param {string | null} instanceId
 * @returns {string}  Without the mark of the home, because `unique_id` is a UUID in PM2.
 */
export function uniqueId(instanceId) {
  return instanceId?.split('.')[0] ?? '';
}

/** @param {SlotStatus} slot */
function settings({ spec, watching, autorestart }) {
  // A manager of an earlier version does not send all fields. The output does not have these.
  return {
    autostart: spec?.autostart ?? true,
    autorestart,
    // As in PM2, false while a stopped app is not watched.
    watch: watching && spec ? watchSetting(spec) : watching,
    vizion: spec?.vizion ?? false,
    ...MEANINGLESS,
    ...(spec && {
      merge_logs: spec.mergeLogs ?? (spec.mode === 'fork' && !spec.instancesGiven),
      // PM2 omits these attributes if the user did not set them.
      ...(spec.logDateFormat ? { log_date_format: spec.logDateFormat } : {}),
      ...(spec.logType === 'json' ? { log_type: spec.logType } : {}),
      ...(spec.disableLogs ? { disable_logs: true } : {}),
      treekill: spec.treekill,
      kill_timeout: spec.killTimeoutMs,
      wait_ready: spec.waitReady,
      listen_timeout: spec.listenTimeoutMs,
      min_uptime: spec.minUptimeMs,
      max_restarts: spec.maxRestarts,
      restart_delay: spec.restartDelayMs,
      exp_backoff_restart_delay: spec.backoffMs ?? (spec.restartDelayMs > 0 ? 0 : 100),
      stop_exit_codes: spec.stopExitCodes,
      ...(spec.ignoreWatch?.length > 0 ? { ignore_watch: spec.ignoreWatch } : {}),
      ...(spec.watchDelayMs > 0 ? { watch_delay: spec.watchDelayMs } : {}),
      ...(spec.cronRestart === null ? {} : { cron_restart: spec.cronRestart }),
      ...(spec.maxMemoryBytes > 0 ? { max_memory_restart: spec.maxMemoryBytes } : {}),
      ...(spec.shutdownWithMessage ? { shutdown_with_message: true } : {}),
      ...(spec.incrementVar === null ? {} : { increment_var: spec.incrementVar }),
      ...(spec.filterEnv === false ? {} : { filter_env: spec.filterEnv }),
      uid: spec.uid ?? undefined,
      gid: spec.gid ?? undefined,
    }),
  };
}

/** PM2 lists these attributes. They have no effect in nclust. */
const MEANINGLESS = { pmx: false, automation: false, km_link: false, windowsHide: true, kill_retry_time: 100 };

/** @param {AppSpec} spec  `watch` is ["."] if the user set it to true. */
function watchSetting({ watch }) {
  return watch.length === 1 && watch[0] === '.' ? true : watch;
}

/**
 * As in PM2, the text is not JSON.
 * @param {{ slots: SlotStatus[] }} data
 */
export function renderPrettylist({ slots }) {
  const options = { depth: null, maxArrayLength: null, maxStringLength: null, breakLength: 120 };
  return `${escapeControls(inspect(slots.map(toPm2), options))}\n`;
}
