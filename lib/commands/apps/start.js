// Knows: the commands that change apps: their requests to the manager, and their output.
// Must not: decide what happens to an app; the manager does.
// Start at: start(), then restart.js; from-file.js is for config files.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { carryOut } from '../../cli/session/await-change.js';
import { reportChange } from '../../cli/session/outcome.js';
import { findConfig } from '../../config/find.js';
import { readOptions, readPm2Variables, separateExitCodes, separateWatched } from '../../config/options/options.js';
import { buildSpec, defaultName, locate, snapshot } from '../../config/spec/build.js';
import { INTERPRETERS } from '../../config/spec/interpreter.js';
import { warnAboutCluster } from '../../config/spec/launcher.js';
import { isFile } from '../../shared/daemon/files.js';
import { describeListenFailure } from '../../shared/death-text.js';
import { NclustError } from '../../shared/errors.js';
import { shellQuote } from '../../shared/shell-quote.js';
import { warnAboutChannel } from '../../app-spec/channel.js';
import { splitFile, renewFromFile, warnAboutFileOptions } from './from-file.js';
import { reachWithApps } from './targets.js';

/** @import { Context } from '../../cli/session/context.js' */
/** @import { Outcome } from '../../cli/session/outcome.js' */
/** @import { AppSpec } from '../../app-spec/types.js' */
/** @import { Method, SlotStatus } from '../../shared/wire/protocol.js' */

/**
 * @param {Context} context
 * @param {string[]} targets  None: the config file in this folder.
 * @param {Record<string, any>} options
 * @param {string[]} args
 * @returns {Promise<Outcome>}
 */
export async function start(context, targets, options, args) {
  if (options.daemon === false) return (await import('./run.js')).run(context, targets, options, args);
  const words = separateExitCodes(options.stopExitCodes ?? []);
  const watched = separateWatched([...targets, ...words.rest], options.watch, (path) =>
    isFile(resolve(context.cwd, path)),
  );
  const given = { ...options, ...(options.stopExitCodes ? { stopExitCodes: words.codes } : {}), watch: watched.watch };
  const all = watched.targets;
  const read = readOptions('start', given);
  const file = all.length === 0 ? findConfig(context.cwd) : splitFile(all);
  if (file !== null) return renewFromFile(context, 'start', file, options, read, args);
  if (all.length === 0) throw nothingToStart(context);
  warnAboutFileOptions(context, 'start', options);

  const reached = await reachWithApps(context);
  const { slots: known } = reached ? await reached.request('list') : { slots: [] };
  const { listed, changed, fresh } = classifyTargets(all, known, context, {
    read,
    args,
    isForced: options.force === true,
  });
  assertNoInterpreter(all, fresh, context);
  if (fresh.length > 1 && read.name !== undefined) {
    throw new NclustError(
      'ERR_NCLUST_USAGE',
      `--name is "${read.name}" for ${fresh.length} things to start; accepted: one, because names are unique.`,
    );
  }
  const specs = fresh.map((target) => buildSpec(target, args, read, context));
  if (specs.length > 0) for (const warning of readPm2Variables(context.env).warnings) context.printMessage(warning);
  for (const warning of specs.flatMap((spec) => warnAboutCluster(spec, read))) context.printMessage(warning);

  const { force = false } = options;
  if (read.name === undefined && !force) assertNamesFree(specs, known);
  for (const warning of specs.flatMap(warnAboutChannel)) context.printMessage(warning);

  /** @type {Send} */
  const send = async (method, params, names) =>
    (await carryOut(context, method, params, `Starting ${names.join(', ')}`)).slots;
  const names = specs.map(({ name }) => name);
  const started = specs.length === 0 ? [] : await send('start', { specs, force }, names);
  /** @type {[Method, object]} */
  const [method, shell] = options.updateEnv ? ['restart', { env: snapshot(context.env) }] : ['start', {}];
  const again = listed.length === 0 ? [] : await send(method, { targets: listed, ...shell }, listed);
  const renewed = changed.length === 0 ? [] : await startChanged(context, changed, { read, args, options }, send);
  const slots = [...started, ...again, ...renewed];
  const isOnlyAdded = read.autostart === false && again.length + renewed.length === 0;
  const [done, doing] = isOnlyAdded ? ['Added, but not started:'] : ['Started', 'Starting'];
  const shown = await reportChange(context, slots, done, doing);
  if (context.isWaiting) warnAboutSilentApps(context, shown.slots);
  return shown;
}

/**
 * As in PM2, an app in the list comes before a file of the same name. If an app in the list has the
 * script and the name that a new app would get, the script selects the instances of this app that
 * do not run. Throws ERR_NCLUST_APP_EXISTS if all of these instances run.
 * @param {string[]} targets
 * @param {SlotStatus[]} known
 * @param {Context} context
 * @param {{ read: Record<string, any>, args: string[], isForced: boolean }} o
 * @returns {{ listed: string[], changed: string[], fresh: string[] }}  `listed`: apps in the list
 *   that start with the same settings. `changed`: apps in the list that get other settings.
 *   `fresh`: targets of new apps.
 */
function classifyTargets(targets, known, context, { read: { name, ...settings }, args, isForced }) {
  /** @type {string[]} */
  const fresh = [];
  const found = targets.flatMap((target) => {
    if (isListed(target, known)) {
      if (name === undefined) return [target];
      if (!isFile(resolve(context.cwd, target))) throw notRenamed(target, name);
    }
    const app = isForced ? null : buildApp(target, known, context, { name, ...settings });
    if (app === null) fresh.push(target);
    const resting = known.filter((slot) => slot.name === app && isResting(slot));
    if (app !== null && resting.length === 0) throw runsAlready(target, app);
    // Running instances are left out.
    return resting.map(({ id }) => String(id));
  });
  const isDescribed = Object.keys(settings).length > 0 || args.length > 0;
  return { fresh, listed: isDescribed ? [] : found, changed: isDescribed ? found : [] };
}

/**
 * @param {string} target
 * @param {SlotStatus[]} known
 * @param {Context} context
 * @param {Record<string, any>} settings
 * @returns {string | null}  The app in the list with this script and name.
 */
function buildApp(target, known, context, settings) {
  if (known.length === 0) return null;
  const what = locate(target, resolve(context.cwd, settings.cwd ?? '.'), context);
  const name = settings.name ?? defaultName(target, what);
  return known.some((slot) => slot.script === what.script && slot.name === name) ? name : null;
}

/**
 * A script must not replace another app that has its default name.
 * @param {AppSpec[]} specs  Apps that got no name from the user.
 * @param {SlotStatus[]} known
 */
function assertNamesFree(specs, known) {
  for (const { name, script } of specs) {
    const other = known.find((slot) => slot.name === name && slot.script !== script);
    if (other)
      throw new NclustError(
        'ERR_NCLUST_APP_EXISTS',
        `"${name}" is in the list already, and was started from "${other.script}".`,
        { hint: `Give this one another name: nclust start ${shellQuote(script)} --name ...` },
      );
  }
}

/**
 * "nclust start node app.js" must not start two apps.
 * @param {string[]} targets
 * @param {string[]} fresh  Targets of new apps.
 * @param {Context} context
 */
function assertNoInterpreter(targets, fresh, { cwd }) {
  const isBare = (/** @type {string} */ word) =>
    INTERPRETERS.has(word) && fresh.includes(word) && !isFile(resolve(cwd, word));
  const at = targets.findIndex((word, i) => isBare(word) && isFile(resolve(cwd, targets[i + 1] ?? '')));
  if (at === -1) return;
  const [word, script] = targets.slice(at);
  const chosen = word === 'node' ? '' : ` --interpreter ${word}`;
  throw new NclustError('ERR_NCLUST_USAGE', `nclust runs scripts with ${word} itself.`, {
    hint: `Leave out the word "${word}": nclust start ${shellQuote(script)}${chosen} ...`,
  });
}

/** @param {SlotStatus} slot */
function isResting({ status }) {
  return status === 'stopped' || status === 'errored';
}

/**
 * @typedef {(method: Method, params: Record<string, unknown>, names: string[]) => Promise<SlotStatus[]>} Send
 */

/**
 * @param {Context} context
 * @param {string[]} targets
 * @param {{ read: Record<string, any>, args: string[], options: Record<string, any> }} o
 * @param {Send} send
 */
async function startChanged(context, targets, { read: { name: _, ...read }, args, options }, send) {
  const { changeSpecs } = await import('../../config/spec/change.js');
  const { slots: known } = await (await context.manager()).request('list', { targets, detail: true });
  const specs = changeSpecs(known, { read, args, isShellNew: options.updateEnv === true }, context);
  const counted = read.instances === undefined ? {} : { isCounted: true };
  const request = { specs, how: 'start', isFromFile: false, ...counted };
  return send(
    'restartFromFile',
    request,
    specs.map(({ name }) => name),
  );
}

/**
 * @param {string} target
 * @param {SlotStatus[]} known
 */
function isListed(target, known) {
  if (target === 'all') return !isFile(target);
  // If the target looks like a pattern, checks that no file has this path, such as "/srv/app/".
  if (/^\/.+\/[imsu]*$/.test(target)) return !existsSync(target);
  return known.some(({ id, name, namespace }) => name === target || namespace === target || String(id) === target);
}

/**
 * Names the apps that could not listen, because the list also shows such apps as online. In cluster
 * mode, also names apps that do not listen yet: elsewhere they may be workers without a port.
 * @param {Context} context
 * @param {SlotStatus[]} slots
 */
function warnAboutSilentApps(context, slots) {
  const silent = slots.filter(
    ({ status, nodeVersion, addresses }) => status === 'online' && nodeVersion !== null && addresses.length === 0,
  );
  for (const name of new Set(silent.map((slot) => slot.name))) {
    const its = silent.filter((slot) => slot.name === name);
    const failure = its.find((slot) => slot.listenFailure)?.listenFailure;
    if (failure) context.printUnlessJson(`"${name}" ${describeListenFailure(failure)}.`);
    else if (its[0].mode === 'cluster') context.printUnlessJson(`"${name}" does not listen on a port or socket yet.`);
  }
}

/** @param {Context} context */
function nothingToStart({ cwd }) {
  return new NclustError(
    'ERR_NCLUST_USAGE',
    `start needs something to start, because there is no config file in "${cwd}".`,
    { hint: 'For example: nclust start app.js -i max; "nclust init" writes a config file' },
  );
}

/**
 * @param {string} target
 * @param {string} name
 */
function notRenamed(target, name) {
  return new NclustError(
    'ERR_NCLUST_USAGE',
    `--name is "${name}" and names only a new app, but "${target}" is in the list already.`,
    { hint: `To rename it: nclust restart ${shellQuote(target)} --name ${shellQuote(name)}` },
  );
}

/**
 * @param {string} target
 * @param {string} name
 */
function runsAlready(target, name) {
  return new NclustError('ERR_NCLUST_APP_EXISTS', `"${target}" runs already, as "${name}".`, {
    hint:
      `To replace it, with other settings if you like: nclust reload ${shellQuote(name)}, or nclust restart ` +
      `${shellQuote(name)}. To start it once more: --force or another --name.`,
  });
}

/**
 * @param {Context} context
 * @param {string[]} words
 * @param {Record<string, any>} options
 * @param {string[]} [args]  For every app of the file.
 */
export async function startOrRestart(context, [file], options, args = []) {
  return renewFromFile(context, 'restart', file ?? null, options, readOptions('restart', options), args);
}

/** @type {typeof startOrRestart} */
export async function startOrReload(context, [file], options, args = []) {
  return renewFromFile(context, 'reload', file ?? null, options, readOptions('reload', options), args);
}
