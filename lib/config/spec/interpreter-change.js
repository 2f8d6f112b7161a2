import { NclustError } from '../../shared/errors.js';
import { resolveProgram } from './interpreter.js';
import { typeStrippingFlags } from './type-stripping.js';

/** @typedef {import('../../shared/spec/spec.js').AppSpec} AppSpec */

/** What nclust puts in front of the user's own arguments, whichever interpreter it was for. */
const OURS = new Set(['run', ...['v22.6.0', 'v22.18.0'].flatMap((version) => typeStrippingFlags(version) ?? [])]);

/**
 * How the spec of an app that is in the list changes when its script is to be run by another interpreter, or with other arguments for it.
 * @param {AppSpec} spec
 * @param {object} o
 * @param {string} [o.interpreter]  Default: the one it has.
 * @param {string[]} [o.interpreterArgs]  Default: those it has.
 * @param {Omit<import('./interpreter.js').Where, 'cwd'>} where
 * @returns {Partial<AppSpec>}  Throws ERR_NCLUST_USAGE and ERR_NCLUST_INTERPRETER_*.
 */
export function interpreterChange(spec, { interpreter, interpreterArgs }, where) {
  if (isShellCommand(spec)) throw refused(`"${spec.name}" is a shell command and has no interpreter to change`);
  const program = resolveProgram(spec.script, interpreter ?? spec.interpreter, { ...where, cwd: spec.cwd });
  if (spec.mode === 'cluster' && program.kind !== 'node') throw refused(`"${spec.name}" runs in cluster mode, which "${program.file}" has not: it is no Node.js`);
  const own = interpreterArgs ?? spec.interpreterArgs.filter((arg) => !OURS.has(arg));
  if (program.interpreter === 'none' && own.length > 0) throw refused(`"${spec.script}" runs without an interpreter, which needs no arguments`);
  const isComplete = program.flags.length > 0 && program.flags[0] === own[0];
  const flags = isComplete ? own : [...program.flags, ...own];
  const execArgs = program.kind === 'node' ? [] : program.interpreter === 'none' ? spec.args : [...flags, spec.script, ...spec.args];
  return { kind: program.kind, file: program.file, interpreter: program.interpreter, interpreterEnv: program.env, ...(interpreter === undefined ? {} : { interpreterGiven: interpreter }), nodeVersion: program.nodeVersion, interpreterArgs: flags, execArgs };
}

/** @param {AppSpec} spec */
export function isShellCommand({ kind, interpreterArgs, execArgs }) {
  return kind === 'exec' && interpreterArgs[0] === '-c' && execArgs[0] === '-c';
}

/** @param {string} why */
function refused(why) {
  return new NclustError('ERR_NCLUST_USAGE', `--interpreter or its arguments were given, and ${why}.`, { hint: 'Without them the app is reloaded as it is; to change more, delete it and start it anew.' });
}
