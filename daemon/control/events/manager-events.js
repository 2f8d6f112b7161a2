/** @import { ManagerLog } from '../logs/manager-log.js' */
/** @import { Untimed } from './change-events.js' */
/** @import { EventLog } from './log.js' */

/** @typedef {Record<string, any>} Fields */

/**
 * Events of the manager's own log that concern the users of apps.
 * @type {Record<string, (fields: Fields) => Untimed>}
 */
const EVENTS = {
  'control-ready': ({ pid, keeperPid, version, instances }) => ({
    type: 'manager:ready',
    pid,
    keeperPid,
    version,
    instances,
  }),
  'control-crashed': ({ message }) => ({ type: 'manager:crashed', message }),
  'keeper-lost': () => ({ type: 'manager:keeper-lost' }),
  'keeper-met': ({ pid, version }) => ({ type: 'manager:keeper', pid, version }),
  'keeper-launch-failed': ({ message }) => ({ type: 'manager:keeper-failed', message }),
  'orphans-found': ({ count }) => ({ type: 'manager:orphans', count }),
  'update-begun': ({ version, replaces }) => ({ type: 'manager:update', version, replaces }),
  'state-lost': ({ notice }) => ({ type: 'manager:state-lost', message: notice }),
  'state-write-failed': ({ message }) => ({ type: 'manager:state-unwritten', message }),
  ending: ({ by }) => ({ type: 'manager:ending', by }),
  triggered: ({ app, by }) => ({ type: triggerOf(by), app, by }),
  'trigger-failed': ({ app, by, message }) => ({ type: 'trigger:failed', app, by, message }),
  'log-limit': ({ app, id, reason }) => ({ type: 'limit:logs', app, id, reason }),
  'channel-withheld': ({ app, id, reason }) => ({ type: 'limit:channel', app, id, reason }),
  'rollback-window-opened': (fields) => rollout('rollout:window', fields),
  'rollout-done': (fields) => rollout('rollout:done', fields),
  'rollout-halted': (fields) => rollout('rollout:halted', fields),
  'rollout-rolled-back': (fields) => rollout('rollout:rolled-back', fields),
};

/**
 * @param {string} event
 * @param {Fields} [fields]
 * @returns {Untimed | null}  Null: the event concerns only the manager.
 */
export function managerEvent(event, fields = {}) {
  return Object.hasOwn(EVENTS, event) ? EVENTS[event](fields) : null;
}

/**
 * @param {ManagerLog} managerLog
 * @param {Pick<EventLog, 'note'>} eventLog
 * @returns {ManagerLog}
 */
export function teeToEventLog(managerLog, eventLog) {
  return (event, fields) => {
    managerLog(event, fields);
    const entry = managerEvent(event, fields);
    if (entry) eventLog.note(entry);
  };
}

/** @param {string} by  For example "memory: 600 MB above 500 MB". */
function triggerOf(by) {
  const trigger = by.slice(0, by.indexOf(':'));
  return trigger === 'memory' ? 'limit:memory' : `trigger:${trigger}`;
}

/**
 * @param {string} type
 * @param {Fields} fields
 */
function rollout(type, { app, generation, by, reason }) {
  return { type, app, generation, by, ...(reason === undefined ? {} : { reason }) };
}
