import { basename, resolve } from 'node:path';
import { carryOut } from '../../cli/session/await-change.js';
import { reportChange } from '../../cli/session/outcome.js';
import { findConfig, isConfigName } from '../../config/find.js';
import { NclustError } from '../../shared/errors.js';
import { shellQuote } from '../../shared/shell-quote.js';
import { reachListed, reachWithApps } from './targets.js';

/** @import { Context } from '../../cli/session/context.js' */
/** @import { Outcome } from '../../cli/session/outcome.js' */
/** @import { Client } from '../../client/client.js' */
/** @import { Wanted } from '../../config/file/read.js' */
/** @import { AppSpec } from '../../app-spec/types.js' */
/** @import { PlanItem, SlotStatus } from '../../shared/wire/protocol.js' */

const DOING = { start: 'Starting', restart: 'Restarting', reload: 'Reloading' };
const DONE = { start: 'Started', restart: 'Restarted', reload: 'Reloaded' };

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
 * @param {Record<string, any>} read  Options of the command line for every app.
 * @returns {Promise<Outcome>}
 */
export async function renewFromFile(context, how, file, options, read) {
  const { wait, json } = options;
  const isCounted = read.instances !== undefined;
  const config = await readSpecs(context, readFileApps(context, file, options, read));
  const { refused } = config;
  const client = await context.manager();
  const request = {
    specs: config.specs,
    how,
    ...(config.file === null ? {} : { file: config.file }),
    ...(isCounted ? { isCounted } : {}),
    wait,
  };
  const names = config.specs.map(({ name }) => name).join(', ');
  /** @type {{ slots: SlotStatus[], plan?: PlanItem[] }} */
  const { slots, plan = [] } = await carryOut(
    context,
    client,
    'restartFromFile',
    request,
    `${DOING[how]} ${names}`,
  ).catch((error) => {
    if (refused) context.talk(refused.message);
    throw error;
  });
  if (!json && !isCounted) for (const sentence of plan.flatMap(explainInstances)) context.talk(sentence);
  const outcome = await reportChange(context, client, slots, { done: wait ? DONE[how] : DOING[how], json });
  if (refused) throw partlyDone(refused, slots, how);
  return outcome;
}

/**
 * @param {NclustError} refused
 * @param {{ name: string }[]} slots  Of the other apps of the file.
 * @param {keyof typeof DONE} how
 */
function partlyDone({ code, message, hint, data }, slots, how) {
  const started = [...new Set(slots.map(({ name }) => name))];
  return new NclustError(code, `${message}\nThe other apps were ${DONE[how].toLowerCase()}: ${quoteAll(started)}.`, {
    hint,
    data: { .../** @type {object} */ (data), started },
  });
}

/**
 * @param {Context} context
 * @param {Wanted} wanted
 * @returns {Promise<{ specs: AppSpec[], file: string | null, refused: NclustError | null }>}  At
 *   least one spec.
 */
async function readSpecs(context, wanted) {
  const { readConfig } = await import('../../config/file/read.js');
  const config = await readConfig(wanted, { isPartial: true });
  for (const warning of config.warnings) context.talk(warning);
  if (config.specs.length === 0) throw noApps(config.file);
  return { specs: config.specs, file: config.file, refused: config.refused };
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
 * @returns {Promise<{ client: Client | null, targets: string[], all: SlotStatus[] }>}
 *   Targets: the words, or those apps of the file that are in the list of the manager. Without a
 *   client, none of them is in the list, `all`. As in PM2, this is not an error, because a deploy
 *   script may delete the apps of a file before it starts them.
 */
export async function reachTargets(context, words, options) {
  const file = splitFile(words);
  if (file === null) return { ...(await reachListed(context, words)), all: [] };
  const { readNames } = await import('../../config/file/read.js');
  const { names, file: path } = await readNames(readFileApps(context, file, options, {}));
  if (names.length === 0) throw noApps(path);
  const client = await reachWithApps(context);
  const { slots } = (await client?.request('list')) ?? { slots: [] };
  const listed = new Set(slots.map((/** @type {SlotStatus} */ { name }) => name));
  const targets = names.filter((name) => listed.has(name));
  const missing = quoteAll(names.filter((name) => !listed.has(name)));
  if (missing !== '') context.talk(`Not in the list: ${missing}.`);
  return { client: targets.length > 0 ? client : null, targets, all: slots };
}

/**
 * @param {Context} context
 * @param {string | null} file
 * @param {Record<string, any>} options
 * @param {Record<string, any>} read
 * @returns {Wanted}
 */
export function readFileApps({ cwd, env: shell, node, talk }, file, { env = null, only = null }, read) {
  const { interpreterArgs = read.nodeArgs } = read;
  const options = {
    ...read,
    ...(interpreterArgs === undefined ? {} : { interpreterArgs }),
    ...(read.cwd === undefined ? {} : { cwd: resolve(cwd, read.cwd) }),
  };
  return { file, env, only, cwd, shell, node, talk, options };
}

/**
 * @param {Record<string, any>} read
 * @param {string[]} args
 */
export function overrideArgs(read, args) {
  return args.length > 0 ? { ...read, args } : read;
}

/**
 * @param {Context} context
 * @param {'start' | 'restart' | 'reload'} how
 * @param {Record<string, any>} options
 */
export function warnAboutFileOptions({ talk, cwd }, how, { env, only }) {
  const file = findConfig(cwd);
  const use = file === null ? '' : ` Use the file: nclust ${how} ${shellQuote(basename(file))}`;
  const options = [
    ...(env === undefined ? [] : [`--env ${shellQuote(env)}`]),
    ...(only === undefined ? [] : [`--only ${shellQuote(only)}`]),
  ].join(' ');
  if (options === '') return;
  talk(`${options}: no effect here, because it is for a config file.${use === '' ? '' : `${use} ${options}`}`);
}

/** @param {string | null} file */
function noApps(file) {
  return new NclustError('ERR_NCLUST_APP_NOT_FOUND', `"${file ?? 'stdin'}" contains no apps.`, {
    hint: 'Add apps to its list "apps"; docs/config.md has an example.',
  });
}
