import { resolveInstances } from '../../../lib/shared/host/cpus.js';
import { diffSpecs } from '../../../lib/app-spec/diff.js';
import { laterFields } from '../../../lib/app-spec/check.js';
import { waitForApps } from '../apply/outcome.js';
import { added, countChanges } from '../apply/plan.js';
import { carryOut } from '../apply/steps.js';
import { filterServing, mayServe, readSpawnInputs } from '../requests/change.js';
import { keepsScale } from '../state/changes.js';
import { findApp } from '../state/desired.js';
import { CHANGE_PARAMS, flag, list, oneOf, optional, readParams, text, toggle, withDefault } from './params.js';
import { acceptFile } from './specs.js';
import { affectedStatuses } from './status.js';

/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { PlanItem } from '../../../lib/shared/wire/protocol.js' */
/** @import { ApplyStep } from '../apply/plan.js' */
/** @import { ApiContext } from '../context.js' */
/** @import { Change, Desired, Receipt } from '../state/desired.js' */
/** @import { MethodBody } from './methods.js' */
/** @import { Reader } from './params.js' */

/** @typedef {'start' | 'restart' | 'reload'} Way */

/** @type {Reader<Way>} */
const way = oneOf(['start', 'restart', 'reload']);

/**
 * The request has a whole spec for each app. An app that is already in the list starts a new
 * generation.
 * @satisfies {Record<string, MethodBody>}
 */
export const restartFromFileMethods = {
  /** @type {MethodBody} */
  async restartFromFile(context, params, client) {
    const given = readParams(
      {
        ...CHANGE_PARAMS,
        specs: list,
        how: withDefault(way, 'restart'),
        file: optional(text),
        isCounted: toggle,
        isFromFile: withDefault(flag, true),
      },
      params,
    );
    const { control, parts } = context;
    const { how, token, isCounted } = given;
    const specs = acceptFile(given.specs, context.paths);
    const fresh = await readSpawnInputs(context, token, () => specs);
    const filled = specs.map(fresh.fill);
    const { registry } = control;
    const isListed = (/** @type {AppSpec} */ { name }) => findApp(registry.desired, name) !== null;
    if (!control.hasSeen(token))
      await (how === 'reload'
        ? parts.preflight(filled.filter(isListed), 'reload')
        : parts.preflight(filterServing(registry, filled), 'restart'));
    const receipt = control.mutate(how === 'reload' ? 'apply' : how, token, (desired) =>
      fresh.keep(restartApps(context, desired, filled, { how, file: given.file ?? null, isCounted })),
    );
    if (given.wait) await waitForApps(context, receipt, client, given);
    return { plan: receipt.plan ?? [], slots: affectedStatuses(context, receipt) };
  },
};

/**
 * @param {ApiContext} context
 * @param {Desired} desired
 * @param {AppSpec[]} specs
 * @param {{ how: Way, file: string | null, isCounted: boolean }} o  isCounted: the user typed the
 *   number of instances.
 * @returns {Change & Pick<Receipt, 'about' | 'plan'>}
 */
function restartApps(context, desired, specs, { how, file, isCounted }) {
  const { control, parts } = context;
  const steps = specs.map((spec) => {
    const instances = resolveInstances(spec.instances, parts.cpus());
    return planStep(control, desired, { ...spec, instances }, { how, isCounted });
  });
  return carryOut(context, desired, steps, { by: how, what: how === 'reload' ? 'Reload' : 'Start', file });
}

/**
 * @param {ApiContext['control']} control
 * @param {Desired} desired
 * @param {AppSpec & { instances: number }} declared
 * @param {{ how: Way, isCounted: boolean }} o
 * @returns {ApplyStep}
 */
function planStep(control, desired, declared, { how, isCounted }) {
  const app = findApp(desired, declared.name);
  if (!app) return added(declared);
  const before = app.slots.length;
  const isKept = !isCounted && keepsScale(app, declared.instances);
  const spec = { ...laterFields(app.spec), ...declared, ...(isKept ? { instances: before } : {}) };
  /** @type {PlanItem} */
  const item = {
    name: spec.name,
    action: 'start',
    changes: countChanges(app, spec.instances),
    ...(isKept ? { kept: { instances: before, file: declared.instances } } : {}),
  };
  const ids = app.slots.map(({ id }) => id);
  // Each mode has separate sockets, so the old sockets must be closed before the new mode can
  // listen.
  if (diffSpecs(app.spec, spec, { isShellNew: true }).needs.has('replace')) return { item, spec, how: 'replace', ids };
  return { item, spec, how: how === 'reload' && mayServe(control, app) ? 'reload' : 'renew', ids };
}
