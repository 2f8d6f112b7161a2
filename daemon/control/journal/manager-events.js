/** @import { ManagerLog } from '../context.js' */
/** @import { Untimed } from './change-events.js' */
/** @import { EventLog } from './log.js' */

/** @typedef {Record<string, any>} Fields */

/** Happenings of the manager that concern the users of apps: the type, and the fields of the event. */
const EVENTS = {
  'control-ready': ['manager:ready', 'pid', 'keeperPid', 'version', 'instances'],
  'control-crashed': ['manager:crashed', 'message'],
  'keeper-lost': ['manager:keeper-lost'],
  'keeper-met': ['manager:keeper', 'pid', 'version'],
  'keeper-launch-failed': ['manager:keeper-failed', 'message'],
  'orphans-found': ['manager:orphans', 'count'],
  'update-begun': ['manager:update', 'version', 'replaces'],
  'state-lost': ['manager:state-lost', 'message'],
  'state-write-failed': ['manager:state-unwritten', 'message'],
  ending: ['manager:ending', 'by'],
  triggered: ['trigger', 'app', 'by'],
  'trigger-failed': ['trigger:failed', 'app', 'by', 'message', 'reason'],
  'log-limit': ['limit:logs', 'app', 'id', 'reason'],
  'channel-withheld': ['limit:channel', 'app', 'id', 'reason'],
  'rollback-window-opened': ['rollout:window', 'app', 'generation', 'by'],
  'rollout-done': ['rollout:done', 'app', 'generation', 'by'],
  'rollout-halted': ['rollout:halted', 'app', 'generation', 'by', 'reason', 'words', 'frame'],
  'rollout-rolled-back': ['rollout:rolled-back', 'app', 'generation', 'by', 'reason', 'words', 'frame'],
};

/**
 * @param {string} event
 * @param {Fields} [fields]
 * @returns {Untimed | null}  Null: the happening concerns only the manager.
 */
export function managerEvent(event, { notice, ...fields } = {}) {
  if (!Object.hasOwn(EVENTS, event)) return null;
  const [type, ...names] = EVENTS[/** @type {keyof typeof EVENTS} */ (event)];
  /** @type {Fields} */
  const given = { message: notice, ...fields };
  return {
    type: event === 'triggered' ? describeTrigger(fields.by) : type,
    ...Object.fromEntries(names.map((name) => [name, given[name]])),
  };
}

/**
 * The manager's log gets no output of apps, because users share this log.
 * @param {ManagerLog} managerLog
 * @param {Pick<EventLog, 'note'>} eventLog
 * @returns {ManagerLog}
 */
export function teeToEventLog(managerLog, eventLog) {
  return (event, given = {}) => {
    const { words: _words, frame: _frame, ...fields } = /** @type {Fields} */ (given);
    managerLog(event, fields);
    const entry = managerEvent(event, given);
    if (entry) eventLog.note(entry);
  };
}

/** @param {string} by  For example "memory: 600 MB above 500 MB". */
function describeTrigger(by) {
  const trigger = by.slice(0, by.indexOf(':'));
  return trigger === 'memory' ? 'limit:memory' : `trigger:${trigger}`;
}
