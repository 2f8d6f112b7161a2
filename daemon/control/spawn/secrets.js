import { NclustError } from '../../../lib/shared/errors.js';
import { NoSecret, readSecret } from './secret-source.js';

/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { Clock } from '../host/clock.js' */
/** @import { DesiredApp, Desired } from '../state/desired.js' */

/** @typedef {Record<string, string>} Values  By variable. */

/**
 * Control keeps secrets only in memory, until their generation is over.
 * @typedef {object} Secrets
 * @property {(spec: AppSpec) => Promise<Values>} read  Rejects with ERR_NCLUST_SECRET.
 * @property {(app: DesiredApp, generation: number) => Values | null} known
 * @property {(app: DesiredApp, generation: number, spec: AppSpec) => Promise<Values>} need
 *   Reads only once for several instances that ask at the same time.
 * @property {(desired: Desired, app: DesiredApp, values: Values) => void} keep
 *   Stores the values for the newest generation. Drops the values of generations that are over.
 */

/**
 * @param {{ clock: Clock, readOne?: typeof readSecret }} o
 * @returns {Secrets}
 */
export function createSecrets({ clock, readOne = readSecret }) {
  /** @type {Map<string, { generation: number, values: Values }>} */
  const kept = new Map();
  /** @type {Map<string, Promise<Values>>} */
  const underWay = new Map();

  /** @type {Secrets['read']} */
  async function read(spec) {
    const names = Object.keys(spec.secrets);
    const values = await Promise.all(
      names.map((name) =>
        readOne(spec, name, clock).catch((error) => {
          throw refused(spec, name, error);
        }),
      ),
    );
    return Object.fromEntries(names.map((name, at) => [name, values[at]]));
  }

  return {
    read,
    known: (app, generation) => kept.get(getKey(app, generation))?.values ?? null,
    need(app, generation, spec) {
      const key = getKey(app, generation);
      const begun =
        underWay.get(key) ??
        read(spec)
          .then((values) => {
            kept.set(key, { generation, values });
            return values;
          })
          .finally(() => underWay.delete(key));
      underWay.set(key, begun);
      return begun;
    },
    keep(desired, app, values) {
      for (const [key, { generation }] of kept) if (!isUsed(desired, key, generation)) kept.delete(key);
      kept.set(getKey(app, app.generation), { generation: app.generation, values });
    },
  };
}

/**
 * A renamed app keeps its key. An app that was deleted and started again gets another key.
 * @param {DesiredApp} app
 * @param {number} generation
 */
function getKey({ spec, createdAtMs, scope = spec.name }, generation) {
  return `${scope}\t${createdAtMs}\t${generation}`;
}

/**
 * @param {Desired} desired
 * @param {string} key
 * @param {number} generation
 */
function isUsed({ apps }, key, generation) {
  return apps.some(
    (app) =>
      getKey(app, generation) === key &&
      app.slots.some((slot) => slot.generation === generation || slot.former?.generation === generation),
  );
}

/**
 * @param {AppSpec} spec
 * @param {string} name
 * @param {unknown} error
 */
function refused(spec, name, error) {
  // An error that is not a NoSecret is a bug in nclust, and its message might contain the secret.
  const why = error instanceof NoSecret ? error.message : 'is not available, for a reason that must not be shown';
  return new NclustError('ERR_NCLUST_SECRET', `The secret "${name}" of "${spec.name}" ${why}.`, {
    hint: (error instanceof NoSecret && error.hint) || 'Fix the file or the command in its "secrets".',
    data: { name: spec.name, secret: name },
  });
}
