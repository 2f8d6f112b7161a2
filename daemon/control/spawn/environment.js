import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { allInOrder } from '../../../lib/shared/all-in-order.js';
import { readUser } from '../../../lib/shared/host/as-user.js';
import { areVariables } from '../../../lib/app-spec/environment-fields.js';
import { environmentFault } from '../../../lib/app-spec/layers.js';
import { NclustError } from '../../../lib/shared/errors.js';
import { findApp } from '../state/desired.js';
import { readWhole } from '../host/read-bounded.js';

/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { Clock } from '../host/clock.js' */
/** @import { Change } from '../state/desired.js' */
/** @import { Secrets } from './secrets.js' */

/**
 * @typedef {object} SpawnInputs
 * @property {(spec: AppSpec) => AppSpec} fill  Throws ERR_NCLUST_ENV_FILE if the spec names a
 *   file that was not read.
 * @property {<T extends Change>(change: T) => T} keep  Stores the secrets of new generations.
 */

/**
 * Reads the env files and secrets that the spec names. Each generation keeps the values with which
 * it was started.
 * @typedef {object} Environment
 * @property {(specs: AppSpec[]) => Promise<SpawnInputs>} read
 *   Rejects with ERR_NCLUST_ENV_FILE, ERR_NCLUST_SECRET, ERR_NCLUST_BAD_SPEC.
 * @property {Secrets} secrets
 */

/** Larger than any real env file. */
const FILE_MAX_BYTES = 1024 * 1024;

/** For repeated requests, because the first request has read everything. @type {SpawnInputs} */
export const NOTHING_FRESH = { fill: (spec) => spec, keep: (change) => change };

/**
 * @param {{ clock: Clock, secrets: Secrets, readFile?: typeof readWhole }} o
 * @returns {Environment}
 */
export function createEnvironment({ clock, secrets, readFile = readWhole }) {
  return {
    secrets,
    async read(specs) {
      const wanted = new Map(
        specs.flatMap((spec) =>
          getPaths(spec).map((file) => [getKey(spec, file), { file, name: spec.name, user: readUser(spec) }]),
        ),
      );
      const files = new Map(
        await allInOrder(
          [...wanted].map(async ([key, { file, name, user }]) => {
            const found = await readFile(file, { maxBytes: FILE_MAX_BYTES, clock, user });
            return /** @type {const} */ ([key, await parsed(file, name, found)]);
          }),
        ),
      );
      const filled = specs.map((spec) => fill(spec, files));
      for (const spec of filled) refuseFault(spec);
      const held = await Promise.all(
        filled.filter(hasSecrets).map(async (spec) => ({ spec, values: await secrets.read(spec) })),
      );
      return {
        fill: (spec) => fill(spec, files),
        keep(change) {
          for (const { spec, values } of held) {
            const app = findApp(change.desired, spec.name);
            if (app && isDeepStrictEqual(app.spec.secrets, spec.secrets)) secrets.keep(change.desired, app, values);
          }
          return change;
        },
      };
    },
  };
}

/** @param {AppSpec} spec */
function hasSecrets({ secrets }) {
  return Object.keys(secrets).length > 0;
}

/** @param {AppSpec} spec */
function getPaths({ envFiles, cwd }) {
  return envFiles.map((file) => resolve(cwd, file));
}

/**
 * The key contains the user, because each file is read with the rights of the app's user.
 * @param {AppSpec} spec
 * @param {string} file
 */
function getKey({ uid, gid }, file) {
  return `${uid} ${gid} ${file}`;
}

/**
 * @param {AppSpec} spec
 * @param {Map<string, Record<string, string>>} files  By keyOf().
 */
function fill(spec, files) {
  if (spec.envFiles.length === 0 && spec.fileEnv.length === 0) return spec;
  const fileEnv = getPaths(spec).map((file) => {
    const env = files.get(getKey(spec, file)) ?? spec.fileEnv.find((one) => one.file === file)?.env;
    if (env) return { file, env };
    throw badFile(file, spec.name, 'was added by another command in between');
  });
  return { ...spec, fileEnv };
}

/**
 * @param {string} file
 * @param {string} name
 * @param {Awaited<ReturnType<typeof readWhole>>} found
 * @returns {Promise<Record<string, string>>}
 */
async function parsed(file, name, found) {
  if (found.bytes === null) throw badFile(file, name, found.fault, found.hint);
  const { parse } = await import('dotenv');
  const env = parse(found.bytes);
  if (!areVariables(env)) throw badFile(file, name, 'contains a NUL, which a variable cannot');
  return env;
}

/**
 * @param {string} file
 * @param {string} name
 * @param {string} why
 * @param {string | null} [hint]
 */
function badFile(file, name, why, hint = null) {
  return new NclustError('ERR_NCLUST_ENV_FILE', `The env file "${file}" of "${name}" ${why}. Nothing was changed.`, {
    hint: hint ?? 'A relative path is resolved against the working directory of the app.',
    data: { name, file },
  });
}

/** @param {AppSpec} spec */
function refuseFault(spec) {
  const fault = environmentFault(spec);
  if (fault !== null)
    throw new NclustError('ERR_NCLUST_BAD_SPEC', `"${spec.name}" cannot be started: ${fault}. Nothing was changed.`, {
      hint: 'Set the variable in "env" to the number of the first instance.',
      data: { keyPath: 'incrementVar', accepted: 'the name of a variable that is set to a whole number' },
    });
}
