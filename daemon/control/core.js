import { noteKey } from './memory.js';
import { KeeperLost } from './keeper-link.js';
import { memoryOf } from './world.js';

/**
 * What control is built from. Everything that touches the machine comes in here.
 * @typedef {object} Parts
 * @property {string} home
 * @property {string} logsFolder
 * @property {import('./clock.js').Clock} clock
 * @property {import('./store.js').Store} store
 * @property {import('./logs/log-keeper.js').LogKeeper} logs
 * @property {import('./journal.js').Journal} journal
 * @property {import('./chronicle/chronicle.js').Chronicle} chronicle
 * @property {import('./settings.js').Settings} settings
 * @property {Pick<import('./own-log.js').OwnLog, 'reopen'>} ownLog
 * @property {import('./oom.js').OomWatch} oom
 * @property {import('./environment.js').Environment} environment
 * @property {() => string} newInstanceId
 * @property {() => number} cpus
 * @property {(known: import('./orphans.js').Known[]) => import('./orphans.js').Orphan[]} findOrphans
 * @property {(from: import('./installation.js').Installation|null) => Promise<import('./keeper-link.js').Port>} launchKeeper  Null: from our own installation. Rejects when the process could not be created.
 * @property {(spec: import('../../lib/shared/spec.js').AppSpec) => import('../../lib/shared/spec.js').AppSpec} withPresentNode  See present-node.js.
 * @property {(specs: import('../../lib/shared/spec.js').AppSpec[]) => Promise<void>} preflight  Rejects with ERR_NCLUST_PREFLIGHT.
 * @property {(specs: import('../../lib/shared/spec.js').AppSpec[]) => void} checkPresent  Throws it.
 * @property {(keeperPid: number) => import('../../lib/shared/system-limits.js').SystemLimits} systemLimits
 * @property {(exitStatus: number) => void} leave  Ends this process.
 * @property {() => void} makeWay  Ends it at once; clients ask the next control what was not answered.
 * @property {import('./installation.js').Own} own  What this process runs from.
 * @property {typeof import('./installation.js').probe} probe
 */

/**
 * What the parts of the owner loop share.
 * @typedef {object} Core
 * @property {Parts} parts
 * @property {import('./world.js').World} world
 * @property {boolean} isExact  False: the list may have lost its last changes, so what runs and is not in it is left alone.
 * @property {import('./keeper-link.js').KeeperLink|null} link  Null while there is no keeper.
 * @property {(event: ControlEvent) => void} dispatch
 * @property {import('./event-bus.js').EventBus} bus
 */

/**
 * @typedef {{type: 'fact', event: string, data: any}
 *   | {type: 'spawned', instanceId: string, pid: number, startedAtMs: number, bootedAtMs?: number|null, outPipe: string|null, errPipe: string|null}
 *   | {type: 'refused', instanceId: string, message: string}
 *   | {type: 'answered'|'silent'|'admitted', instanceId: string}
 *   | {type: 'timer', seat: import('./world.js').Seat}
 *   | {type: 'changed', names: string[]}
 *   | {type: 'adopted', children: import('./keeper-link.js').ChildFact[], listeners: {app: string, scope?: string}[]}} ControlEvent
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
