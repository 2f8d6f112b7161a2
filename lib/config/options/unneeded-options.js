/**
 * What PM2's files may say and nclust has no use for. Nothing is read from it, so nothing about it is wrong.
 * @param {string} name
 * @param {string} note  Why.
 * @param {string[]} [aliases]
 * @returns {import('./options.js').StartOption}
 */
const unneeded = (name, note, aliases = []) => ({ name, aliases, key: name, read: (value) => value, accepted: 'anything', schema: {}, note, help: `accepted and not needed: ${note}` });

const MONITORING = 'for a monitoring service that nclust has no part in';

/** @type {import('./options.js').StartOption[]} */
export const UNNEEDED_OPTIONS = [
  unneeded('force', 'an app of a file that runs is restarted by `start`'),
  unneeded('kill_retry_time', 'the end of a process is an event, nothing polls for it'),
  unneeded('post_update', 'nclust does not pull; `deploy` has its hooks'),
  unneeded('windowsHide', 'nclust does not run on Windows'),
  unneeded('automation', MONITORING),
  unneeded('pmx', MONITORING),
  unneeded('trace', MONITORING),
  unneeded('disable_trace', MONITORING),
  unneeded('deep_monitoring', MONITORING),
  unneeded('event_loop_inspector', MONITORING),
  unneeded('v8', MONITORING),
  unneeded('km_link', MONITORING),
  unneeded('axm_options', MONITORING),
  unneeded('install_url', 'modules are not built'),
  unneeded('name_prefix', 'used inside of PM2'),
  unneeded('write', 'used inside of PM2'),
];
