// docs/protocol.md explains the protocol. Control and the command import this file, so this file
// must not import them.

/** @import { SpecChange } from '../../app-spec/diff.js' */
/** @import { AppSpec } from '../../app-spec/types.js' */
/** @import { Kind } from '../troubles.js' */

/** Raise this number when the meaning of a message changes, but not for a new field or method. */
export const PROTOCOL = 1;

/** The limit for one line, without the newline. */
export const TO_SERVER_MAX_BYTES = 8 * 1024 * 1024;

/** Larger than the limit above, because a list with details has the environment of every app. */
export const TO_CLIENT_MAX_BYTES = 16 * 1024 * 1024;

export const INSPECTOR_URL = /^ws:\/\/[\w.:[\]-]+\/[\w-]+$/;

export const METHODS = /** @type {const} */ ([
  'hello',
  'list',
  'sockets',
  'start',
  'stop',
  'restart',
  'delete',
  'scale',
  'reset',
  'signal',
  'reload',
  'rollback',
  'restartFromFile',
  'apply',
  'save',
  'resurrect',
  'import',
  'kill',
  'logs',
  'unsubscribe',
  'flush',
  'reloadLogs',
  'settings',
  'set',
  'unset',
  'update',
  'events',
  'sendMessage',
  'sendInput',
  'trigger',
  'inspect',
  'profile',
  'stack',
  'openInspector',
  'metrics',
  'troubles',
  'notify',
  'notifyTest',
  'web',
]);

/** @typedef {typeof METHODS[number]} Method */

/**
 * @typedef {'launching' | 'online' | 'stopping' | 'stopped' | 'errored' | 'waiting restart'} ShownStatus
 *   PM2's words.
 */

/**
 * @typedef {'crash' | 'stop' | 'restart' | 'scale' | 'delete' | 'reload' | 'boot-timeout'
 *   | 'out-of-memory' | 'signal' | 'orphan' | 'unhealthy' | 'spawn-failed'} DeathCause
 */

/** @typedef {'out' | 'err'} LogStream */

/**
 * @typedef {object} Death
 * @property {number} atMs  Wall clock.
 * @property {number} pid  0 if the process never existed.
 * @property {number | null} code
 * @property {string | null} signal
 * @property {DeathCause} cause
 * @property {string | null} by  The command, trigger, limit or signal sender behind `cause`. Null:
 *   `cause` has no such source, or the source is not known.
 * @property {number} uptimeMs
 * @property {boolean} wasReady
 * @property {string} [words]  The line of stderr with the reason.
 * @property {string} [frame]  Where the error arose in the app: `render (report.js:31)`.
 * @property {string[]} lastLines  The end of stderr: at most 20 lines and 4 KiB.
 * @property {ListenFailure} [listenFailure]
 */

/**
 * @typedef {object} HeldSocket
 * @property {string} app
 * @property {string} address
 * @property {number} port  0 for a Unix socket.
 * @property {{ id: number, slot: number, pid: number }[]} users  Empty: clients wait in the queue.
 */

/**
 * @typedef {object} ListenFailure
 * @property {string | null} address  Null: all addresses. For a Unix socket the path.
 * @property {number} port  0 for a Unix socket.
 * @property {number} family  4, 6, or 0 for a Unix socket.
 * @property {string} code  Error code of the system, such as EADDRINUSE or EACCES.
 * @property {string | null} app  The app of this manager that holds the address.
 * @property {boolean} [isUdp]  The socket is a UDP socket. The agent reports such a failure only
 *   if the app exits because it does not handle the error.
 * @property {Holder | null} [holder]
 */

/**
 * @typedef {object} Holder  A program that holds an address.
 * @property {number} pid  0: of another user, and therefore unknown.
 * @property {string} command
 * @property {boolean} [isOwn]  Another instance of the app.
 * @property {boolean} [isPm2]  PM2, or an app of PM2.
 * @property {{ home: string, user: string } | null} [nclust]  Another nclust, or an app of it.
 */

/**
 * The sums of all instances of an app, for one target.
 * @typedef {object} Shipped
 * @property {string} target
 * @property {number} sent  Lines that the system has accepted.
 * @property {number} dropped  Lines lost because the target was too slow or unreachable.
 * @property {string | null} problem
 */

/**
 * @typedef {object} WatchShown
 * @property {string[]} paths
 * @property {boolean} isReady
 * @property {string | null} problem
 */

/**
 * @typedef {object} SlotTriggers
 * @property {WatchShown | null} watch  Null: nothing is watched now.
 * @property {number | null} nextRunMs  Next run of the cron trigger, wall clock. Null if
 *   there is none, or if a command has stopped the app.
 * @property {{ bytes: number, misses: number } | null} memory  misses: the number of instances in a
 *   row that were above the limit at or soon after their first check.
 * @property {{ atMs: number, by: string, problem: string | null } | null} last  The last
 *   trigger. Control forgets this trigger when control restarts.
 */

/**
 * @typedef {object} AxmShown
 * @property {CustomAction[]} actions
 * @property {Record<string, unknown>} monitor
 * @property {Record<string, unknown>} options
 */

/**
 * Only with `detail`: triggers, logLost, shipping, deaths, spec, effectiveEnv and axm.
 * @typedef {object} SlotStatus
 * @property {number} id  The pm_id.
 * @property {string} name
 * @property {string} namespace
 * @property {number} slot  Index inside the app.
 * @property {string | null} instanceId
 * @property {number} pid  0 if no process runs.
 * @property {ShownStatus} status
 * @property {number} generation
 * @property {number} restarts  Planned and unplanned.
 * @property {number} crashes  Unplanned exits since the slot was started from rest, or reset.
 * @property {number} unstableRestarts
 * @property {number | null} startedAtMs  When its process started.
 * @property {number | null} onlineSinceMs  When it was ready. Null: it has not been ready.
 * @property {number} createdAtMs
 * @property {number} cpu  In percent of one core.
 * @property {number} memoryBytes
 * @property {'cluster' | 'fork'} mode
 * @property {string} version
 * @property {string} user
 * @property {string} script
 * @property {string[]} args
 * @property {string} interpreter
 * @property {string[]} interpreterArgs
 * @property {string} cwd
 * @property {string} outFile
 * @property {string} errorFile
 * @property {string} [logFile]  Has both streams. Empty or absent: no file.
 * @property {string} pidFile
 * @property {SlotTriggers} [triggers]
 * @property {{ lines: number, bytes: number, reason: string } | null} [logLost]  In the last hour.
 * @property {Shipped[]} [shipping]
 * @property {string | null} nodeVersion
 * @property {boolean} watching
 * @property {{ address: string, port: number, family: string }[]} addresses
 * @property {Kind[]} [troubles]  Open troubles that concern the slot. An earlier version has none.
 * @property {ListenFailure | null} listenFailure  The last failed listen().
 *   Null again when the instance listens on that address.
 * @property {string | null} waitingFor
 * @property {number | null} waitingUntilMs  When the wait ends at the latest. Null: no time limit.
 * @property {boolean} isReady
 * @property {boolean} autorestart
 * @property {Death | null} lastDeath
 * @property {Death[]} [deaths]  Newest last, at most 10.
 * @property {AppSpec} [spec]
 * @property {Record<string, string>} [effectiveEnv]
 * @property {AxmShown} [axm]
 */

/**
 * @typedef {{ action_name: string, action_type: string, arity: number, opts?: unknown }} CustomAction
 */

/**
 * @typedef {Pick<
 *   SlotStatus,
 *   | 'id' | 'name' | 'namespace' | 'version' | 'mode' | 'pid' | 'startedAtMs'
 *   | 'onlineSinceMs' | 'restarts' | 'crashes' | 'status' | 'cpu' | 'memoryBytes' | 'user'
 *   | 'watching' | 'troubles' | 'listenFailure'
 * >} BriefStatus
 */

/**
 * @typedef {object} LogEntry
 * @property {number} id
 * @property {string} name
 * @property {LogStream} stream
 * @property {string} line
 * @property {number | null} atMs
 * @property {true} [part]  The line continues in the next entry of this id and stream.
 */

/**
 * @typedef {object} ProcessInEvent
 * @property {number} id
 * @property {string} name
 * @property {number} slot
 * @property {number} generation
 * @property {string} namespace
 * @property {string | null} instanceId
 * @property {number} pid  0 if no process runs.
 * @property {ShownStatus} status
 * @property {number | null} startedAtMs
 * @property {number} restarts
 * @property {'cluster' | 'fork' | null} mode
 * @property {string} version
 * @property {number | null} createdAtMs
 * @property {number | null} exitCode
 * @property {string | null} signal
 */

/**
 * @typedef {object} TriggerReply
 * @property {number} id
 * @property {string} name
 * @property {number} slot
 * @property
 *   {'replied' | 'silent' | 'exited' | 'no-action' | 'no-node' | 'no-process' | 'unreachable'}
 *   outcome
 * @property {unknown} [reply]
 * @property {string[]} [actions]  For `no-action`.
 * @property {string} [reason]  For `unreachable`, and for `silent` if the manager died.
 */

/**
 * The event and its properties have the same names as in PM2.
 * @typedef {object} ProcessEvent
 * @property {'process:event'} type
 * @property
 *   {'start' | 'online' | 'exit' | 'stop' | 'restart' | 'reload' | 'delete' | 'restart overlimit'}
 *   event
 * @property {boolean} manually  Whether a user asked for the change.
 * @property {ProcessInEvent} process
 * @property {number} at
 */

/**
 * @typedef {object} Hello
 * @property {string} version
 * @property {number} protocol
 * @property {number} controlPid
 * @property {number} keeperPid
 * @property {string} keeperVersion
 * @property {string} home
 * @property {string} nodeVersion
 * @property {number} startedAtMs
 */

/** @typedef {'starting' | 'loading' | 'soaking' | 'draining' | 'parked' | 'backing off'} WaitingPhase */

/**
 * @typedef {object} Waiting
 * @property {number} id
 * @property {string} name
 * @property {number} slot
 * @property {WaitingPhase} phase  loading: starting for longer than its time limit, with progress.
 * @property {number} forMs
 * @property {number | null} untilMs  When the time limit ends, wall clock.
 * @property {number | null} leftMs  Longest time left. Null: no time limit.
 * @property {string | null} detail  A text that names the missing condition.
 */

/**
 * @typedef {object} Progress
 * @property {string} token
 * @property {number} done
 * @property {number} total
 * @property {Waiting[]} waiting
 */

/**
 * @typedef {{
 *   id: number, name: string, slot: number, reason: string, words?: string, frame?: string,
 *   lastLines: string[], listenFailure?: ListenFailure,
 * }} NotUp
 */

/**
 * @typedef {object} FailedApp  An app of a request for several apps.
 * @property {string} name
 * @property {string} code
 * @property {string} message
 * @property {number} instances  Instances that the request concerns.
 * @property {{ slot: number, generation: number }[]} running  Instances that are up now.
 * @property {boolean} isOld  A reload failed, and only older instances run.
 */

/**
 * @typedef {'start' | 'none' | 'live' | 'scale' | 'rollout' | 'replace' | 'delete'} PlanAction
 *   start: the app is new, some of its instances are stopped or failed, or the change needs new
 *   processes and no instance is serving. live: running instances take the change. rollout: a
 *   reload. replace: running instances exit before new instances start.
 */

/**
 * @typedef {object} PlanItem
 * @property {string} name
 * @property {PlanAction} action
 * @property {SpecChange[]} changes
 * @property {{ instances: number, file: number }} [kept]  The app keeps its number of instances,
 *   because it was scaled by hand. `file`: the number in the file.
 */
