import { carryOut } from '../cli/session/await-change.js';
import { reportChange } from '../cli/session/outcome.js';
import { readLiveList, readSavedList, readRunningPm2 } from '../import/pm2-list.js';
import { takeOver } from '../import/take-over.js';
import { renderList } from '../render/list.js';
import { toOneLine } from '../render/text.js';
import { NclustError } from '../shared/errors.js';
import { reachWithApps } from './apps/targets.js';

/** @import { Context } from '../cli/session/context.js' */
/** @import { View } from '../render/list.js' */
/** @import { AppSpec } from '../app-spec/types.js' */
/** @import { SlotStatus } from '../shared/wire/protocol.js' */

/**
 * @typedef {object} ImportedApp
 * @property {string} name
 * @property {string} mode
 * @property {number | string} instances
 * @property {number} stopped
 * @property {string} script
 * @property {string[]} args
 * @property {string[]} variables  Only names, because values may be secrets.
 */

/**
 * @typedef {object} Imported
 * @property {string} source
 * @property {boolean} isDryRun
 * @property {ImportedApp[]} apps
 * @property {string[]} present  Apps that were in the list already.
 * @property {{ name: string, why: string }[]} refused
 * @property {string[]} warnings
 * @property {SlotStatus[]} slots
 * @property {SlotStatus[]} all
 * @property {number} exitStatus
 */

/**
 * Changes nothing in PM2.
 * @param {Context} context
 * @param {string[]} words
 * @param {Record<string, any>} options
 * @returns {Promise<Imported>}
 */
export async function importList(context, [from, file], { live = false, dryRun = false }) {
  if (from !== 'pm2')
    throw new NclustError('ERR_NCLUST_USAGE', `import is given ${JSON.stringify(from)}; accepted: pm2.`, {
      hint: 'For a config file: nclust start <file>',
    });
  if (live && file !== undefined)
    throw new NclustError('ERR_NCLUST_USAGE', `--live was given with the file "${file}"; accepted: one of the two.`);
  const list = live ? await readLiveList(context) : readSavedList(file, context);
  const { apps, refused, warnings } = takeOver(list.records, { pm2Home: list.pm2Home, shell: context });
  const present = await namesThere(context);
  const fresh = apps.filter(({ spec }) => !present.has(spec.name));
  /** @type {Imported} */
  const found = {
    source: list.source,
    isDryRun: dryRun,
    apps: fresh.map(shown),
    present: apps.filter(({ spec }) => present.has(spec.name)).map(({ spec }) => spec.name),
    refused,
    warnings: [...(list.instead ? [`${list.instead}; its copy was read.`] : []), ...warnings],
    slots: [],
    all: [],
    exitStatus: refused.length > 0 ? 1 : 0,
  };
  printFindings(context, found);
  if (dryRun || fresh.length === 0) return found;
  const pid = readRunningPm2(list.pm2Home);
  if (pid !== null)
    context.printUnlessJson(`PM2 still runs (pid ${pid}). Apps that need a port of PM2 can start only after: pm2 kill`);
  const { slots } = await carryOut(context, 'import', { apps: fresh }, 'Taking over from PM2').catch((error) => {
    throw explained(error, pid);
  });
  return { ...found, ...(await reportChange(context, slots, 'Took over', 'Taking over')) };
}

/** @param {Context} context */
async function namesThere(context) {
  const client = await reachWithApps(context);
  /** @type {{ slots: SlotStatus[] }} */
  const { slots } = client ? await client.request('list') : { slots: [] };
  return new Set(slots.map(({ name }) => name));
}

/** @param {{ spec: AppSpec, resting: number[] }} app */
function shown({ spec, resting }) {
  const { name, mode, instances, script, args, env } = spec;
  return { name, mode, instances, stopped: resting.length, script, args, variables: Object.keys(env).sort() };
}

/**
 * @param {Context} context
 * @param {Imported} found
 */
function printFindings(context, { source, apps, present, refused, warnings }) {
  for (const warning of warnings) context.printUnlessJson(warning);
  for (const name of present) context.printUnlessJson(`"${name}" is in the list already, and was not changed.`);
  for (const { name, why } of refused) context.printUnlessJson(`"${name}" cannot be taken over: ${why}`);
  if (apps.length === 0) context.printUnlessJson(`There is nothing to take over from ${source}.`);
}

/**
 * @param {unknown} error
 * @param {number | null} pid  Of PM2.
 */
function explained(error, pid) {
  if (pid === null || !(error instanceof NclustError) || error.code !== 'ERR_NCLUST_NOT_UP') return error;
  return new NclustError(error.code, error.message, {
    hint: 'If PM2 holds its port: pm2 kill, then nclust restart all',
    data: error.data,
    cause: error,
  });
}

/**
 * @param {Imported} imported
 * @param {View} view
 */
export function renderImported({ isDryRun, apps, all }, view) {
  if (!isDryRun) return all.length > 0 ? renderList({ slots: all }, view) : '';
  return apps.map((app) => `${toOneLine(describe(app))}\n`).join('');
}

/** @param {Imported['apps'][number]} app */
function describe({ name, mode, instances, stopped, script, args, variables }) {
  const many = instances === 1 ? mode : `${mode}, ${instances} instances`;
  const state = stopped === 0 ? '' : stopped === instances ? ', stopped' : `, ${stopped} of them stopped`;
  const words =
    args.length > 0 ? ` ${args.map((word) => (/\s/.test(word) ? JSON.stringify(word) : word)).join(' ')}` : '';
  return `${name} (${many}${state}): ${script}${words}${variables.length > 0 ? `  with ${variables.join(', ')}` : ''}`;
}
