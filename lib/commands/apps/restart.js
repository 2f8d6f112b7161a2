import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { change } from '../../cli/session/outcome.js';
import { readOptions, specFields } from '../../config/options/options.js';
import { snapshot } from '../../config/spec/build.js';
import { NclustError } from '../../shared/errors.js';
import { shellQuote } from '../../shared/shell-quote.js';
import { splitFile, renewFromFile, warnAboutFileOptions, overrideArgs } from './from-file.js';
import { reachListed } from './targets.js';

/** @import { Context } from '../../cli/session/context.js' */
/** @import { Outcome } from '../../cli/session/outcome.js' */
/** @import { Client } from '../../client/client.js' */
/** @import { AppSpec } from '../../app-spec/types.js' */
/** @import { SlotStatus } from '../../shared/wire/protocol.js' */

/**
 * An option of the command becomes a setting of the app.
 * @param {Context} context
 * @param {string[]} words  The targets, or a config file.
 * @param {Record<string, any>} options
 * @param {string[]} [args]  After "--": the app's new arguments.
 * @returns {Promise<Outcome>}
 */
export async function restart(context, words, options, args = []) {
  const read = readOptions('restart', options);
  const file = splitFile(words);
  if (file !== null) return renewFromFile(context, 'restart', file, options, overrideArgs(read, args));
  warnAboutFileOptions(context, 'restart', options);
  const { client, targets } = await reachListed(context, words);
  const changes = {
    ...commonChanges(specFields(read)),
    ...(await ownChanges(context, client, targets, { read, args })),
    ...(options.updateEnv ? { env: snapshot(context.env) } : {}),
    ...(options.watch ? { watch: true } : {}),
  };
  return change(context, client, 'restart', { targets, ...changes }, ['Restarting', 'Restarted'], words, options).catch(
    (error) => {
      throw options.watch ? explainWatchedPath(context, error, words) : error;
    },
  );
}

/**
 * An option of the command becomes a setting of the app.
 * @param {Context} context
 * @param {string[]} words  The targets, or a config file.
 * @param {Record<string, any>} options
 * @param {string[]} [args]  After "--": the app's new arguments.
 * @returns {Promise<Outcome>}
 */
export async function reload(context, words, options, args = []) {
  const read = readOptions('reload', options);
  const file = splitFile(words);
  if (file !== null) return renewFromFile(context, 'reload', file, options, overrideArgs(read, args));
  warnAboutFileOptions(context, 'reload', options);
  const { client, targets } = await reachListed(context, words);
  const changes = {
    ...commonChanges(specFields(read)),
    ...(await ownChanges(context, client, targets, { read, args })),
    ...(options.updateEnv ? { env: snapshot(context.env) } : {}),
  };
  return change(context, client, 'reload', { targets, ...changes }, ['Reloading', 'Reloaded'], words, options);
}

/**
 * Of "nclust restart api --watch src", "src" is a target.
 * @param {Context} context
 * @param {unknown} error
 * @param {string[]} words
 */
function explainWatchedPath({ cwd }, error, words) {
  if (!(error instanceof NclustError) || error.code !== 'ERR_NCLUST_APP_NOT_FOUND') return error;
  const target = /** @type {any} */ (error.data)?.target;
  const path = words.find((word) => [word, resolve(cwd, word)].includes(target) && existsSync(resolve(cwd, word)));
  const apps = words.filter((word) => word !== path);
  if (path === undefined || apps.length === 0) return error;
  return new NclustError(error.code, error.message, {
    hint:
      `restart --watch takes no path; reload does: nclust reload ${apps.map(shellQuote).join(' ')} ` +
      `--watch ${shellQuote(path)}`,
    data: error.data,
    cause: error,
  });
}

const OF_ONE = ['cwd', 'interpreter', 'interpreterArgs', 'nodeArgs', 'uid', 'gid'];

/**
 * @param {Context} context
 * @param {Client} client
 * @param {string[]} targets
 * @param {{ read: Record<string, any>, args: string[] }} o
 * @returns {Promise<{ specs?: Record<string, Partial<AppSpec>> }>}  By name.
 */
async function ownChanges(context, client, targets, { read, args }) {
  if (args.length === 0 && OF_ONE.every((key) => read[key] === undefined)) return {};
  const { specChange } = await import('../../config/spec/change.js');
  /** @type {{ slots: SlotStatus[] }} */
  const { slots } = await client.request('list', { targets, detail: true });
  const specs = new Map(slots.map((slot) => [slot.name, /** @type {AppSpec} */ (slot.spec)]));
  return { specs: Object.fromEntries([...specs].map(([name, spec]) => [name, specChange(spec, read, args, context)])) };
}

/**
 * @param {Partial<AppSpec>} spec
 * @returns {{ spec?: Partial<AppSpec> }}
 */
function commonChanges(spec) {
  return Object.keys(spec).length > 0 ? { spec } : {};
}
