// Knows: how attributes become a spec: program, interpreter, owner, version.
// Must not: ask the manager, or change a file.
// Start at: buildSpec(), then interpreter.js; build-from-entry.js is for entries of config files.
import { basename, dirname, extname, join, resolve } from 'node:path';
import { isFile, isFolder } from '../../shared/daemon/files.js';
import { isNode } from '../../shared/daemon/programs.js';
import { NclustError } from '../../shared/errors.js';
import { readUser } from '../../shared/host/as-user.js';
import { readProgramVariables } from '../../app-spec/layers.js';
import { checkSpec } from '../../app-spec/check.js';
import { readPm2Variables, specFields } from '../options/options.js';
import { findConfig } from '../find.js';
import { readPackage } from '../package-json.js';
import { mainFile } from '../place-script.js';
import { findProgram, noScriptError } from './find-program.js';
import { programFields, resolveProgram, splitNodeOptions } from './interpreter.js';
import { ownerVariables, resolveOwner } from './owner.js';

/** @import { User } from '../../shared/host/user-path.js' */
/** @import { AppSpec } from '../../app-spec/types.js' */
/** @import { Program } from './interpreter.js' */
/** @import { Owner } from './owner.js' */

/**
 * @typedef {object} Surroundings  The shell of the command.
 * @property {string} cwd
 * @property {Record<string, string | undefined>} env
 * @property {{ file: string, version: string }} node
 * @property {string} [keyPath]  Names the app of a config file in messages. Default: the target.
 * @property {(option: 'interpreter' | 'interpreterArgs', why: string, accepted: string) => void}
 *   [unused]  Called for an option that has no effect. Default: throws ERR_NCLUST_USAGE.
 */

/**
 * Apps must not inherit these variables. This command has them if it runs in an app of nclust, in
 * a systemd unit, or in a child process with an IPC channel.
 */
const NOT_INHERITED = [
  'NCLUST_INSTANCE',
  'NCLUST_KEEPER_INHERIT',
  'NODE_CHANNEL_FD',
  'NODE_CHANNEL_SERIALIZATION_MODE',
  'NODE_UNIQUE_ID',
  'NOTIFY_SOCKET',
  'WATCHDOG_USEC',
  'WATCHDOG_PID',
];

const NAME_MAX = 100;

/**
 * @param {string} target  Script, program in PATH, or shell command.
 * @param {string[]} args
 * @param {Record<string, any>} options  From readOptions().
 * @param {Surroundings} surroundings
 * @returns {AppSpec}  Throws ERR_NCLUST_SCRIPT_NOT_FOUND, _CWD_NOT_FOUND, _INTERPRETER_*,
 *   _NOT_PERMITTED, _BAD_SPEC, _USAGE.
 */
export function buildSpec(target, args, options, surroundings) {
  const cwd = checkFolder(resolve(surroundings.cwd, options.cwd ?? '.'));
  const what = locate(target, cwd, surroundings);
  const owner = resolveOwner(options);
  const variables = {
    shellEnv: snapshot(surroundings.env),
    ownerEnv: ownerVariables(owner),
    ...variablesOf(options),
  };
  const run = what.isCommand
    ? throughShell(what.script, args, options, surroundings)
    : ofScript(what.script, args, options, { ...surroundings, cwd, owner, variables });
  const instancesGiven = options.instances !== undefined;
  return checkSpec(
    {
      name: defaultName(target, what),
      ...specFields({ ...readPm2Variables(surroundings.env).defaults, ...options }),
      interpreterEnv: {},
      ...run,
      script: what.script,
      args,
      cwd,
      mode: run.kind === 'node' && wantsCluster(options) ? 'cluster' : 'fork',
      instancesGiven,
      envName: options.envName ?? null,
      ...variables,
      uid: owner.uid,
      gid: owner.gid,
      user: options.username ?? owner.user,
      version: appVersion(what.isCommand ? cwd : dirname(what.script), readUser(owner)),
    },
    surroundings.keyPath ?? target,
  );
}

/** @param {Record<string, any>} options */
export function variablesOf({ env = {}, port }) {
  const all = Object.entries(port === undefined ? env : { ...env, PORT: port });
  return {
    env: Object.fromEntries(all.map(([key, value]) => [key, String(value)])),
    envUnquoted: all.flatMap(([key, value]) => (typeof value === 'string' ? [] : [key])),
  };
}

/** @param {Record<string, any>} options */
function wantsCluster({ execMode, executeCommand, instances }) {
  return !executeCommand && (execMode === undefined ? instances !== undefined : execMode === 'cluster');
}

/**
 * The variables that an app gets from the shell.
 * @param {Record<string, string | undefined>} env
 */
export function snapshot(env) {
  const kept = Object.entries(env).filter(([key, value]) => value !== undefined && !NOT_INHERITED.includes(key));
  return /** @type {Record<string, string>} */ (Object.fromEntries(kept));
}

/**
 * Looks for a file first, because the name of a file may contain a space.
 * @param {string} target
 * @param {string} cwd
 * @param {Surroundings} surroundings
 */
export function locate(target, cwd, { cwd: shellCwd, env, keyPath }) {
  const files = [...new Set([resolve(cwd, target), resolve(shellCwd, target)])];
  const isWord = !/[ /]/.test(target.trim());
  const file = files.find(isFile) ?? (isWord ? findProgram(target, { path: env.PATH, cwd }) : null);
  if (file) return { script: file, isCommand: false };
  const main = findMain(files, keyPath);
  if (main) return { script: main, isCommand: false, isFolder: true };
  if (target.trim().includes(' ')) return { script: target.trim(), isCommand: true };
  throw noScriptError(target, files[0]);
}

/**
 * On the command line, a folder may stand for its config file, so it must have none.
 * @param {string[]} folders
 * @param {string | undefined} keyPath
 */
function findMain(folders, keyPath) {
  const own = keyPath === undefined ? folders.filter((folder) => findConfig(folder) === null) : folders;
  return own.map(mainFile).find((file) => file !== null) ?? null;
}

/**
 * @param {string} script
 * @param {string[]} args
 * @param {Record<string, any>} options
 * @param {Surroundings & { owner: Owner, variables: Pick<AppSpec, 'shellEnv' | 'ownerEnv' | 'env'> }}
 *   surroundings
 * @returns {Partial<AppSpec>}
 */
function ofScript(script, args, options, { cwd, env, node, owner, variables, unused = refuse(options) }) {
  const { interpreter, interpreterArgs = options.nodeArgs ?? [] } = options;
  const nodeArgs = [
    ...interpreterArgs,
    ...splitNodeOptions(String(options.env?.NODE_OPTIONS ?? env.NODE_OPTIONS ?? '')),
  ];
  const { filterEnv = false } = options;
  const ofApp = { interpreterEnv: {}, fileEnv: [], filterEnv, ...variables, uid: owner.uid };
  const forVersion = readProgramVariables(ofApp, env);
  const program = resolveProgram(script, interpreter, { path: env.PATH, cwd, node, owner, env: forVersion, nodeArgs });
  // Node.js as the script itself takes the flags: `script: "node", args: "app.js"`.
  const isUnused = program.interpreter === 'none' && !isNode(program.file);
  if (isUnused && interpreterArgs.length > 0)
    unused('interpreterArgs', `"${script}" runs without an interpreter`, 'arguments of the program itself');
  const ours = program.kind === 'node' && wantsSourceMaps(script, options) ? ['--enable-source-maps'] : [];
  const fields = programFields(program, script, { args, given: isUnused ? [] : interpreterArgs, ours });
  return { ...fields, interpreterGiven: interpreter ?? null };
}

/**
 * @param {string} script
 * @param {Record<string, any>} options
 */
function wantsSourceMaps(script, { sourceMapSupport = isFile(`${script}.map`), disableSourceMapSupport }) {
  return sourceMapSupport && !disableSourceMapSupport;
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {Record<string, any>} options
 * @param {Surroundings} surroundings
 * @returns {Partial<AppSpec>}
 */
function throughShell(command, args, options, { cwd, env, unused = refuse(options) }) {
  const { interpreter = 'none', interpreterArgs = options.nodeArgs ?? [] } = options;
  const why = `"${command}" is a shell command and not a file`;
  if (interpreter !== 'none') unused('interpreter', why, 'one of the two');
  if (interpreterArgs.length > 0)
    unused(
      'interpreterArgs',
      why,
      `the variable NODE_OPTIONS="${interpreterArgs.join(' ')}" for its Node.js processes`,
    );
  const shell = findProgram('bash', { path: env.PATH, cwd }) ?? '/bin/sh';
  const execArgs = shellArgs(command, shell, args);
  return { kind: 'exec', file: shell, interpreter: shell, interpreterArgs: ['-c'], execArgs, nodeVersion: null };
}

/**
 * The shell replaces "$@" with the arguments, so they need no quotes. basename(shell) is $0.
 * @param {string} command
 * @param {string} shell
 * @param {string[]} args
 */
export function shellArgs(command, shell, args) {
  return args.length === 0 ? ['-c', command] : ['-c', `${command} "$@"`, basename(shell), ...args];
}

/**
 * @param {Record<string, any>} options
 * @returns {NonNullable<Surroundings['unused']>}
 */
function refuse({ interpreterArgs }) {
  const flags = {
    interpreter: '--interpreter',
    interpreterArgs: interpreterArgs === undefined ? '--node-args' : '--interpreter-args',
  };
  return (option, why, accepted) => {
    throw new NclustError('ERR_NCLUST_USAGE', `${flags[option]} was given, but ${why}; accepted: ${accepted}.`);
  };
}

/**
 * @param {string} target
 * @param {{ script: string, isCommand: boolean, isFolder?: boolean }} what
 */
export function defaultName(target, { script, isCommand, isFolder = false }) {
  const ofFile = isFolder ? basename(resolve(target)) : basename(script, extname(script));
  const name = isCommand ? target.trim().replace(/\s+/g, ' ') : ofFile;
  return (name || basename(script)).slice(0, NAME_MAX);
}

/**
 * @param {string} folder
 * @returns {string}
 */
export function checkFolder(folder) {
  if (isFolder(folder)) return folder;
  throw new NclustError(
    'ERR_NCLUST_CWD_NOT_FOUND',
    `The working directory "${folder}" does not exist or is not a directory.`,
    { hint: 'Create it, or give another --cwd.' },
  );
}

/**
 * Returns the version of the nearest package.json that has one, or "N/A".
 * @param {string} folder
 * @param {User | null} user
 * @returns {string}
 */
export function appVersion(folder, user) {
  for (let at = folder; ; at = dirname(at)) {
    const { version } = readPackage(join(at, 'package.json'), user);
    if (typeof version === 'string' && version) return version;
    if (at === dirname(at)) return 'N/A';
  }
}
