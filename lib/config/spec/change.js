import { dirname, resolve } from 'node:path';
import { isNode } from '../../shared/daemon/programs.js';
import { NclustError } from '../../shared/errors.js';
import { readUser } from '../../shared/host/as-user.js';
import { readProgramVariables } from '../../app-spec/layers.js';
import { shellQuote } from '../../shared/shell-quote.js';
import { longFlag, OPTIONS_OF } from '../../app-spec/table.js';
import { specFields } from '../options/options.js';
import { appVersion, checkFolder, shellArgs, snapshot } from './build.js';
import { execArgsOf, programFields, resolveProgram, typeStrippingFlags, splitNodeOptions } from './interpreter.js';
import { ownerVariables, resolveOwner } from './owner.js';

/** @import { AppSpec } from '../../app-spec/types.js' */
/** @import { SlotStatus } from '../../shared/wire/protocol.js' */
/** @import { Surroundings } from './build.js' */
/** @import { Where } from './interpreter.js' */

/**
 * Handles only options that also change other fields: folder, user, interpreter and arguments.
 * @param {AppSpec} spec
 * @param {Record<string, any>} options  From readOptions().
 * @param {string[]} args  For the app. Empty: keeps the present arguments.
 * @param {Surroundings} surroundings
 * @returns {Partial<AppSpec>}  Throws like buildSpec().
 */
export function specChange(spec, options, args, { cwd: shellCwd, env, node }) {
  const { interpreter, interpreterArgs = options.nodeArgs, cwd, uid, gid } = options;
  const moved = cwd === undefined ? {} : inFolder(spec, checkFolder(resolve(shellCwd, cwd)));
  const execArgs = isShellCommand(spec) ? shellArgs(spec.script, spec.interpreter, args) : execArgsOf(spec, args);
  const newArgs = args.length === 0 ? {} : { args, execArgs };
  const owned = uid === undefined && gid === undefined ? {} : resolveOwnerFields(spec, { uid, gid });
  const asked = { ...spec, ...moved, ...newArgs, ...owned };
  const run =
    interpreter === undefined && interpreterArgs === undefined
      ? {}
      : interpreterChange(asked, { interpreter, interpreterArgs }, { path: env.PATH, node });
  return { ...moved, ...newArgs, ...run, ...owned };
}

/** Keys of options of `start` that can change an app that is already in the list. */
const STARTABLE = new Set([...OPTIONS_OF.reload.map(({ key }) => key), 'instances']);

/**
 * @param {SlotStatus[]} slots  With detail.
 * @param {object} o
 * @param {Record<string, any>} o.read  From readOptions().
 * @param {string[]} o.args  For the apps. Empty: keeps the present arguments.
 * @param {boolean} o.isShellNew  The apps get the variables of this shell.
 * @param {Surroundings} surroundings
 * @returns {AppSpec[]}
 */
export function changeSpecs(slots, { read, args, isShellNew }, surroundings) {
  const specs = new Map(slots.map((slot) => [slot.name, /** @type {AppSpec} */ (slot.spec)]));
  const fixed = Object.keys(read).filter((key) => !STARTABLE.has(key));
  if (fixed.length > 0)
    throw new NclustError(
      'ERR_NCLUST_USAGE',
      `${findFlag(fixed[0])} is for a new app, but "${slots[0].name}" is in the list already.`,
      { hint: `Start it under another --name, or delete it first: nclust delete ${shellQuote(slots[0].name)}` },
    );
  const shellEnv = isShellNew ? { shellEnv: snapshot(surroundings.env) } : {};
  return [...specs.values()].map((spec) => ({
    ...spec,
    ...specFields(read),
    ...(read.watch === undefined ? {} : { watchOff: false }),
    ...specChange(spec, read, args, surroundings),
    ...shellEnv,
    ...(read.instances === undefined ? {} : countedAs(spec)),
  }));
}

/** @param {string} key */
function findFlag(key) {
  return longFlag(OPTIONS_OF.start.find((option) => option.key === key)?.flags ?? '') ?? key;
}

/**
 * With a number of instances, a Node.js program runs in cluster mode, as a new app with -i does.
 * @param {AppSpec} spec
 * @returns {Partial<AppSpec>}
 */
function countedAs({ kind, mode }) {
  return { instancesGiven: true, mode: kind === 'node' ? 'cluster' : mode };
}

/**
 * @param {AppSpec} spec
 * @param {string} cwd
 */
function inFolder(spec, cwd) {
  return { cwd, version: appVersion(isShellCommand(spec) ? cwd : dirname(spec.script), readUser(spec)) };
}

/**
 * @param {AppSpec} spec
 * @param {{ uid?: string, gid?: string }} given
 * @returns {Partial<AppSpec>}
 */
function resolveOwnerFields(spec, { uid, gid }) {
  const owner = resolveOwner({ uid: uid ?? (spec.uid === null ? undefined : String(spec.uid)), gid });
  return { uid: owner.uid, gid: owner.gid, user: owner.user, ownerEnv: ownerVariables(owner) };
}

/** Flags that nclust may add before the flags of the user, for any interpreter. */
const OURS = new Set(['run', ...['v22.6.0', 'v22.18.0'].flatMap((version) => typeStrippingFlags(version) ?? [])]);

/**
 * @param {AppSpec} spec
 * @param {object} o
 * @param {string} [o.interpreter]  Default: the current one.
 * @param {string[]} [o.interpreterArgs]  Default: the current ones.
 * @param {Pick<Where, 'path' | 'node'>} where
 * @returns {Partial<AppSpec>}
 */
export function interpreterChange(spec, { interpreter, interpreterArgs }, where) {
  if (isShellCommand(spec)) throw refused(`"${spec.name}" is a shell command, which has no interpreter`);
  const own = interpreterArgs ?? spec.interpreterArgs.filter((arg) => !OURS.has(arg));
  const program = resolveProgram(spec.script, interpreter ?? spec.interpreter, {
    ...where,
    cwd: spec.cwd,
    owner: spec,
    env: readProgramVariables(spec, process.env),
    nodeArgs: [...own, ...splitNodeOptions(spec.env.NODE_OPTIONS ?? spec.shellEnv.NODE_OPTIONS)],
  });
  if (spec.mode === 'cluster' && program.kind !== 'node')
    throw refused(`"${spec.name}" runs in cluster mode, and "${program.file}" is not Node.js`);
  if (program.interpreter === 'none' && !isNode(program.file) && own.length > 0)
    throw refused(`"${spec.script}" runs without an interpreter, so there is nothing to give arguments to`);
  const fields = programFields(program, spec.script, { args: spec.args, given: own });
  return { ...fields, ...(interpreter === undefined ? {} : { interpreterGiven: interpreter }) };
}

/** @param {AppSpec} spec */
function isShellCommand({ kind, interpreterArgs, execArgs }) {
  return kind === 'exec' && interpreterArgs[0] === '-c' && execArgs[0] === '-c';
}

/** @param {string} why */
function refused(why) {
  return new NclustError('ERR_NCLUST_USAGE', `--interpreter or its arguments were given, but ${why}.`, {
    hint: 'Leave them out to reload the app unchanged. To change more, delete the app and start it again.',
  });
}
