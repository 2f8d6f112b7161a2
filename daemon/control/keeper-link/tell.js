import { noteKey } from '../state/slot-history.js';
import { KeeperLost } from './link.js';
import { memoryOf } from '../state/registry.js';

/**
 * What control is built from. Everything that touches the machine comes in here.
 * @typedef {object} Parts
 * @property {string} home
 * @property {string} logsFolder
 * @property {import('../host/clock.js').Clock} clock
 * @property {import('../state/store.js').Store} store
 * @property {import('../logs/app-logs.js').LogKeeper} logs
 * @property {import('../logs/manager-log.js').Journal} journal
 * @property {import('../events/log.js').Chronicle} chronicle
 * @property {import('../settings.js').Settings} settings
 * @property {Pick<import('../logs/manager-log.js').OwnLog, 'reopen'>} ownLog
 * @property {import('../host/oom-kills.js').OomWatch} oom
 * @property {import('../spawn/environment.js').Environment} environment
 * @property {() => string} newInstanceId
 * @property {() => number} cpus
 * @property {(known: import('../recovery/find-orphans.js').Known[]) => import('../recovery/find-orphans.js').Orphan[]} findOrphans
 * @property {(from: import('../update/installation.js').Installation|null) => Promise<import('./link.js').Port>} launchKeeper  Null: from our own installation. Rejects when the process could not be created.
 * @property {(spec: import('../../../lib/shared/spec/spec.js').AppSpec) => import('../../../lib/shared/spec/spec.js').AppSpec} withPresentNode  See present-node.js.
 * @property {(specs: import('../../../lib/shared/spec/spec.js').AppSpec[]) => Promise<void>} preflight  Rejects with ERR_NCLUST_PREFLIGHT.
 * @property {(specs: import('../../../lib/shared/spec/spec.js').AppSpec[]) => void} checkPresent  Throws it.
 * @property {(keeperPid: number) => import('../../../lib/shared/host/system-limits.js').SystemLimits} systemLimits
 * @property {(exitStatus: number) => void} leave  Ends this process.
 * @property {() => void} makeWay  Ends it at once; clients ask the next control what was not answered.
 * @property {import('../update/installation.js').Own} own  What this process runs from.
 * @property {typeof import('../update/installation.js').probe} probe
 */

/**
 * What the parts of the owner loop share.
 * @typedef {object} Core
 * @property {Parts} parts
 * @property {import('../state/registry.js').World} world
 * @property {boolean} isExact  False: the list may have lost its last changes, so what runs and is not in it is left alone.
 * @property {import('./link.js').KeeperLink|null} link  Null while there is no keeper.
 * @property {(event: ControlEvent) => void} dispatch
 * @property {import('../events/bus.js').EventBus} bus
 */

/**
 * @typedef {{type: 'fact', event: string, data: any}
 *   | {type: 'spawned', instanceId: string, pid: number, startedAtMs: number, bootedAtMs?: number|null, outPipe: string|null, errPipe: string|null}
 *   | {type: 'refused', instanceId: string, message: string}
 *   | {type: 'answered'|'silent'|'admitted', instanceId: string}
 *   | {type: 'timer', seat: import('../state/registry.js').Seat}
 *   | {type: 'changed', names: string[]}
 *   | {type: 'adopted', children: import('./link.js').ChildFact[], listeners: {app: string, scope?: string}[]}} ControlEvent
 */

/**
 * Asks the keeper for something whose answer changes nothing here.
 * @param {Core} core
 * @param {string} verb
 * @param {object} params
 */
export function tell(core, verb, params) {
  core.link?.request(verb, params).catch((error) => {
    if (!(error instanceof KeeperLost)) core.parts.journal('keeper-refused', { verb, params, message: error.message });
  });
}

/**
 * Puts what is remembered about a slot where the next control finds it.
 * @param {Core} core
 * @param {number} id
 */
export function writeNote(core, id) {
  tell(core, 'note', { key: noteKey(id), value: memoryOf(core.world, id) });
}
