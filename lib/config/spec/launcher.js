import { basename } from 'node:path';

/** @import { AppSpec } from '../../shared/spec/spec.js' */

/** Programs that start a Node.js script as a child process. */
const LAUNCHER =
  /^(npm|npx|yarn|yarnpkg|pnpm|pnpx|bunx|corepack|babel-node|ts-node|ts-node-dev|tsx|nodemon|cross-env)$/;

/**
 * @param {AppSpec} spec
 * @param {Record<string, any>} options
 * @returns {string[]}  Warnings for an app whose instances are meant to share a port and cannot.
 */
export function warnAboutCluster({ name, mode, script, interpreter, instances }, { execMode, executeCommand }) {
  const words = [script.split(' ')[0], interpreter].map((word) => basename(word).replace(/(-cli)?\.[cm]?js$/, ''));
  const launcher = executeCommand ? undefined : words.find((word) => LAUNCHER.test(word));
  const advice = launcher ? ` Start the script itself, not ${launcher}.` : '';
  const why = executeCommand ? 'execute_command is true' : 'only Node.js programs can share a port that way';
  if (execMode === 'cluster' && mode === 'fork')
    return [`"${name}" runs in fork mode, although its exec_mode is cluster: ${why}.${advice}`];
  if (!launcher || (mode === 'fork' && (instances === 1 || execMode === 'fork'))) return [];
  return [
    `Instances of "${name}" cannot share a port, because ${launcher} starts the script as a child process.${advice}`,
  ];
}
