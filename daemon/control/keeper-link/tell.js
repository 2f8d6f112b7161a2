import { noteKey } from '../state/slot-history.js';
import { KeeperLost } from './link.js';
import { getSlotHistory } from '../state/registry.js';

/** @import { SystemLimits } from '../../../lib/shared/host/system-limits.js' */
/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */
/** @import { Journal } from '../journal/journal.js' */
/** @import { EventLog } from '../journal/log.js' */
/** @import { Clock } from '../host/clock.js' */
/** @import { OomWatch } from '../host/oom-kills.js' */
/** @import { FindHolder } from '../host/socket-holder.js' */
/** @import { AppLogs } from '../logs/app-logs.js' */
/** @import { ManagerLog, OwnLog } from '../logs/manager-log.js' */
/** @import { Activity } from '../metrics/activity.js' */
/** @import { Orphan, UidsOf } from '../recovery/find-orphans.js' */
/** @import { Settings } from '../settings.js' */
/** @import { Environment } from '../spawn/environment.js' */
/** @import { Desired } from '../state/desired.js' */
/** @import { Seat, Registry } from '../state/registry.js' */
/** @import { Store } from '../state/store.js' */
/** @import { Installation, Own } from '../update/installation.js' */
/** @import { ChildSnapshot, KeeperLink, Port } from './link.js' */

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
 * @property {ReturnType<typeof import('../metrics/activity.js').createActivityReader>} readActivity
 * @property {Environment} environment
 * @property {() => string} newInstanceId
 * @property {() => number} cpus
 * @property {(uidsOf: UidsOf, uids: Set<number | null>) => Orphan[]} findOrphans
 * @property {(from: Installation | null) => Promise<Port>} launchKeeper  Null: the present
 *   installation.
 * @property {(spec: AppSpec) => AppSpec} substituteMissingNode
 * @property {(specs: AppSpec[], method: 'reload' | 'restart') => Promise<void>} preflight  Rejects with
 *   ERR_NCLUST_PREFLIGHT.
 * @property {typeof import('../spawn/git-checkout.js').readVersioning} readVersioning
 * @property {(keeperPid: number) => SystemLimits} systemLimits
 * @property {(exitStatus: number) => void} leave
 * @property {() => void} makeWay  Exits at once; clients repeat their requests to the next control.
 * @property {Own} own
 * @property {typeof import('../update/installation.js').probe} probe
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
 * @param {LoopContext} context
 * @param {string} verb
 * @param {object} params
 */
export function tell(context, verb, params) {
  context.link?.request(verb, params).catch((error) => {
    if (error instanceof KeeperLost) return;
    // Does not log `value`, because a note contains the last lines of processes, which may contain
    // a password.
    const { value: _, ...about } = /** @type {{ value?: unknown }} */ (params);
    context.parts.managerLog('keeper-refused', { verb, params: about, message: error.message });
  });
}

/**
 * @param {LoopContext} context
 * @param {number} id
 */
export function writeNote(context, id) {
  tell(context, 'note', { key: noteKey(id), value: getSlotHistory(context.registry, id) });
}
