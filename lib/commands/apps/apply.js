import { carryOut } from '../../cli/session/await-change.js';
import { reportChange } from '../../cli/session/outcome.js';
import { newToken } from '../../client/client.js';
import { readApplied } from '../../library/changes.js';
import { createPaint } from '../../render/paint.js';
import { renderPlan } from '../../render/plan.js';
import { NclustError } from '../../shared/errors.js';
import { asCaller, reachWithApps } from './targets.js';

/** @import { Context } from '../../cli/session/context.js' */
/** @import { PlanItem, SlotStatus } from '../../shared/wire/protocol.js' */

/**
 * @typedef {object} AskedPlan
 * @property {PlanItem[]} plan
 * @property {string[]} left  Apps that came from this file and are no longer in it, but stay.
 * @property {SlotStatus[]} slots
 * @property {string} shown
 * @property {number} exitStatus
 */

/**
 * @param {Context} context
 * @param {string[]} words  The file, or nothing.
 * @param {Record<string, any>} options
 * @returns {Promise<AskedPlan & { all: SlotStatus[] }>}  Rejects like readConfig(), and with
 *   ERR_NCLUST_APPLY_FAILED if an app failed.
 */
export async function apply(context, words, options) {
  const { request, ...asked } = await askForPlan(context, words, options);
  if (options.dryRun) return { ...asked, all: [] };
  const paint = context.screen?.paint ?? createPaint(0);
  if (!context.isJson) context.show(renderPlan(asked, { paint, isWhole: false }).trimEnd());

  /** @type {AskedPlan} */
  const done = await carryOut(context, 'apply', request, `Applying ${asked.shown}`);
  const { plan, left, slots } = done;
  const changed = new Set(plan.filter(({ action }) => action !== 'none').map(({ name }) => name));
  const changedSlots = [
    ...slots.filter(({ name }) => changed.has(name)),
    ...plan.filter(({ action }) => action === 'delete'),
  ];
  const all =
    context.isJson || changed.size > 0
      ? (await reportChange(context, changedSlots, 'Changed', 'Changing')).all
      : (await (await context.manager()).request('list')).slots;
  return { plan, left, slots, all, shown: asked.shown, exitStatus: 0 };
}

/**
 * @param {Context} context
 * @param {string[]} words  The file, or nothing.
 * @param {Record<string, any>} options
 * @returns {Promise<AskedPlan>}
 */
export async function diff(context, words, options) {
  const { request: _, ...asked } = await askForPlan(context, words, options);
  return asked;
}

/**
 * Starts a manager only if there are saved apps.
 * @param {Context} context
 * @param {string[]} words  The file. Default: the config file in the current folder.
 * @param {Record<string, any>} options
 */
async function askForPlan(context, [file], { only, env, prune, updateEnv }) {
  if (only !== undefined && prune)
    throw new NclustError(
      'ERR_NCLUST_USAGE',
      '--only and --prune were given; accepted: one of the two, because --prune needs all apps of the file.',
    );
  const request = await readApplied(asCaller(context), { file, env, only }, { prune, updateEnv });
  const client = await reachWithApps(context);
  /** @type {{ plan: PlanItem[], left: string[] }} */
  const { plan, left } = client
    ? await client.request('apply', { ...request, dryRun: true, token: newToken() })
    : { plan: request.specs.map(({ name }) => ({ name, action: 'start', changes: [] })), left: [] };
  const exitStatus = plan.some(({ action }) => action !== 'none') ? 2 : 0;
  return { request, plan, left, slots: [], shown: request.file ?? 'stdin', exitStatus };
}
