import { carryOut } from '../../cli/session/await-change.js';
import { reportChange } from '../../cli/session/outcome.js';
import { newToken } from '../../client/client.js';
import { countSavedApps } from '../../client/not-running.js';
import { readConfig } from '../../config/file/read.js';
import { createPaint } from '../../render/paint.js';
import { renderPlan } from '../../render/plan.js';
import { NclustError } from '../../shared/errors.js';

/** @import { Context } from '../../cli/session/context.js' */
/** @import { PlanItem, SlotStatus } from '../../shared/wire/protocol.js' */

/**
 * @param {Context} context
 * @param {string[]} words  The file, or nothing.
 * @param {Record<string, any>} options
 * @returns {Promise<AskedPlan & { all: SlotStatus[] }>}  Rejects like readConfig(), and with
 *   ERR_NCLUST_APPLY_FAILED if an app failed.
 */
export async function apply(context, [word], options) {
  const { request, shown } = await readFile(context, word, options);
  const asked = await askForPlan(context, request, shown);
  if (options.dryRun) return { ...asked, all: [], exitStatus: isPending(asked.plan) ? 2 : 0 };
  if (!options.json) tell(context, asked);

  const client = await context.manager();
  const { wait, json } = options;
  /** @type {AskedPlan} */
  const { plan, left, slots } = await carryOut(context, client, 'apply', { ...request, wait }, `Applying ${shown}`);
  const changed = new Set(plan.filter(({ action }) => action !== 'none').map(({ name }) => name));
  const { all } =
    json || changed.size > 0
      ? await reportChange(
          context,
          client,
          [...slots.filter(({ name }) => changed.has(name)), ...plan.filter(({ action }) => action === 'delete')],
          { done: wait ? 'Changed' : 'Changing', json },
        )
      : { all: (await client.request('list')).slots };
  return { plan, left, slots, all, shown, exitStatus: 0 };
}

/**
 * @param {Context} context
 * @param {AskedPlan} asked
 */
function tell(context, asked) {
  const paint = context.screen?.paint ?? createPaint(0);
  context.show(renderPlan(asked, { paint, isWhole: false }).trimEnd());
}

/**
 * @param {Context} context
 * @param {string[]} words  The file, or nothing.
 * @param {Record<string, any>} options
 * @returns {Promise<AskedPlan>}
 */
export async function diff(context, [word], options) {
  const { request, shown } = await readFile(context, word, options);
  const asked = await askForPlan(context, request, shown);
  return { ...asked, exitStatus: isPending(asked.plan) ? 2 : 0 };
}

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
 * @param {string | undefined} word  Default: the config file in the current folder.
 * @param {Record<string, any>} options
 * @returns {Promise<{ request: Record<string, unknown>, shown: string }>}
 */
async function readFile(context, word, { only, env, prune = false, updateEnv = false }) {
  refuseHalf({ only, prune });
  const { file, specs, warnings } = await readConfig({
    file: word ?? null,
    env: env ?? null,
    only: only ?? null,
    cwd: context.cwd,
    shell: context.env,
    node: context.node,
    talk: context.talk,
  });
  for (const warning of warnings) context.talk(warning);
  return {
    request: { specs, ...(file === null ? {} : { file }), isWhole: only === undefined, prune, updateEnv },
    shown: file ?? 'stdin',
  };
}

/** @param {Record<string, any>} options */
function refuseHalf({ only, prune }) {
  if (only === undefined || !prune) return;
  throw new NclustError(
    'ERR_NCLUST_USAGE',
    '--only and --prune were given; accepted: one of the two, because --prune needs all apps of the file.',
  );
}

/**
 * Starts a manager only if there are saved apps.
 * @param {Context} context
 * @param {Record<string, unknown>} request
 * @param {string} shown
 * @returns {Promise<AskedPlan>}
 */
async function askForPlan(context, request, shown) {
  const client =
    (await context.managerIfRunning()) ?? (countSavedApps(context.home) > 0 ? await context.manager() : null);
  const { plan, left } = client
    ? await client.request('apply', { ...request, dryRun: true, token: newToken() })
    : { plan: allNew(request), left: [] };
  return { plan, left, slots: [], shown, exitStatus: 0 };
}

/** @param {PlanItem[]} plan */
function isPending(plan) {
  return plan.some(({ action }) => action !== 'none');
}

/**
 * @param {Record<string, unknown>} request
 * @returns {PlanItem[]}
 */
function allNew({ specs }) {
  return /** @type {{ name: string }[]} */ (specs).map(({ name }) => ({ name, action: 'start', changes: [] }));
}
