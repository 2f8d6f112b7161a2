import { basename, resolve } from 'node:path';
import { carryOut } from '../../cli/session/await-change.js';
import { reportChange, VERBS } from '../../cli/session/outcome.js';
import { findConfig, isConfigName } from '../../config/find.js';
import { NclustError } from '../../shared/errors.js';
import { shellQuote } from '../../shared/shell-quote.js';
import { asCaller, reachListed, reachWithApps } from './targets.js';

/** @import { Context } from '../../cli/session/context.js' */
/** @import { Outcome } from '../../cli/session/outcome.js' */
/** @import { PlanItem, SlotStatus } from '../../shared/wire/protocol.js' */

/**
 * @param {string[]} words
 * @returns {string | null}  The config file, or "-" for stdin. Null: no word is a config file.
 *   Throws ERR_NCLUST_USAGE if there are other words beside the config file.
 */
export function splitFile(words) {
  const file = words.find((word) => word === '-' || isConfigName(word)) ?? null;
  if (file === null || words.length === 1) return file;
  const others = words.filter((word) => word !== file);
  throw new NclustError(
    'ERR_NCLUST_USAGE',
    `"${file}" is a config file, but was given together with ${quoteAll(others) || 'itself'}; accepted: one ` +
      'config file, or targets.',
    { hint: 'Select apps of the file with --only, and run the command once for each file.' },
  );
}

/** @param {string[]} words */
function quoteAll(words) {
  return words.map((word) => `"${word}"`).join(', ');
}

/**
 * Starts the apps of a file. Apps that are already in the list of the manager get the settings of
 * the file and the variables of this shell.
 * @param {Context} context
 * @param {'start' | 'restart' | 'reload'} how
 * @param {string | null} file  Null: the config file in this folder.
 * @param {Record<string, any>} options
 * @param {Record<string, any>} read  The options for every app of the file.
 * @param {string[]} args  For every app of the file. Empty: the arguments in the file.
 * @returns {Promise<Outcome>}
 */
export async function renewFromFile(context, how, file, { env, only }, read, args) {
  const { renewApps } = await import('../../library/changes.js');
  const isCounted = read.instances !== undefined;
  const [doing, done] = VERBS[how];
  const caller = asCaller(context, (method, params = {}) => {
    const names = /** @type {{ name: string }[]} */ (params.specs).map(({ name }) => name);
    return carryOut(context, method, params, `${doing} ${names.join(', ')}`);
  });
  const wanted = { file, env, only, options: forEveryApp(context, read, args) };
  const { slots, plan, refused } = await renewApps(caller, how, wanted, { isPartial: true, isCounted });
  if (!isCounted) plan.flatMap(explainInstances).forEach(context.printUnlessJson);
  const outcome = await reportChange(context, slots, done, doing);
  if (!refused) return outcome;
  const started = [...new Set(slots.map(({ name }) => name))];
  const { code, message, hint, data } = refused;
  throw new NclustError(code, `${message}\nThe other apps were ${done.toLowerCase()}: ${quoteAll(started)}.`, {
    hint,
    data: { .../** @type {object} */ (data), started },
  });
}

/**
 * @param {Context} context
 * @param {Record<string, any>} read
 * @param {string[]} args
 */
function forEveryApp({ cwd }, read, args) {
  const { interpreterArgs = read.nodeArgs } = read;
  return {
    ...read,
    ...(args.length > 0 ? { args } : {}),
    ...(interpreterArgs === undefined ? {} : { interpreterArgs }),
    ...(read.cwd === undefined ? {} : { cwd: resolve(cwd, read.cwd) }),
  };
}

/**
 * Explains the number of instances, because the user did not type it.
 * @param {PlanItem} item
 */
function explainInstances({ name, changes, kept }) {
  if (kept)
    return [
      `"${name}" keeps the ${kept.instances} instances it was scaled to, because the number in the file did not ` +
        `change. To use that one: nclust scale ${shellQuote(name)} ${kept.file}`,
    ];
  return changes
    .filter(({ field }) => field === 'instances')
    .map(({ before, after }) => `"${name}": ${before} -> ${after} instances, from the file.`);
}

/**
 * @param {Context} context
 * @param {string[]} words
 * @param {Record<string, any>} options
 * @returns {Promise<{ targets: string[], all: SlotStatus[] }>}  Targets: the words, or those apps of
 *   the file that are in the list of the manager, `all`. As in PM2, it is not an error if there are
 *   none, because a deploy script may delete the apps of a file before it starts them.
 */
export async function reachTargets(context, words, { env, only }) {
  const file = splitFile(words);
  if (file === null) return { targets: (await reachListed(context, words)).targets, all: [] };
  const [{ readNames }, { noAppsError }] = await Promise.all([
    import('../../config/file/read.js'),
    import('../../library/changes.js'),
  ]);
  const { names, file: path } = await readNames(context, { file, env, only });
  if (names.length === 0) throw noAppsError(path, {});
  const client = await reachWithApps(context);
  const { slots } = (await client?.request('list')) ?? { slots: [] };
  const listed = new Set(slots.map((/** @type {SlotStatus} */ { name }) => name));
  const missing = quoteAll(names.filter((name) => !listed.has(name)));
  if (missing !== '') context.printMessage(`Not in the list: ${missing}.`);
  return { targets: names.filter((name) => listed.has(name)), all: slots };
}

/**
 * @param {Context} context
 * @param {'start' | 'restart' | 'reload'} how
 * @param {Record<string, any>} options
 */
export function warnAboutFileOptions({ printMessage, cwd }, how, { env, only }) {
  const file = findConfig(cwd);
  const use = file === null ? '' : ` Use the file: nclust ${how} ${shellQuote(basename(file))}`;
  const options = [
    ...(env === undefined ? [] : [`--env ${shellQuote(env)}`]),
    ...(only === undefined ? [] : [`--only ${shellQuote(only)}`]),
  ].join(' ');
  if (options === '') return;
  printMessage(`${options}: no effect here, because it is for a config file.${use === '' ? '' : `${use} ${options}`}`);
}
