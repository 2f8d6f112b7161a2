import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { change } from '../../cli/session/outcome.js';
import { readOptions } from '../../config/options/options.js';
import { snapshot } from '../../config/spec/build.js';
import { changesOf } from '../../library/setting-changes.js';
import { NclustError } from '../../shared/errors.js';
import { shellQuote } from '../../shared/shell-quote.js';
import { splitFile, renewFromFile, warnAboutFileOptions } from './from-file.js';
import { reachListed } from './targets.js';

/** @import { Context } from '../../cli/session/context.js' */
/** @import { Outcome } from '../../cli/session/outcome.js' */

/**
 * @param {Context} context
 * @param {string[]} words  The targets, or a config file.
 * @param {Record<string, any>} options
 * @param {string[]} [args]  After "--": the app's new arguments.
 * @returns {Promise<Outcome>}
 */
export async function restart(context, words, options, args) {
  if (!options.watch) return replace(context, 'restart', words, options, args);
  return replace(context, 'restart', words, options, args, { watch: true }).catch((error) => {
    throw explainWatchedPath(context, error, words);
  });
}

/**
 * @param {Context} context
 * @param {string[]} words  The targets, or a config file.
 * @param {Record<string, any>} options
 * @param {string[]} [args]  After "--": the app's new arguments.
 */
export function reload(context, words, options, args) {
  return replace(context, 'reload', words, options, args);
}

/**
 * An option of the command becomes a setting of the app.
 * @param {Context} context
 * @param {'restart' | 'reload'} how
 * @param {string[]} words
 * @param {Record<string, any>} options
 * @param {string[]} [args]
 * @param {{ watch?: boolean }} [more]
 * @returns {Promise<Outcome>}
 */
async function replace(context, how, words, options, args = [], more = {}) {
  const read = readOptions(how, options);
  const file = splitFile(words);
  if (file !== null) return renewFromFile(context, how, file, options, read, args);
  warnAboutFileOptions(context, how, options);
  const { client, targets } = await reachListed(context, words);
  const shell = options.updateEnv ? { env: snapshot(context.env) } : {};
  const changes = await changesOf(client, targets, { ...read, args }, context);
  return change(context, how, { targets, ...changes, ...shell, ...more }, words);
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
