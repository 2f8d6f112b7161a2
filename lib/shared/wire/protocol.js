// Knows: the protocol of the client socket: methods, shapes, the longest lines. Must not: import
// control or the command, which both import it. Start at: METHODS; rpc.js cuts and parses lines;
// docs/protocol.md has the same in prose.

/** @import { SpecChange } from '../spec/diff.js' */
/** @import { AppSpec } from '../spec/spec.js' */

/**
 * The version of the protocol. Raised when the meaning of a message changes; a new field or method
 * does not raise it.
 */
export const PROTOCOL = 1;

/** Longest line a client may send, in bytes without the newline. */
export const TO_SERVER_MAX_BYTES = 8 * 1024 * 1024;

/**
 * Longest line the server may send, in bytes without the newline. Larger, because a list with
 * details contains every app's environment.
 */
export const TO_CLIENT_MAX_BYTES = 16 * 1024 * 1024;

/** The form in which Node.js prints the address of an inspector. */
export const INSPECTOR_URL = /^ws:\/\/[\w.:[\]-]+\/[\w-]+$/;

/** Methods for clients. */
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
  'web',
]);

/** @typedef {typeof METHODS[number]} Method */

/**
 * @typedef {'launching' | 'online' | 'stopping' | 'stopped' | 'errored' | 'waiting restart'} ShownStatus
 *   PM2's words, for people.
 */

/**
 * @typedef {'crash' | 'stop' | 'restart' | 'scale' | 'delete' | 'reload' | 'boot-timeout'
 *   | 'out-of-memory' | 'signal' | 'orphan' | 'spawn-failed'} DeathCause
 */

/** @typedef {'out' | 'err'} LogStream */

/**
 * @typedef {object} Death
 * @property {number} atMs  Wall clock.
 * @property {number} pid  0 if the process never existed.
 * @property {number | null} code
 * @property {string | null} signal
 * @property {DeathCause} cause
 * @property {string | null} by  Who asked for it, null if it was unplanned.
 * @property {number} uptimeMs
 * @property {boolean} wasReady
 * @property {string[]} lastLines  The end of stderr: at most 20 lines and 4 KiB.
 * @property {ListenFailure} [listenFailure]  The reason why it did not listen.
 */

/**
 * A listening socket that the keeper holds for an app.
 * @typedef {object} HeldSocket
 * @property {string} app
 * @property {string} address  For a Unix socket its path.
 * @property {number} port  0 for a Unix socket.
 * @property {{ id: number, slot: number, pid: number }[]} users  Instances that listen on it. None:
 *   it is held for the next one, and clients wait in its queue.
 */

/**
 * A failed listen().
 * @typedef {object} ListenFailure
 * @property {string | null} address  As the app asked: null is all addresses; for a Unix socket the
 *   path.
 * @property {number} port  0 for a Unix socket.
 * @property {number} family  4, 6, or 0 for a Unix socket.
 * @property {string} code  The system's: EADDRINUSE, EACCES.
 * @property {string | null} app  The app of this manager that holds the address.
 * @property {boolean} [isUdp]  A UDP socket. The app did not handle the error, so it exited.
 * @property {{ pid: number, command: string, isOwn?: boolean } | null} [holder]  Another process
 *   that holds it, if the system reports one. isOwn: a process of the same app.
 */

/**
 * The lines of an app, of all its instances together, for one of its targets.
 * @typedef {object} Shipped
 * @property {string} target
 * @property {number} sent  Lines that the system has accepted.
 * @property {number} dropped  Lines that were lost because the target was too slow or away.
 * @property {string | null} problem  Why it cannot be reached now.
 */

/**
 * The watching of an app.
 * @typedef {object} WatchShown
 * @property {string[]} paths
 * @property {boolean} isReady  Changes are noticed.
 * @property {string | null} problem  In words.
 */

/**
 * Triggers that may replace a slot, besides commands.
 * @typedef {object} SlotTriggers
 * @property {WatchShown | null} watch  Null: nothing is watched now.
 * @property {number | null} nextRunMs  Of its cron, wall clock.
 * @property {{ bytes: number, misses: number } | null} memory  Of the whole tree, at the last
 *   check; and the number of instances in a row that were above the limit at their first check.
 * @property {{ atMs: number, by: string, problem: string | null } | null} last  The result of the
 *   last one. Known to the control that did it.
 */

/**
 * @typedef {object} AxmShown
 * @property {CustomAction[]} actions
 * @property {Record<string, unknown>} monitor
 * @property {Record<string, unknown>} options
 */

/**
 * @typedef {object} SlotStatus
 * @property {number} id  The pm_id.
 * @property {string} name
 * @property {string} namespace
 * @property {number} slot  Index inside the app.
 * @property {string | null} instanceId
 * @property {number} pid  0 if no process runs.
 * @property {ShownStatus} status
 * @property {number} generation
 * @property {number} restarts
 * @property {number} unstableRestarts
 * @property {number | null} startedAtMs
 * @property {number} createdAtMs
 * @property {number} cpu  In percent of one core.
 * @property {number} memoryBytes  Resident.
 * @property {'cluster' | 'fork'} mode
 * @property {string} version  Of the app.
 * @property {string} user
 * @property {string} script
 * @property {string[]} args
 * @property {string} interpreter
 * @property {string[]} interpreterArgs
 * @property {string} cwd
 * @property {string} outFile
 * @property {string} errorFile
 * @property {string} [logFile]  With the lines of both. Empty or absent: none.
 * @property {string} pidFile
 * @property {SlotTriggers} [triggers]  Only with `detail`.
 * @property {{ lines: number, bytes: number, reason: string } | null} [logLost]  Losses of its log
 *   files in the last hour. Only with `detail`.
 * @property {Shipped[]} [shipping]  Lines sent elsewhere, for each target. Only with `detail`.
 * @property {string | null} nodeVersion
 * @property {boolean} watching
 * @property {{ address: string, port: number, family: string }[]} addresses
 * @property {ListenFailure | null} listenFailure  Its last failed listen(), until it listens there.
 * @property {string | null} waitingFor
 * @property {boolean} isReady
 * @property {boolean} autorestart
 * @property {Death | null} lastDeath
 * @property {Death[]} [deaths]  Newest last, at most 10. Only with `detail`.
 * @property {AppSpec} [spec]  Only with `detail`.
 * @property {Record<string, string>} [effectiveEnv]  The environment of the process. Only with
 *   `detail`.
 * @property {AxmShown} [axm]  Metadata of the app. Only with `detail`.
 */

/**
 * @typedef {{ action_name: string, action_type: string, arity: number, opts?: unknown }} CustomAction
 *   As the app has registered it.
 */

/**
 * @typedef {Pick<
 *   SlotStatus,
 *   | 'id' | 'name' | 'namespace' | 'version' | 'mode' | 'pid' | 'startedAtMs' | 'restarts'
 *   | 'status' | 'cpu' | 'memoryBytes' | 'user' | 'watching' | 'listenFailure'
 * >} BriefStatus  For a table of many slots.
 */

/**
 * @typedef {object} LogEntry
 * @property {number} id
 * @property {string} name
 * @property {LogStream} stream
 * @property {string} line
 * @property {number | null} atMs  Null: from a file whose times are not known.
 */

/**
 * A process, in an event.
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
 * @property {number | null} exitCode  Of its last exit.
 * @property {string | null} signal
 */

/**
 * The result of a custom action in one process.
 * @typedef {object} TriggerReply
 * @property {number} id
 * @property {string} name
 * @property {number} slot
 * @property
 *   {'replied' | 'silent' | 'exited' | 'no-action' | 'no-node' | 'no-process' | 'unreachable'}
 *   outcome
 * @property {unknown} [reply]  The return value of the action.
 * @property {string[]} [actions]  For `no-action`: existing actions.
 * @property {string} [reason]  For `unreachable`; and for `silent`, if the reply may have gone to a
 *   manager that died.
 */

/**
 * An event of a process, in PM2's words.
 * @typedef {object} ProcessEvent
 * @property {'process:event'} type
 * @property
 *   {'start' | 'online' | 'exit' | 'stop' | 'restart' | 'reload' | 'delete' | 'restart overlimit'}
 *   event
 * @property {boolean} manually  A user asked for it.
 * @property {ProcessInEvent} process
 * @property {number} at  Wall clock.
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

/** @typedef {'starting' | 'soaking' | 'draining' | 'parked' | 'backing off'} WaitingPhase */

/**
 * The progress of one instance, for a request that waits.
 * @typedef {object} Waiting
 * @property {number} id
 * @property {string} name
 * @property {number} slot
 * @property {WaitingPhase} phase
 * @property {number} forMs
 * @property {number | null} leftMs  Time until the awaited event at the latest. Null: it does not
 *   depend on time.
 * @property {string | null} detail  In words: what is missing.
 */

/**
 * The parameters of the notification `progress`.
 * @typedef {object} Progress
 * @property {string} token  Of the request.
 * @property {number} done  Slots that are as the request wants them.
 * @property {number} total
 * @property {Waiting[]} waiting
 */

/**
 * @typedef {{
 *   id: number, name: string, slot: number, reason: string, lastLines: string[],
 *   listenFailure?: ListenFailure,
 * }} NotUp  A slot that did not get up, in the data of ERR_NCLUST_NOT_UP.
 */

/**
 * @typedef {'start' | 'none' | 'live' | 'scale' | 'rollout' | 'replace' | 'delete'} PlanAction
 *   start: the app is new, or none of its instances runs as it should. live: running instances take
 *   the change. rollout: a reload. replace: running instances end first.
 */

/**
 * The step for one app when a file is applied.
 * @typedef {object} PlanItem
 * @property {string} name
 * @property {PlanAction} action
 * @property {SpecChange[]} changes
 * @property {{ instances: number, file: number }} [kept]  For a restart or reload of a file: the
 *   app was scaled by hand to another number than the file has, and keeps it.
 */
