// Knows: the types that many rooms of control use, so that no two rooms take types from each other.
// Must not: contain code. Start at: Parts and LoopContext.

/** @import { HomePaths } from '../../lib/shared/paths.js' */
/** @import { SystemLimits } from '../../lib/shared/host/system-limits.js' */
/** @import { ListenTarget, WebTarget } from '../../lib/shared/settings/listen-address.js' */
/** @import { NotifySetting } from '../../lib/shared/settings/notify-keys.js' */
/** @import { AppSpec } from '../../lib/app-spec/types.js' */
/** @import { LogEntry } from '../../lib/shared/wire/protocol.js' */
/** @import { Clock } from './host/clock.js' */
/** @import { OomWatch } from './host/oom-kills.js' */
/** @import { FindHolder } from './host/socket-holder.js' */
/** @import { Journal } from './journal/journal.js' */
/** @import { EventLog } from './journal/log.js' */
/** @import { ChildSnapshot, KeeperLink, Port } from './keeper-link/link.js' */
/** @import { AppLogs } from './logs/app-logs.js' */
/** @import { Cursor } from './logs/history/contents.js' */
/** @import { Page } from './logs/history/history.js' */
/** @import { OwnLog } from './logs/manager-log.js' */
/** @import { LogInterval } from './logs/write/open-file.js' */
/** @import { Exports } from './metrics/exports.js' */
/** @import { Metrics } from './metrics/metrics.js' */
/** @import { Notify } from './notify/notify.js' */
/** @import { Orphan, UidsOf } from './recovery/find-orphans.js' */
/** @import { Environment } from './spawn/environment.js' */
/** @import { Activity, Registry, Seat } from './state/registry.js' */
/** @import { Store } from './state/store.js' */
/** @import { Triggers } from './triggers/triggers.js' */
/** @import { Troubles } from './troubles/troubles.js' */
/** @import { Installation, Own } from './update/installation.js' */
/** @import { Web } from './web/dashboard.js' */

/** @typedef {import('./control.js').Control} Control */

/**
 * The parts of control that access the machine.
 * @typedef {object} Parts
 * @property {string} home
 * @property {string} logsFolder
 * @property {Clock} clock
 * @property {Store} store
 * @property {AppLogs} logs
 * @property {ManagerLog} managerLog
 * @property {EventLog} eventLog
 * @property {Settings} settings
 * @property {Pick<OwnLog, 'reopen' | 'restore'>} ownLog
 * @property {OomWatch} oom
 * @property {FindHolder} findHolder
 * @property {ReturnType<typeof import('./metrics/activity.js').createActivityReader>} readActivity
 * @property {Environment} environment
 * @property {() => string} newInstanceId
 * @property {() => number} cpus
 * @property {(uidsOf: UidsOf, uids: Set<number | null>) => Orphan[]} findOrphans
 * @property {(from: Installation | null) => Promise<Port>} launchKeeper  Null: the present
 *   installation.
 * @property {(spec: AppSpec) => AppSpec} substituteMissingNode
 * @property {(specs: AppSpec[], method: 'reload' | 'restart') => Promise<void>} preflight  Rejects with
 *   ERR_NCLUST_PREFLIGHT.
 * @property {typeof import('./spawn/git-checkout.js').readVersioning} readVersioning
 * @property {(keeperPid: number) => SystemLimits} systemLimits
 * @property {(exitStatus: number) => void} leave
 * @property {() => void} makeWay  Exits at once; clients repeat their requests to the next control.
 * @property {Own} own
 * @property {typeof import('./update/installation.js').probe} probe
 */

/**
 * @typedef {object} LoopContext
 * @property {Parts} parts
 * @property {Registry} registry
 * @property {boolean} isExact  False: the list may be outdated, so leave unlisted processes alone.
 * @property {KeeperLink | null} link  Null: there is no keeper at the moment.
 * @property {(event: ControlEvent) => void} dispatch
 * @property {Journal} journal
 */

/**
 * @typedef {{type: 'keeper-event', event: string, data: any}
 *   | {type: 'spawned', instanceId: string, pid: number, startedAtMs: number,
 *       bootedAtMs?: number|null, outPipe: string|null, errPipe: string|null}
 *   | {type: 'refused', instanceId: string, message: string}
 *   | {type: 'answered'|'silent'|'admitted', instanceId: string}
 *   | {type: 'looked', instanceId: string, activity: Activity | null}
 *   | {type: 'timer', seat: Seat}
 *   | {type: 'changed', names: string[]}
 *   | {type: 'adopted', children: ChildSnapshot[], listeners: {app: string, scope?: string}[]}}
 *   ControlEvent
 */

/**
 * @typedef {object} ApiContext
 * @property {Control} control
 * @property {Parts} parts
 * @property {Metrics} metrics
 * @property {Exports} exports
 * @property {Web} web
 * @property {HomePaths} paths
 * @property {string} version
 * @property {Triggers} triggers
 * @property {Troubles} troubles
 * @property {Notify} notify
 */

/**
 * @typedef {object} Client
 * @property {AbortSignal} signal  Aborted when the client is gone.
 * @property {(method: string, params: object) => void} notify  Drops the notification if the client
 *   reads too slowly. Use this only if the next notification replaces the dropped data.
 * @property
 *   {(subscription: string, entries: LogEntry[], cursor?: Cursor, missed?: LogEntry[]) => void}
 *   notifyLog  Drops lines if the client reads too slowly, and reports their number. `missed`:
 *   lines that are already dropped.
 * @property {(subscription: string, event: object) => void} notifyEvent  Like notifyLog().
 * @property {(subscription: string, page: Page) => Promise<void>} sendLogPaced  Waits for a slow client.
 * @property {(subscription: string, page: Page) => void} sendLogNow  Never waits. For short pages.
 * @property {Map<string, () => void>} subscriptions
 */

/**
 * @typedef {(event: string, fields?: object) => void} ManagerLog  Writes one JSON line for each
 *   event, with a stable name.
 */

/**
 * Reads and writes settings.json, which users may also edit.
 * @typedef {object} Settings
 * @property {() => Record<string, string>} entries
 * @property {(key: string, text: string) => void} set
 *   Throws ERR_NCLUST_BAD_SETTING, ERR_NCLUST_SETTINGS_FILE.
 * @property {(key: string) => boolean} unset  Whether the key was set. Throws the same errors.
 * @property {(given: GivenLimits | null) => LogLimits} limitsOf
 *   Called for each chunk of output, so it must be fast.
 * @property {() => MetricsSettings} metrics
 * @property {() => { areFramesTaken: boolean }} troubles
 * @property {() => WebSettings} web
 * @property {() => NotifySetting[] | null} notify  The same list until the file changes. Null: the
 *   file cannot be read.
 * @property {() => string[]} notices
 */

/**
 * `Infinity` means no limit.
 * @typedef {object} LogLimits
 * @property {number} maxSizeBytes
 * @property {LogInterval} interval
 * @property {number} maxFiles  Number of kept segments of each log file.
 * @property {number} maxAgeMs
 * @property {number} maxTotalBytes  Limit for one app.
 * @property {'gzip' | 'zstd' | 'none'} compress
 * @property {number} homeMaxTotalBytes
 */

/**
 * Missing or null: the home's limit. 0: no limit.
 * @typedef {{ [K in keyof LogLimits]?: LogLimits[K] | null }} GivenLimits
 */

/**
 * @typedef {object} MetricsSettings
 * @property {ListenTarget} listen
 * @property {boolean} allowRemote
 * @property {string} otlp  An address, or 'none'.
 * @property {number} otlpIntervalMs
 */

/** @typedef {{ listen: WebTarget, mayAct: boolean, allowRemote: boolean }} WebSettings */

export {};
