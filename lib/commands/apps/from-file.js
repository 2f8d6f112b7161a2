import { resolve } from 'node:path';
import { carryOut } from '../../cli/await-change.js';
import { outcome } from '../../cli/outcome.js';
import { newToken } from '../../client/client.js';
import { isConfigName } from '../../config/find.js';
import { NclustError } from '../../shared/errors.js';
import { shellQuote } from '../../shared/shell-quote.js';
import { reachListed } from './targets.js';

/** @import { Context } from '../../cli/context.js' */
/** @import { Outcome } from '../../cli/outcome.js' */
/** @import { Client } from '../../client/client.js' */
/** @import { Wanted } from '../../config/file/read.js' */
/** @import { PlanItem, SlotStatus } from '../../shared/wire/protocol.js' */

const DOING = { start: 'Starting', restart: 'Restarting', reload: 'Reloading' };
const DONE = { start: 'Started', restart: 'Restarted', reload: 'Reloaded' };

/**
 * The config file among the words of a command, or "-" for stdin.
 * @param {string[]} words
 * @returns {string | null}  Throws ERR_NCLUST_USAGE when something stands beside it.
 */
export function fileAmong(words) {
  const file = words.find((word) => word === '-' || isConfigName(word)) ?? null;
  if (file === null || words.length === 1) return file;
  throw new NclustError(
    'ERR_NCLUST_USAGE',
    `"${file}" is a config file, and ${
      words
        .filter((word) => word !== file)
        .map((word) => `"${word}"`)
        .join(', ') || 'it'
    } stands beside it; accepted: one config file, or targets.`,
    {
      hint: 'Give a part of its apps with --only, and run the command once for each file.',
    },
  );
}

/**
 * Starts, restarts or reloads the apps of a file: those in the list get what it says now and the
 * variables of this shell, the others are started.
 * @param {Context} context
 * @param {'start' | 'restart' | 'reload'} how
 * @param {string | null} file  Null: the one in this folder.
 * @param {Record<string, any>} options  `env`, `only`, `wait`, `json`.
 * @param {Record<string, any>} read  By key: what the command line says about every app.
 * @returns {Promise<Outcome>}  Throws ERR_NCLUST_BAD_CONFIG and what starting throws.
 */
export async function renewFromFile(context, how, file, options, read) {
  const { readConfig } = await import('../../config/file/read.js');
  const config = await readConfig(wantedOf(context, file, options, read));
  for (const warning of config.warnings) context.talk(warning);
  const { withVersioning } = await import('../../config/spec/git.js');
  const specs = await withVersioning(config.specs);
  if (specs.length === 0) throw noApps(config.file);
  const client = await context.manager();
  const request = {
    specs,
    how,
    ...(config.file === null ? {} : { file: config.file }),
    ...(read.instances === undefined ? {} : { isCounted: true }),
    wait: options.wait,
    token: newToken(),
  };
  /** @type {{ slots: SlotStatus[], plan?: PlanItem[] }} */
  const { slots, plan = [] } = await carryOut(
    context,
    client,
    'renew',
    request,
    `${DOING[how]} ${specs.map(({ name }) => name).join(', ')}`,
  );
  if (!options.json && read.instances === undefined)
    for (const sentence of plan.flatMap(ofNumber)) context.talk(sentence);
  return outcome(context, client, slots, { done: options.wait ? DONE[how] : DOING[how], json: options.json });
}

/**
 * A number that nobody has typed just now is no surprise when it is said.
 * @param {PlanItem} item
 * @returns {string[]}
 */
function ofNumber({ name, changes, kept }) {
  if (kept)
    return [
      `"${name}" keeps the ${kept.instances} instances it was scaled to; the file says ${kept.file}, as ` +
        `before. For those: nclust scale ${shellQuote(name)} ${kept.file}`,
    ];
  return changes
    .filter(({ field }) => field === 'instances')
    .map(({ before, after }) => `"${name}": ${before} -> ${after} instances, as the file says.`);
}

/**
 * The manager and the targets of a command that ends apps: those of the file that are in the list,
 * or the words themselves.
 * @param {Context} context
 * @param {string[]} words
 * @param {Record<string, any>} options
 * @returns {Promise<{ client: Client, targets: string[] }>}  Throws ERR_NCLUST_APP_NOT_FOUND,
 *   ERR_NCLUST_BAD_CONFIG.
 */
export async function reachTargets(context, words, options) {
  const file = fileAmong(words);
  if (file === null) return reachListed(context, words);
  const { readNames } = await import('../../config/file/read.js');
  const { names, file: path } = await readNames(wantedOf(context, file, options, {}));
  if (names.length === 0) throw noApps(path);
  const { client } = await reachListed(context, names);
  const { slots } = await client.request('list');
  const there = new Set(slots.map((/** @type {SlotStatus} */ { name }) => name));
  const missing = names
    .filter((name) => !there.has(name))
    .map((name) => `"${name}"`)
    .join(', ');
  const isNothing = names.every((name) => !there.has(name));
  if (isNothing)
    throw new NclustError(
      'ERR_NCLUST_APP_NOT_FOUND',
      `None of the apps of "${path ?? 'stdin'}" is in the list: ${missing}.`,
      { hint: 'See: nclust list' },
    );
  if (missing !== '') context.talk(`Not in the list: ${missing}.`);
  return { client, targets: names.filter((name) => there.has(name)) };
}

/**
 * @param {Context} context
 * @param {string | null} file
 * @param {Record<string, any>} options
 * @param {Record<string, any>} read
 * @returns {Wanted}
 */
export function wantedOf({ cwd, env: shell, node, talk }, file, { env = null, only = null }, read) {
  const { interpreterArgs = read.nodeArgs, cwd: folder } = read;
  const options = {
    ...read,
    ...(interpreterArgs === undefined ? {} : { interpreterArgs }),
    ...(folder === undefined ? {} : { cwd: resolve(cwd, folder) }),
  };
  return { file, env, only, cwd, shell, node, talk, options };
}

/**
 * What stands behind "--" is for every app of a file.
 * @param {Record<string, any>} read
 * @param {string[]} args
 */
export function withArgs(read, args) {
  return args.length > 0 ? { ...read, args } : read;
}

/**
 * What `--env` and `--only` mean without a file.
 * @param {Context} context
 * @param {Record<string, any>} options
 */
export function sayOnlyForFiles({ talk }, { env, only }) {
  if (env !== undefined)
    talk(`--env is "${env}" and changes nothing here: it chooses among the environments of a config file.`);
  if (only !== undefined)
    talk(`--only is "${only}" and changes nothing here: it chooses among the apps of a config file.`);
}

/** @param {string | null} file */
function noApps(file) {
  return new NclustError('ERR_NCLUST_APP_NOT_FOUND', `"${file ?? 'stdin'}" holds no apps.`, {
    hint: 'Put some into its list "apps"; docs/config.md has an example.',
  });
}
