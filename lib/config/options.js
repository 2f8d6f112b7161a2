import { LOG_OPTIONS } from './log-options.js';
import { asDuration, asExitCodes, asInstances, asSignal, asText, asWhole, asWords, oneOf } from './option-readers.js';

/** @typedef {import('../shared/spec.js').AppSpec} AppSpec */

/**
 * One option of `start`: how it is written, what it means, which field of the spec it fills.
 * @typedef {object} StartOption
 * @property {string} flags  As commander reads them.
 * @property {string} key  Where commander puts the value.
 * @property {boolean} [isRepeatable]  The value is a list of what was given.
 * @property {string} help
 * @property {keyof AppSpec} [field]  Options without one decide together with others; app-spec.js reads them.
 * @property {(value: any, flag: string) => unknown} read  Throws ERR_NCLUST_USAGE naming the option, what was found and what is accepted.
 */

/** @type {StartOption[]} */
export const START_OPTIONS = [
  { flags: '-n, --name <name>', key: 'name', field: 'name', read: asText, help: 'name of the app (default: the script without its extension)' },
  { flags: '--namespace <name>', key: 'namespace', field: 'namespace', read: asText, help: 'group the app belongs to (default: "default")' },
  { flags: '-i, --instances <number>', key: 'instances', field: 'instances', read: asInstances, help: 'processes to run: N, max or 0 (one per CPU), -N (CPUs less N), N%; Node.js programs then run in cluster mode' },
  { flags: '--cwd <folder>', key: 'cwd', read: asText, help: 'working directory (default: the current one)' },
  { flags: '--interpreter <program>', key: 'interpreter', read: asText, help: 'what runs the script; "none" runs it by itself (default: by extension or first line)' },
  { flags: '--interpreter-args <words>', key: 'interpreterArgs', read: asWords, help: 'options for the interpreter, in one quoted argument' },
  { flags: '--node-args <words>', key: 'nodeArgs', read: asWords, help: 'the same as --interpreter-args' },
  { flags: '--no-autorestart', key: 'autorestart', field: 'autorestart', read: (value) => value, help: 'let it end when it ends' },
  { flags: '--max-restarts <number>', key: 'maxRestarts', field: 'maxRestarts', read: asWhole, help: 'unstable exits within 10 minutes before it is given up (default: 16)' },
  { flags: '--restart-delay <time>', key: 'restartDelay', field: 'restartDelayMs', read: asDuration, help: 'wait before a restart (default: none)' },
  { flags: '--exp-backoff-restart-delay <time>', key: 'expBackoffRestartDelay', field: 'backoffMs', read: asDuration, help: 'first wait after an unstable exit; doubles up to 15s (default: 100ms)' },
  { flags: '--min-uptime <time>', key: 'minUptime', field: 'minUptimeMs', read: asDuration, help: 'an exit before this is unstable; a program that does not listen is up after it (default: 1s)' },
  { flags: '--stop-exit-codes <codes...>', key: 'stopExitCodes', field: 'stopExitCodes', read: asExitCodes, help: 'exit codes after which it stays stopped' },
  { flags: '-k, --kill-timeout <time>', key: 'killTimeout', field: 'killTimeoutMs', read: asDuration, help: 'from the request to stop until SIGKILL (default: 10s)' },
  { flags: '--stop-signal <signal>', key: 'stopSignal', field: 'stopSignal', read: asSignal, help: 'signal that asks it to stop (default: SIGTERM when it listens to it, else SIGINT)' },
  { flags: '--wait-ready', key: 'waitReady', field: 'waitReady', read: (value) => value, help: 'it is up when it calls process.send("ready")' },
  { flags: '--listen-timeout <time>', key: 'listenTimeout', field: 'listenTimeoutMs', read: asDuration, help: 'how long to wait for that (default: 10s)' },
  { flags: '--shutdown-with-message', key: 'shutdownWithMessage', field: 'shutdownWithMessage', read: (value) => value, help: 'ask it to stop by the message "shutdown" in place of a signal' },
  { flags: '--scheduling <how>', key: 'scheduling', field: 'scheduling', read: oneOf(['least-connections', 'sticky', 'os']), help: 'who gets a connection in cluster mode: least-connections, sticky (by client address) or os (default: least-connections)' },
  { flags: '--max-surge <number>', key: 'maxSurge', field: 'maxSurge', read: asWhole, help: 'new instances that a reload starts at once beside the old ones (default: 1)' },
  { flags: '--max-unavailable <number>', key: 'maxUnavailable', field: 'maxUnavailable', read: asWhole, help: 'old instances that a reload may end before new ones are there (default: 0)' },
  { flags: '--rollback-window <time>', key: 'rollbackWindow', field: 'rollbackWindowMs', read: asDuration, help: 'how long a reload keeps the old instances at hand, to go back to them when the new ones do worse (default: none)' },
  { flags: '--uid <user>', key: 'uid', read: asText, help: 'run as this user, name or number (root only)' },
  { flags: '--gid <group>', key: 'gid', read: asText, help: 'run as this group, name or number (root only)' },
  ...LOG_OPTIONS,
];

/** Those that mean something for an app that is in the list, too. */
const CHANGEABLE = ['interpreter', 'interpreterArgs', 'nodeArgs', 'scheduling', 'maxSurge', 'maxUnavailable', 'rollbackWindow'];

/** @type {StartOption[]} */
export const RELOAD_OPTIONS = [...START_OPTIONS.filter(({ key }) => CHANGEABLE.includes(key)), ...LOG_OPTIONS];

/** @type {StartOption[]} */
export const RESTART_OPTIONS = LOG_OPTIONS;

/**
 * Reads the options of `start` that were given.
 * @param {Record<string, unknown>} given  As commander returns them.
 * @returns {Record<string, any>}  By key; absent ones are absent. Throws ERR_NCLUST_USAGE.
 */
export function readStartOptions(given) {
  return readOptions(START_OPTIONS, given);
}

/**
 * The same for those of `reload`.
 * @param {Record<string, unknown>} given
 * @returns {Record<string, any>}
 */
export function readReloadOptions(given) {
  return readOptions(RELOAD_OPTIONS, given);
}

/**
 * The same for those of `restart`.
 * @param {Record<string, unknown>} given
 * @returns {Record<string, any>}
 */
export function readRestartOptions(given) {
  return readOptions(RESTART_OPTIONS, given);
}

/**
 * @param {Record<string, any>} options  By key.
 * @returns {Partial<AppSpec>}  Those that are a field of the spec.
 */
export function specFields(options) {
  const given = START_OPTIONS.filter(({ key, field }) => field && options[key] !== undefined);
  return Object.fromEntries(given.map(({ key, field }) => [field, options[key]]));
}

/**
 * @param {StartOption[]} table
 * @param {Record<string, unknown>} given
 * @returns {Record<string, any>}
 */
function readOptions(table, given) {
  // commander says `true` for a --no- option that is not there.
  const present = table.filter(({ key, flags }) => given[key] !== undefined && !(flags.startsWith('--no-') && given[key] === true));
  return Object.fromEntries(present.map(({ key, flags, read }) => [key, read(given[key], longFlag(flags))]));
}

/**
 * `--stop-exit-codes 0 app.js`: the option takes every word up to the next option, the script too. What is no code is handed back.
 * @param {string[]} words
 * @returns {{codes: string[], rest: string[]}}
 */
export function separateExitCodes(words) {
  const end = words.findIndex((word) => !/^[\d,\s]+$/.test(word));
  return end === -1 ? { codes: words, rest: [] } : { codes: words.slice(0, end), rest: words.slice(end) };
}

/** @param {string} flags */
function longFlag(flags) {
  return /** @type {string} */ (/--[a-z-]+/.exec(flags)?.[0]);
}
