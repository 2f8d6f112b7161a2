import { KINDS, wordsOf } from './readers.js';

/** @import { StartOption } from './options.js' */

const { duration, exitCodes, flag, instances, signal, text, whole, word, words } = KINDS;

/** What runs, how often, and by which rules. @type {StartOption[]} */
export const PROGRAM_OPTIONS = [
  { name: 'name', flags: '-n, --name <name>', key: 'name', field: 'name', ...word, default: 'the script without its extension', help: 'name of the app (default: the script without its extension)' },
  { name: 'namespace', flags: '--namespace <name>', key: 'namespace', field: 'namespace', ...text, default: '"default"', help: 'group the app belongs to (default: "default")' },
  { name: 'instances', flags: '-i, --instances <number>', key: 'instances', field: 'instances', ...instances, default: '1', help: 'processes to run: N, max or 0 (one per CPU), -N (CPUs less N), N%; Node.js programs then run in cluster mode' },
  { name: 'cwd', flags: '--cwd <folder>', key: 'cwd', ...text, default: 'on the command line the current folder; in a file the folder where its script is found', help: 'working directory (default: the current one)', meaning: 'working directory; a relative path counts from the folder of the file' },
  { name: 'interpreter', aliases: ['exec_interpreter'], flags: '--interpreter <program>', key: 'interpreter', ...text, default: 'by extension or first line', help: 'what runs the script; "none" runs it by itself (default: by extension or first line)' },
  { name: 'node_args', aliases: ['interpreter_args'], flags: '--interpreter-args <words>', key: 'interpreterArgs', ...words, default: 'none', help: 'options for the interpreter, in one quoted argument', meaning: 'options for the interpreter; in a text, quotes count as in a shell' },
  { flags: '--node-args <words>', key: 'nodeArgs', ...words, help: 'the same as --interpreter-args' },
  { name: 'autorestart', flags: '--no-autorestart', key: 'autorestart', field: 'autorestart', ...flag, default: 'true', help: 'let it end when it ends', meaning: 'start it again when it ends' },
  { name: 'max_restarts', flags: '--max-restarts <number>', key: 'maxRestarts', field: 'maxRestarts', ...whole, default: '16', help: 'unstable exits within 10 minutes before it is given up (default: 16)' },
  { name: 'restart_delay', flags: '--restart-delay <time>', key: 'restartDelay', field: 'restartDelayMs', ...duration, unit: 'ms', default: '0', help: 'wait before a restart (default: none)' },
  { name: 'exp_backoff_restart_delay', flags: '--exp-backoff-restart-delay <time>', key: 'expBackoffRestartDelay', field: 'backoffMs', ...duration, unit: 'ms', default: '100', help: 'first wait after an unstable exit; doubles up to 15s (default: 100ms)' },
  { name: 'min_uptime', flags: '--min-uptime <time>', key: 'minUptime', field: 'minUptimeMs', ...duration, unit: 'ms', default: '1000', help: 'an exit before this is unstable; a program that does not listen is up after it (default: 1s)' },
  { name: 'stop_exit_codes', flags: '--stop-exit-codes <codes...>', key: 'stopExitCodes', field: 'stopExitCodes', ...exitCodes, default: 'none', help: 'exit codes after which it stays stopped' },
  { name: 'kill_timeout', flags: '-k, --kill-timeout <time>', key: 'killTimeout', field: 'killTimeoutMs', ...duration, unit: 'ms', default: '10000', help: 'from the request to stop until SIGKILL (default: 10s)' },
  { name: 'stop_signal', aliases: ['kill_signal'], flags: '--stop-signal <signal>', key: 'stopSignal', field: 'stopSignal', ...signal, default: 'SIGTERM when it listens to it, else SIGINT', help: 'signal that asks it to stop (default: SIGTERM when it listens to it, else SIGINT)' },
  { name: 'treekill', flags: '--no-treekill', key: 'treekill', field: 'treekill', ...flag, default: 'true', help: 'send the signal to stop to its main process alone', meaning: 'the signal to stop goes to its children, too' },
  { name: 'wait_ready', flags: '--wait-ready', key: 'waitReady', field: 'waitReady', ...flag, default: 'false', help: 'it is up when it calls process.send("ready")' },
  { name: 'listen_timeout', flags: '--listen-timeout <time>', key: 'listenTimeout', field: 'listenTimeoutMs', ...duration, unit: 'ms', default: '10000', help: 'how long to wait for that (default: 10s)' },
  { name: 'shutdown_with_message', flags: '--shutdown-with-message', key: 'shutdownWithMessage', field: 'shutdownWithMessage', ...flag, default: 'false', help: 'ask it to stop by the message "shutdown" in place of a signal' },
  { name: 'scheduling', flags: '--scheduling <how>', key: 'scheduling', field: 'scheduling', ...wordsOf(['least-connections', 'sticky', 'os']), default: 'least-connections', help: 'who gets a connection in cluster mode: least-connections, sticky (by client address) or os (default: least-connections)' },
  { name: 'max_surge', flags: '--max-surge <number>', key: 'maxSurge', field: 'maxSurge', ...whole, default: '1', help: 'new instances that a reload starts at once beside the old ones (default: 1)' },
  { name: 'max_unavailable', flags: '--max-unavailable <number>', key: 'maxUnavailable', field: 'maxUnavailable', ...whole, default: '0', help: 'old instances that a reload may end before new ones are there (default: 0)' },
  { name: 'rollback_window', flags: '--rollback-window <time>', key: 'rollbackWindow', field: 'rollbackWindowMs', ...duration, unit: 'ms', default: '0', help: 'how long a reload keeps the old instances at hand, to go back to them when the new ones do worse (default: none)' },
  { name: 'metrics', flags: '--no-metrics', key: 'metrics', field: 'metrics', ...flag, default: 'true', help: 'do not count its requests, nor look at its event loop and heap', meaning: 'count its requests, and look at its event loop and heap' },
  { name: 'uid', aliases: ['user'], flags: '--uid <user>', key: 'uid', ...word, default: 'the user of the manager', help: 'run as this user, name or number (root only)' },
  { name: 'gid', flags: '--gid <group>', key: 'gid', ...word, default: 'the group of that user', help: 'run as this group, name or number (root only)' },
  { name: 'source_map_support', flags: '--source-map-support', key: 'sourceMapSupport', ...flag, default: 'false', help: 'stack traces that name the lines of the source (Node.js with --enable-source-maps)' },
  { name: 'disable_source_map_support', flags: '--disable-source-map-support', key: 'disableSourceMapSupport', ...flag, default: 'false', help: 'without them, whatever a config file says', meaning: 'takes source_map_support back' },
  { name: 'vizion', flags: '--no-vizion', key: 'vizion', field: 'vizion', ...flag, default: 'true', help: 'do not ask git about the folder of its script', meaning: 'revision, branch and remote of the git checkout its script lies in are in `nclust jlist`' },
  { name: 'execute_command', flags: '-x, --execute-command', key: 'executeCommand', ...flag, default: 'false', help: 'fork mode, also with --instances', meaning: 'fork mode, also with instances' },
];
