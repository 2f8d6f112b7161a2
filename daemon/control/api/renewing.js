import { resolveInstances } from '../../../lib/shared/host/cpus.js';
import { diffSpecs } from '../../../lib/shared/spec/diff.js';
import { checkSpec, laterFields } from '../../../lib/shared/spec/spec.js';
import { applySteps } from '../apply/steps.js';
import { isUp } from '../rollout/supervise.js';
import { withRoom } from '../spawn/capacity.js';
import { findApp, replaceApp } from '../state/desired.js';
import { keepsScale } from '../state/hand-scale.js';
import { isBeside, isServing } from '../state/serving.js';
import { placesOf, possible, readFresh, roomOf, WAITABLE } from './apps.js';
import { BadParams, flag, list, optional, readParams, someOf, text, withDefault } from './params.js';
import { settledEach } from './settled-each.js';
import { statuses } from './status.js';

/** @import { PlanItem } from '../../../lib/shared/wire/protocol.js' */
/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */
/** @import { ApplyStep } from '../apply/plan.js' */
/** @import { Change, Desired } from '../state/desired.js' */
/** @import { Receipt } from '../requests/outcome.js' */
/** @import { Desk, MethodBody } from './methods.js' */

/** @typedef {'start'|'restart'|'reload'} Way  How those that are in the list get their new specs. */

/** @type {import('./params.js').Reader<Way>} */
const way = (value, path) => someOf(/** @type {const} */ (['start', 'restart', 'reload']))([value], path)[0];

/** The apps of a file, each with a whole spec: those that are in the list begin a new generation, the others start. @satisfies {Record<string, MethodBody>} */
export const renewing = {
  /** @type {MethodBody} */
  async renew(desk, params, client) {
    const given = readParams({ ...WAITABLE, specs: list, how: withDefault(way, 'restart'), file: optional(text), isCounted: withDefault(flag, false) }, params);
    const { control, parts } = desk;
    const specs = given.specs.map((spec, at) => possible(checkSpec(spec, `specs[${at}]`), desk.paths));
    refuseTwins(specs);
    const fresh = await readFresh(desk, given.token, () => specs);
    const filled = specs.map(fresh.fill);
    const inList = filled.filter(({ name }) => findApp(control.world.desired, name) !== null);
    if (given.how === 'reload' && !control.hasSeen(given.token)) await parts.preflight(inList);
    const receipt = control.mutate(given.how === 'reload' ? 'apply' : given.how, given.token, (desired) => fresh.keep(renewed(desk, desired, filled, { how: given.how, file: given.file ?? null, isCounted: given.isCounted })));
    if (given.wait) await settledEach(desk, receipt, client, given.progress);
    return { plan: receipt.plan ?? [], slots: statuses(desk, receipt.about.map(({ id }) => id)) };
  },
};

/** @param {AppSpec[]} specs */
function refuseTwins(specs) {
  const twin = specs.find(({ name }, at) => specs.findIndex((other) => other.name === name) !== at);
  if (twin) throw new BadParams('specs', `of apps with different names; "${twin.name}" is there twice`);
}

/**
 * @param {Desk} desk
 * @param {Desired} desired
 * @param {AppSpec[]} specs
 * @param {{how: Way, file: string|null, isCounted: boolean}} o  `isCounted`: the number of instances was typed.
 * @returns {Change & Pick<Receipt, 'about'|'plan'>}
 */
function renewed(desk, desired, specs, { how, file, isCounted }) {
  const { control: { world }, parts } = desk;
  const steps = specs.map((spec) => stepFor(desk, desired, { ...spec, instances: resolveInstances(spec.instances, parts.cpus()) }, { how, isCounted }));
  const change = applySteps(desired, steps, { file, cpus: parts.cpus(), nowMs: parts.clock.nowMs(), isUp: (id, generation) => isUp(world, id, generation), isBeside: (app) => isBeside(world, app) });
  const named = asBegunBy(how, change.desired, specs);
  const ids = specs.flatMap(({ name }) => findApp(named, name)?.slots.map(({ id }) => id) ?? []);
  return withRoom({ ...change, desired: named, about: [...placesOf(named, ids), ...placesOf(desired, change.gone)], plan: steps.map(({ item }) => item) }, roomOf(how === 'reload' ? 'Reload' : 'Start', desk));
}

/**
 * @param {Desk} desk
 * @param {Desired} desired
 * @param {AppSpec & {instances: number}} declared
 * @param {{how: Way, isCounted: boolean}} o
 * @returns {ApplyStep}
 */
function stepFor({ control: { world, keeper } }, desired, declared, { how, isCounted }) {
  const app = findApp(desired, declared.name);
  if (!app) return { item: itemOf(declared.name), spec: declared, how: 'add', ids: [] };
  const before = app.slots.length;
  const isKept = !isCounted && keepsScale(app, declared.instances);
  const spec = { ...laterFields(app.spec), ...declared, ...(isKept ? { instances: before } : {}) };
  const changes = spec.instances === before ? [] : [{ field: 'instances', attribute: 'instances', before, after: spec.instances }];
  const item = { ...itemOf(spec.name, changes), ...(isKept ? { kept: { instances: before, file: declared.instances } } : {}) };
  const ids = app.slots.map(({ id }) => id);
  // Sockets belong to a mode: those of the old one have to be gone before the new one can listen.
  if (diffSpecs(app.spec, spec, { isShellNew: true }).needs.has('replace')) return { item, spec, how: 'replace', ids };
  // Of a control that has not met a keeper yet nobody knows what serves.
  const isGuarded = how === 'reload' && (keeper === null || isServing(world, app));
  return { item, spec, how: isGuarded ? 'reload' : 'renew', ids };
}

/**
 * @param {string} name
 * @param {PlanItem['changes']} [changes]
 * @returns {PlanItem}
 */
function itemOf(name, changes = []) {
  return { name, action: 'start', changes };
}

/**
 * Deaths name the command.
 * @param {Way} by
 * @param {Desired} desired
 * @param {AppSpec[]} specs
 */
function asBegunBy(by, desired, specs) {
  return specs.reduce((sum, { name }) => {
    const app = findApp(sum, name);
    return app ? replaceApp(sum, { ...app, by }) : sum;
  }, desired);
}
