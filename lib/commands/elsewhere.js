import { NclustError } from '../shared/errors.js';

/** Commands of PM2 that have no place here, and what does the same. */
export const ELSEWHERE = /** @type {const} */ ({
  logrotate: 'Log files rotate by themselves: "nclust get" shows the limits, "nclust set logs.max_size 50M" changes them. For logrotate itself, see docs/logs.md.',
  install: 'There are no modules. Log rotation and metrics are built in; a program that watches others is an app like any other: nclust start',
  uninstall: 'There are no modules; an app is removed with: nclust delete <app>',
  package: 'There are no modules to make a package of.',
  publish: 'There are no modules to publish.',
  deepUpdate: 'npm install -g nclust@latest && nclust update',
  pull: 'Use "nclust deploy", or: git pull && nclust reload <app>',
  forward: 'Use "nclust deploy", or: git checkout <commit> && nclust reload <app>',
  backward: 'Use "nclust deploy <environment> revert 1", or: git checkout <commit> && nclust reload <app>',
  create: 'nclust init writes a configuration file to begin with.',
  autoinstall: 'nclust startup starts the apps at boot.',
  imonit: 'nclust monit shows what runs, with its logs.',
  link: 'There is no vendor behind nclust: nothing leaves this machine.',
  unlink: 'There is no vendor behind nclust: nothing leaves this machine.',
  monitor: 'There is no vendor behind nclust: nothing leaves this machine.',
  unmonitor: 'There is no vendor behind nclust: nothing leaves this machine.',
  open: 'There is no vendor behind nclust: nothing leaves this machine.',
  plus: 'There is no vendor behind nclust: nothing leaves this machine.',
  register: 'There is no vendor behind nclust: nothing leaves this machine.',
  login: 'There is no vendor behind nclust: nothing leaves this machine.',
  logout: 'There is no vendor behind nclust: nothing leaves this machine.',
  'install-otel': 'Preload your OpenTelemetry set-up: --node-args="--require ./tracing.js"',
  'uninstall-otel': 'Leave the preloaded OpenTelemetry set-up out of --node-args.',
  'module:install': 'There are no modules. Log rotation and metrics are built in.',
  'module:update': 'There are no modules. Log rotation and metrics are built in.',
  'module:uninstall': 'There are no modules. Log rotation and metrics are built in.',
  'module:generate': 'There are no modules. Log rotation and metrics are built in.',
  'module:publish': 'There are no modules. Log rotation and metrics are built in.',
  'profile:cpu': 'nclust profile <app> --cpu 10s profiles a process of an app.',
  'profile:mem': 'nclust profile <app> --heap takes the heap of a process of an app.',
});

/**
 * @param {keyof typeof ELSEWHERE} name
 * @returns {() => Promise<never>}  Throws ERR_NCLUST_ELSEWHERE.
 */
export function elsewhere(name) {
  return async () => {
    throw new NclustError('ERR_NCLUST_ELSEWHERE', `"${name}" is a command of PM2 that nclust does not have.`, { hint: ELSEWHERE[name] });
  };
}
