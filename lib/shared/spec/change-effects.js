/** @import { AppSpec } from './spec.js' */

/**
 * @typedef {'nothing' | 'live' | 'along' | 'scale' | 'rollout' | 'replace'} Needs  The effect of a
 *   changed field on a running app. If several fields change, the effect that is last in this order
 *   applies. nothing: the field only describes the app. live: the change needs no new process.
 *   along: the change waits for the next rollout. rollout: new instances replace the old instances
 *   without losing a request. replace: the old instances exit and their sockets close before new
 *   instances start.
 */

/**
 * @typedef {object} NeedsRow
 * @property {Needs} needs
 * @property {string} attribute  The name in a config file.
 * @property {boolean} [isDerived]  nclust derives the field from other fields.
 */

/** @type {Record<string, NeedsRow>} */
export const SPEC_NEEDS = {
  name: row('nothing', 'name'),
  namespace: row('nothing', 'namespace'),
  kind: derived('replace', 'kind'),
  mode: row('replace', 'exec_mode'),
  instances: row('scale', 'instances'),
  instancesGiven: derived('live', 'instances'),
  file: derived('rollout', 'interpreter'),
  script: row('rollout', 'script'),
  interpreter: row('rollout', 'interpreter'),
  interpreterGiven: derived('nothing', 'interpreter'),
  interpreterArgs: row('rollout', 'node_args'),
  args: row('rollout', 'args'),
  execArgs: derived('rollout', 'args'),
  cwd: row('rollout', 'cwd'),
  env: row('rollout', 'env'),
  shellEnv: row('along', 'shell'),
  uid: row('rollout', 'uid'),
  gid: row('rollout', 'gid'),
  user: derived('nothing', 'username'),
  autorestart: row('live', 'autorestart'),
  maxRestarts: row('live', 'max_restarts'),
  restartDelayMs: row('live', 'restart_delay'),
  backoffMs: row('live', 'exp_backoff_restart_delay'),
  minUptimeMs: row('live', 'min_uptime'),
  stopExitCodes: row('live', 'stop_exit_codes'),
  killTimeoutMs: row('live', 'kill_timeout'),
  stopSignal: row('live', 'stop_signal'),
  // Not live: a running app may never have sent "ready", and would suddenly count as not ready.
  waitReady: row('rollout', 'wait_ready'),
  listenTimeoutMs: row('live', 'listen_timeout'),
  treekill: row('live', 'treekill'),
  instanceVar: row('rollout', 'instance_var'),
  version: derived('along', 'version'),
  nodeVersion: derived('along', 'node_version'),
  // All workers of an app must use the same value, and a worker gets the value at its start.
  scheduling: row('rollout', 'scheduling'),
  maxSurge: row('live', 'max_surge'),
  maxUnavailable: row('live', 'max_unavailable'),
  rollbackWindowMs: row('live', 'rollback_window'),
  shutdownWithMessage: row('live', 'shutdown_with_message'),
  metrics: row('rollout', 'metrics'),
  interpreterEnv: derived('rollout', 'interpreter'),
  ownerEnv: derived('rollout', 'user'),
  envFiles: row('rollout', 'env_file'),
  fileEnv: row('rollout', 'env_file'),
  secrets: row('rollout', 'secrets'),
  incrementVar: row('rollout', 'increment_var'),
  filterEnv: row('rollout', 'filter_env'),
  envUnquoted: derived('nothing', 'env'),
  envName: row('nothing', 'env_name'),
  outFile: row('live', 'out_file'),
  errorFile: row('live', 'error_file'),
  logFile: row('live', 'log_file'),
  mergeLogs: row('live', 'merge_logs'),
  logType: row('live', 'log_type'),
  logDateFormat: row('live', 'log_date_format'),
  disableLogs: row('live', 'disable_logs'),
  logShip: row('live', 'log_ship'),
  logOverflow: row('live', 'log_overflow'),
  logRateLimitBytes: row('live', 'log_rate_limit'),
  logMaxSizeBytes: row('live', 'log_max_size'),
  logInterval: row('live', 'log_interval'),
  logMaxFiles: row('live', 'log_max_files'),
  logMaxAgeMs: row('live', 'log_max_age'),
  logMaxTotalBytes: row('live', 'log_max_total'),
  logCompress: row('live', 'log_compress'),
  watch: row('live', 'watch'),
  watchOff: row('live', 'watch'),
  ignoreWatch: row('live', 'ignore_watch'),
  watchExtensions: row('live', 'ext'),
  watchDelayMs: row('live', 'watch_delay'),
  watchOptions: row('live', 'watch_options'),
  cronRestart: row('live', 'cron_restart'),
  maxMemoryBytes: row('live', 'max_memory_restart'),
  autostart: row('live', 'autostart'),
  pidFile: row('live', 'pid_file'),
  vizion: row('nothing', 'vizion'),
  versioning: derived('along', 'vizion'),
};

const LIVE = Object.keys(SPEC_NEEDS).filter((field) => ['nothing', 'live'].includes(SPEC_NEEDS[field].needs));

/**
 * Returns a copy of `spec`, with all fields from `wanted` whose effect is 'nothing' or 'live'.
 * @param {AppSpec} spec
 * @param {AppSpec} wanted
 * @returns {AppSpec}
 */
export function mergeLiveFields(spec, wanted) {
  const given = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (wanted));
  return { ...spec, ...Object.fromEntries(LIVE.map((field) => [field, given[field]])) };
}

/**
 * @param {Needs} needs
 * @param {string} attribute
 * @returns {NeedsRow}
 */
function row(needs, attribute) {
  return { needs, attribute };
}

/**
 * @param {Needs} needs
 * @param {string} attribute
 * @returns {NeedsRow}
 */
function derived(needs, attribute) {
  return { needs, attribute, isDerived: true };
}
