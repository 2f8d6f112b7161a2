import { isLauncher, programName } from '../../shared/daemon/programs.js';

/** @import { AppSpec } from '../../app-spec/types.js' */

/**
 * @param {AppSpec} spec
 * @param {Record<string, any>} options
 * @returns {string[]}  Warnings for an app whose instances are meant to share a port and cannot.
 */
export function warnAboutCluster({ name, mode, script, interpreter, instances }, { execMode, executeCommand }) {
  const words = [script.split(' ')[0], interpreter].map(programName);
  const launcher = executeCommand ? undefined : words.find(isLauncher);
  const advice = launcher ? ` Start the script itself, not ${launcher}.` : '';
  const why = executeCommand ? 'execute_command is true' : 'only Node.js programs can share a port that way';
  if (execMode === 'cluster' && mode === 'fork')
    return [`"${name}" runs in fork mode, although its exec_mode is cluster: ${why}.${advice}`];
  if (!launcher || (mode === 'fork' && (instances === 1 || execMode === 'fork'))) return [];
  return [
    `Instances of "${name}" cannot share a port, because ${launcher} starts the script as a child process.${advice}`,
  ];
}
