import { count, duration, exitCodes, flag, isWhole, oneOf, orNull, signal, whole, word } from './kinds.js';
import { inGroup, row, setting } from './row.js';

/** @import { FieldRow } from './table.js' */

const ID = {
  .../** @type {typeof word} */ (word),
  ...orNull(
    {
      accepts: (/** @type {unknown} */ value) => isWhole(value) && value <= 0xffff_fffe,
      stored: 'an id, a whole number from 0',
      type: 'number',
    },
    'that of the manager',
  ),
};

/** When an app restarts, is ready, stops and reloads, and as whom it runs. @type {FieldRow[]} */
export const LIFECYCLE = [
  row('autorestart', flag, true, {
    flags: '--no-autorestart',
    isPublic: true,
    isPm2: true,
    help: 'do not restart it when it exits',
    meaning: 'restart it when it exits',
  }),
  ...inGroup('When it exits:', [
    row('max_restarts', count, 16, {
      flags: '--max-restarts <number>',
      isPublic: true,
      isPm2: true,
      help: 'unstable exits that are allowed within 10 minutes',
    }),
    row('restart_delay', duration, 0, {
      flags: '--restart-delay <time>',
      isPublic: true,
      isPm2: true,
      help: 'wait before a restart',
    }),
    row('exp_backoff_restart_delay', orNull(duration, 'the default'), null, {
      flags: '--exp-backoff-restart-delay <time>',
      field: 'backoffMs',
      defaultText: '100ms, or none with a restart delay',
      isPublic: true,
      isPm2: true,
      help: 'first wait after an unstable exit; doubles up to 15s',
    }),
    row('min_uptime', duration, 1_000, {
      flags: '--min-uptime <time>',
      isPublic: true,
      isPm2: true,
      help: 'an earlier exit is unstable; a program that does not listen is online after this time',
    }),
    row('stop_exit_codes', exitCodes, [], {
      flags: '--stop-exit-codes <codes...>',
      isPm2: true,
      help: 'exit codes after which it is not restarted',
    }),
  ]),
  ...inGroup('Starting and stopping:', [
    row('kill_timeout', duration, 10_000, {
      flags: '-k, --kill-timeout <time>',
      isPublic: true,
      isPm2: true,
      help: 'time from the request to stop until SIGKILL',
    }),
    row('stop_signal', orNull(signal, 'SIGTERM if it handles it, otherwise SIGINT'), null, {
      aliases: ['kill_signal'],
      flags: '--stop-signal <signal>',
      defaultText: 'SIGTERM if it handles it, otherwise SIGINT',
      isPublic: true,
      help: 'signal that asks it to stop',
    }),
    row('treekill', flag, true, {
      flags: '--no-treekill',
      isPm2: true,
      help: 'send the stop signal only to its main process',
      meaning: 'send the stop signal to its child processes too',
    }),
    row('wait_ready', flag, false, {
      flags: '--wait-ready',
      // Not live: a running app may never have sent "ready", and would suddenly count as not ready.
      needs: 'rollout',
      isPublic: true,
      isPm2: true,
      help: 'it is online only after it has called process.send("ready")',
    }),
    row('listen_timeout', duration, 10_000, {
      flags: '--listen-timeout <time>',
      isPublic: true,
      isPm2: true,
      help: 'time limit until it is ready, if it makes no progress',
    }),
    row('shutdown_with_message', flag, false, {
      flags: '--shutdown-with-message',
      isPm2: true,
      help: 'send the message "shutdown" in place of the stop signal',
    }),
  ]),
  ...inGroup('Reload and balancing:', [
    row('scheduling', oneOf(['least-connections', 'sticky', 'os']), 'least-connections', {
      flags: '--scheduling <how>',
      // All workers of an app must use the same value, and a worker gets the value at its start.
      needs: 'rollout',
      isPublic: true,
      help: 'which instance gets a connection in cluster mode: least-connections, sticky (by client address) or os',
      meaning: 'which instance gets a connection in cluster mode; sticky chooses by client address',
    }),
    row('max_surge', whole, 1, {
      flags: '--max-surge <number>',
      isPublic: true,
      help: 'new instances that a reload starts at a time',
    }),
    row('max_unavailable', whole, 0, {
      flags: '--max-unavailable <number>',
      isPublic: true,
      help: 'old instances that a reload may stop before new ones are ready',
    }),
    row('hang_timeout', orNull(duration, 'the default'), null, {
      flags: '--hang-timeout <time>',
      defaultText: '30s with several instances in cluster mode, otherwise never',
      isPublic: true,
      help: 'replace an instance that cannot serve, and delays requests, after this time; 0 for never',
    }),
    row('rollback_window', duration, 0, {
      flags: '--rollback-window <time>',
      isPublic: true,
      help: 'how long a reload keeps the old instances, in case the new ones do worse',
    }),
  ]),
  ...inGroup('The program:', [
    row('metrics', flag, true, {
      flags: '--no-metrics',
      needs: 'rollout',
      isPublic: true,
      help: 'do not count its requests, and do not measure its event loop and heap',
      meaning: 'count its requests, and measure its event loop and heap',
    }),
    row('uid', ID, null, {
      aliases: ['user'],
      flags: '--uid <user>',
      isBuilt: true,
      defaultText: 'the user of the manager',
      needs: 'rollout',
      isPm2: true,
      help: 'run as this user, name or number; root only',
    }),
    row('gid', ID, null, {
      flags: '--gid <group>',
      isBuilt: true,
      defaultText: 'the group of that user',
      needs: 'rollout',
      isPm2: true,
      help: 'run as this group, name or number; root only',
    }),
    setting('source_map_support', flag, {
      flags: '--source-map-support',
      field: null,
      defaultText: 'true if <script>.map exists',
      isForNew: true,
      isPm2: true,
      help: 'show source lines in stack traces (--enable-source-maps of Node.js; default: if <script>.map exists)',
      meaning: 'show source lines in stack traces (--enable-source-maps of Node.js)',
    }),
    setting('disable_source_map_support', flag, {
      flags: '--disable-source-map-support',
      field: null,
      defaultText: 'false',
      isForNew: true,
      isPm2: true,
      help: 'do not use source maps',
      meaning: 'overrides source_map_support',
    }),
    row('vizion', flag, true, {
      flags: '--no-vizion',
      needs: 'nothing',
      help: 'do not read the git revision of its script',
      meaning: 'show its git revision, branch and remote in `nclust jlist`',
    }),
    setting('execute_command', flag, {
      flags: '-x, --execute-command',
      field: null,
      defaultText: 'false',
      isForNew: true,
      help: 'use fork mode, even with --instances',
      meaning: 'use fork mode, even with instances',
    }),
  ]),
];
