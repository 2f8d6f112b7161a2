import { isDeepStrictEqual } from 'node:util';
import { laterFields } from '../../../lib/shared/spec/spec.js';

/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */

/** What Node.js versions need to run TypeScript: nclust's own addition to the arguments of the interpreter. */
const OF_VERSION = /^--experimental-(strip|transform)-types$/;

/**
 * A wanted spec with what the shell of an earlier command decided and no file says: its variables, and which program the name of an interpreter meant. So the same
 * file is the same wish from wherever it is applied.
 * @template {AppSpec} Spec
 * @param {AppSpec} spec  What runs.
 * @param {Spec} wanted
 * @param {boolean} isShellNew  The shell of this command is to decide anew.
 * @returns {Spec}
 */
export function asItRuns(spec, wanted, isShellNew) {
  const kept = { ...laterFields(spec), ...wanted };
  if (isShellNew) return kept;
  return { ...kept, shellEnv: spec.shellEnv, ...(isSameWord(spec, wanted) ? interpreterOf(spec, wanted) : {}) };
}

/**
 * @param {AppSpec} spec
 * @param {AppSpec} wanted
 */
function isSameWord(spec, wanted) {
  return spec.interpreterGiven === wanted.interpreterGiven && spec.script === wanted.script && spec.kind === wanted.kind && spec.interpreter !== 'none' && wanted.interpreter !== 'none';
}

/**
 * @param {AppSpec} spec
 * @param {AppSpec} wanted
 * @returns {Partial<AppSpec>}
 */
function interpreterOf({ file, interpreter, interpreterArgs, interpreterEnv, nodeVersion }, wanted) {
  const own = (/** @type {string[]} */ args) => args.filter((arg) => !OF_VERSION.test(arg));
  const isSame = isDeepStrictEqual(own(interpreterArgs), own(wanted.interpreterArgs));
  const isSameProgram = interpreter === wanted.interpreter;
  return { file, interpreter, interpreterEnv, nodeVersion: isSameProgram ? wanted.nodeVersion : nodeVersion, ...(isSame && !isSameProgram ? { interpreterArgs } : {}) };
}
