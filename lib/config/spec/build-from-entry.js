import { basename } from 'node:path';
import { isLauncher, programName } from '../../shared/daemon/programs.js';
import { NclustError } from '../../shared/errors.js';
import { warnAboutChannel } from '../../app-spec/channel.js';
import { createFault, toFault, joinKeyPath } from '../faults.js';
import { placeScript } from '../place-script.js';
import { buildSpec } from './build.js';
import { warnAboutCluster } from './launcher.js';

/** @import { ErrorCode } from '../../shared/errors.js' */
/** @import { AppSpec } from '../../app-spec/types.js' */
/** @import { Fault } from '../faults.js' */
/** @import { Surroundings as Around } from './build.js' */
/** @import { ConfigEntry } from '../file/config-entry.js' */

/**
 * @typedef {import('./build.js').Surroundings & { folder: string, envName: string | null }}
 *   Surroundings  `cwd` is the folder of the shell, `folder` the folder of the config file.
 */

/**
 * These errors do not name an attribute. This table adds the attribute to the report.
 * @type {Partial<Record<ErrorCode, string>>}
 */
const ATTRIBUTE_OF = {
  ERR_NCLUST_CWD_NOT_FOUND: 'cwd',
  ERR_NCLUST_INTERPRETER_NOT_FOUND: 'interpreter',
  ERR_NCLUST_INTERPRETER_UNSUPPORTED: 'interpreter',
  ERR_NCLUST_NOT_PERMITTED: 'uid',
};

/**
 * @param {ConfigEntry} entry
 * @param {Surroundings} surroundings
 * @returns {{ spec: AppSpec | null, faults: Fault[], warnings: string[] }}
 */
export function buildSpecFromEntry(
  { keyPath, options, said, faults: own },
  { cwd: shellCwd, env, node, folder, envName },
) {
  if (options.script === undefined) return { spec: null, faults: own, warnings: [] };
  const place = placeScript(options.script, options.cwd, { folder, shellCwd });
  /** @type {string[]} */
  const warnings = [];
  /** @type {NonNullable<Around['unused']>} */
  const unused = (option, why, accepted) => {
    const word = said.get(ATTRIBUTE_NAME[option]);
    const where = word === undefined ? `--${ATTRIBUTE_NAME[option].replace('_', '-')}` : joinKeyPath(keyPath, word);
    warnings.push(`${where} has no effect, because ${why}; use: ${accepted}.`);
  };
  try {
    const spec = buildSpec(
      place.file ?? options.script,
      options.args ?? [],
      { ...options, cwd: place.cwd, envName: envName ?? undefined },
      { cwd: place.cwd, env, node, keyPath, unused },
    );
    return {
      spec,
      faults: own,
      warnings: [
        ...warnings,
        ...warnAboutCluster(spec, options),
        ...(warnings.length > 0 ? [] : forOtherProgram(spec, said)),
        ...warnAboutChannel(spec),
      ],
    };
  } catch (error) {
    return {
      spec: null,
      faults: [...own, findFault(error, { keyPath, options, folders: [...new Set([place.cwd, folder, shellCwd])] })],
      warnings: [],
    };
  }
}

/** @type {Record<string, string>} */
const ATTRIBUTE_NAME = { interpreter: 'interpreter', interpreterArgs: 'node_args' };

/**
 * As in PM2, npm gets options that are meant for the program that npm starts.
 * @param {AppSpec} spec
 * @param {Map<string, string>} said
 */
function forOtherProgram({ name, kind, file, script, interpreter, interpreterArgs }, said) {
  const word = said.get('node_args');
  if (word === undefined || interpreterArgs.length === 0 || interpreter === 'none') return [];
  if (isLauncher(script))
    return [
      `"${name}": ${word} goes to ${programName(script)} alone. For the program that it starts, use: ` +
        `the variable NODE_OPTIONS="${interpreterArgs.join(' ')}".`,
    ];
  const isForNode = kind === 'exec' && /^node/.test(word);
  return isForNode ? [`"${name}": ${word} goes to ${basename(file)}, which may not know it.`] : [];
}

/**
 * @param {unknown} error
 * @param {{ keyPath: string, options: Record<string, any>, folders: string[] }} o
 * @returns {Fault}
 */
function findFault(error, { keyPath, options, folders }) {
  const code = error instanceof NclustError ? error.code : undefined;
  if (code === 'ERR_NCLUST_SCRIPT_NOT_FOUND') {
    const looked = folders.map((one) => `"${one}"`).join(' or ');
    return createFault(
      joinKeyPath(keyPath, 'script'),
      `is ${JSON.stringify(options.script)}, which is not a file in ${looked} or a program in PATH`,
      'a file, a program in PATH, or a shell command with a space',
    );
  }
  const attribute = code && ATTRIBUTE_OF[code];
  return toFault(error, attribute ? joinKeyPath(keyPath, attribute) : keyPath);
}
