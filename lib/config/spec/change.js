import { basename, dirname, resolve } from 'node:path';
import { appVersion } from './app-version.js';
import { checkFolder } from './check-folder.js';
import { interpreterChange, isShellCommand } from './interpreter-change.js';
import { resolveOwner } from './owner.js';

/** @typedef {import('../../shared/spec/spec.js').AppSpec} AppSpec */

/**
 * How the spec of an app that is in the list changes by what means something else for each script: its folder, who runs it, its interpreter, the arguments for both.
 * @param {AppSpec} spec
 * @param {Record<string, any>} options  From readRestartOptions or readReloadOptions.
 * @param {string[]} args  What stood behind "--". Empty: those it has.
 * @param {import('./build.js').Surroundings} surroundings
 * @returns {Partial<AppSpec>}  Throws ERR_NCLUST_USAGE, _CWD_NOT_FOUND, _INTERPRETER_*, _NOT_PERMITTED, _BAD_SPEC.
 */
export function specChange(spec, options, args, { cwd: shellCwd, env, node }) {
  const { interpreter, interpreterArgs = options.nodeArgs, cwd, uid, gid } = options;
  const moved = cwd === undefined ? {} : inFolder(spec, checkFolder(resolve(shellCwd, cwd)));
  const told = args.length === 0 ? {} : { args, execArgs: execArgsOf(spec, args) };
  const asked = { ...spec, ...moved, ...told };
  const run = interpreter === undefined && interpreterArgs === undefined ? {} : interpreterChange(asked, { interpreter, interpreterArgs }, { path: env.PATH, node });
  return { ...moved, ...told, ...run, ...(uid === undefined && gid === undefined ? {} : ownedBy(spec, { uid, gid })) };
}

/**
 * @param {AppSpec} spec
 * @param {string} cwd
 */
function inFolder(spec, cwd) {
  return { cwd, version: appVersion(isShellCommand(spec) ? cwd : dirname(spec.script)) };
}

/**
 * @param {AppSpec} spec
 * @param {string[]} args
 */
function execArgsOf(spec, args) {
  const { kind, interpreter, interpreterArgs, script } = spec;
  if (kind === 'node') return [];
  if (isShellCommand(spec)) return ['-c', `${script} "$@"`, basename(interpreter), ...args];
  return interpreter === 'none' ? args : [...interpreterArgs, script, ...args];
}

/**
 * @param {AppSpec} spec
 * @param {{uid?: string, gid?: string}} given
 * @returns {Partial<AppSpec>}
 */
function ownedBy(spec, { uid, gid }) {
  const owner = resolveOwner({ uid: uid ?? (spec.uid === null ? undefined : String(spec.uid)), gid });
  return { uid: owner.uid, gid: owner.gid, user: owner.user, ownerEnv: owner.home === null ? {} : { HOME: owner.home, USER: owner.user, LOGNAME: owner.user } };
}
