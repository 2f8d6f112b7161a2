/** What can be in the log of events: the table of docs/events.md, which a test compares. */
export const EVENT_TYPES = [
  'added', 'deleted', 'config', 'scaled', 'stop', 'started', 'ready', 'died', 'backoff', 'gave-up', 'done',
  'rollout:began', 'rollout:canary', 'rollout:step', 'rollout:window', 'rollout:done', 'rollout:halted', 'rollout:rolled-back',
  'limit:memory', 'limit:logs', 'trigger:watch', 'trigger:cron', 'trigger:failed',
  'manager:ready', 'manager:ending', 'manager:crashed', 'manager:keeper-lost', 'manager:keeper', 'manager:keeper-failed', 'manager:orphans', 'manager:update', 'manager:state-lost', 'manager:state-unwritten',
  'lost',
];
