import { waitForApps } from '../apply/outcome.js';
import { planApply } from '../apply/plan.js';
import { carryOut } from '../apply/steps.js';
import { STARTING_STATES } from '../policy/replace.js';
import { NOTHING_FRESH } from '../spawn/environment.js';
import { findApp } from '../state/desired.js';
import { findSeat, findSlot, isServing, listSeatsOfSlot } from '../state/registry.js';
import { CHANGE_PARAMS, flag, optional, reader, readParams, text, toggle, withDefault } from './params.js';
import { acceptFile } from './specs.js';
import { affectedStatuses } from './status.js';

/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { ApplyRequest, ApplyStep, Standing } from '../apply/plan.js' */
/** @import { ApiContext } from '../context.js' */
/** @import { Change, Desired, DesiredApp, DesiredSlot } from '../state/desired.js' */
/** @import { MethodBody } from './methods.js' */

/** @satisfies {Record<string, MethodBody>} */
export const applyMethods = {
  /** @type {MethodBody} */
  async apply(context, params, client) {
    const { specs: given, ...o } = readParams(
      {
        ...CHANGE_PARAMS,
        specs: reader(Array.isArray, 'a list'),
        file: optional(text),
        isWhole: withDefault(flag, true),
        prune: toggle,
        dryRun: toggle,
        updateEnv: toggle,
      },
      params,
    );
    const { control } = context;
    const isSeen = control.hasSeen(o.token);
    const specs = acceptFile(given, context.paths);
    const applied = {
      specs: isSeen ? specs : await fillFromFiles(context, specs),
      file: o.file ?? null,
      isWhole: o.isWhole,
      isPruning: o.prune,
      isShellNew: o.updateEnv,
    };
    const planNow = () => buildPlan(context, control.registry.desired, applied);
    if (o.dryRun) return showPlan(planNow());
    const fresh = isSeen ? NOTHING_FRESH : await checkAndRead(context, planNow().steps);
    const { left } = planNow();
    const receipt = control.mutate('apply', o.token, (desired) => {
      const { steps } = buildPlan(context, desired, applied);
      const alsoAwaited = (/** @type {Change} */ change, /** @type {string[]} */ names) =>
        pendingSlots(control.registry, change, names);
      return fresh.keep(
        carryOut(context, desired, steps, { by: 'apply', what: 'Apply', file: applied.file, alsoAwaited }),
      );
    });
    if (o.wait) await waitForApps(context, receipt, client, { progress: o.progress });
    return { plan: receipt.plan ?? [], left, slots: affectedStatuses(context, receipt) };
  },
};

/**
 * Reads env files, because the plan compares their variables. Secrets are read later, and only for
 * apps that need a new process.
 * @param {ApiContext} context
 * @param {AppSpec[]} specs
 */
async function fillFromFiles({ parts }, specs) {
  const files = await parts.environment.read(specs.map((spec) => ({ ...spec, secrets: {} })));
  return specs.map(files.fill);
}

/**
 * @param {ApiContext} context
 * @param {Desired} desired
 * @param {ApplyRequest} applied
 */
function buildPlan({ control, parts }, desired, applied) {
  return planApply(desired, applied, { cpus: parts.cpus(), standingOf: (app) => readStanding(control, app) });
}

/**
 * @param {ApiContext['control']} control
 * @param {DesiredApp} app
 * @returns {Standing}
 */
function readStanding({ registry, keeper }, app) {
  return {
    // Until control has connected to a keeper, it cannot know which instances are serving. So an
    // app with a slot that is wanted up counts as serving.
    isServing: keeper === null ? app.slots.some(({ want }) => want === 'up') : isServing(registry, app),
    hasFailed: (slot) => findSeat(registry, slot)?.life.state === 'failed',
  };
}

/** @param {ReturnType<typeof planApply>} plan */
function showPlan({ steps, left }) {
  return { plan: steps.map(({ item }) => item), left, slots: [] };
}

/**
 * @param {ApiContext} context
 * @param {ApplyStep[]} steps
 */
async function checkAndRead({ parts }, steps) {
  const buildSpecs = (/** @type {ApplyStep['how'][]} */ kinds) =>
    steps.flatMap(({ how, spec }) => (spec && kinds.includes(how) ? [spec] : []));
  const fresh = await parts.environment.read(buildSpecs(['add', 'renew', 'reload', 'replace']));
  await parts.preflight(buildSpecs(['reload', 'replace']), 'reload');
  return fresh;
}

/**
 * Apply also waits for slots that another command is starting, because the apps match the file
 * only when these slots are up.
 * @param {ApiContext['control']['registry']} registry
 * @param {Change} change
 * @param {string[]} names
 */
function pendingSlots(registry, { desired, up }, names) {
  const begun = new Set(up.map(({ id }) => id));
  const isComing = (/** @type {DesiredSlot} */ { id, former }) =>
    former || listSeatsOfSlot(registry, id).some(({ life }) => STARTING_STATES.has(life.state) && !life.hasFailed);
  return names
    .flatMap((name) => findApp(desired, name)?.slots ?? [])
    .filter((slot) => slot.want === 'up' && !begun.has(slot.id) && findSlot(registry, slot.id) && isComing(slot))
    .map(({ id, generation }) => ({ id, generation }));
}
