import { checkSpec } from '../../../lib/shared/spec/spec.js';
import { applySteps } from '../apply/steps.js';
import { planApply } from '../apply/plan.js';
import { findApp } from '../state/desired.js';
import { NOTHING_FRESH } from '../spawn/environment.js';
import { isUp } from '../rollout/supervise.js';
import { COMING } from '../policy/replace.js';
import { withRoom } from '../spawn/capacity.js';
import { isBeside, isServing } from '../state/serving.js';
import { findSlot, seatKey, seatsOf } from '../state/registry.js';
import { placesOf, possible, roomOf, WAITABLE } from './apps.js';
import { BadParams, flag, optional, readParams, text, withDefault } from './params.js';
import { statuses } from './status.js';
import { settledEach } from './settled-each.js';

/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */
/** @import { Applied, ApplyStep, Standing } from '../apply/plan.js' */
/** @import { AppWish, Change, Desired } from '../state/desired.js' */
/** @import { Receipt } from '../requests/outcome.js' */
/** @import { Desk, MethodBody } from './methods.js' */

/** The running state becomes what a file says. @satisfies {Record<string, MethodBody>} */
export const applying = {
  /** @type {MethodBody} */
  async apply(desk, params, client) {
    const { specs: given, ...o } = readParams({ ...WAITABLE, specs: specList, file: optional(text), isWhole: withDefault(flag, true), prune: withDefault(flag, false), dryRun: withDefault(flag, false), updateEnv: withDefault(flag, false) }, params);
    const { control, parts } = desk;
    const isSeen = control.hasSeen(o.token);
    const read = given.map((spec, at) => possible(checkSpec(spec, `specs[${at}]`), desk.paths));
    refuseTwins(read);
    // What their files hold is compared, too. Secrets are not: they are asked for only where a new process needs them.
    const files = isSeen ? NOTHING_FRESH : await parts.environment.read(read.map((spec) => ({ ...spec, secrets: {} })));
    const applied = { specs: read.map(files.fill), file: o.file ?? null, isWhole: o.isWhole, isPruning: o.prune, isShellNew: o.updateEnv };
    const planned = () => planOf(desk, control.world.desired, applied);
    if (o.dryRun) return shownPlan(planned());
    const fresh = isSeen ? NOTHING_FRESH : await readiness(desk, planned().steps);
    const { left } = planned();
    const receipt = control.mutate('apply', o.token, (desired) => fresh.keep(applyPlan(desk, desired, planOf(desk, desired, applied).steps, applied.file)));
    if (o.wait) await settledEach(desk, receipt, client, o.progress);
    return { plan: receipt.plan ?? [], left, slots: statuses(desk, receipt.about.map(({ id }) => id)) };
  },
};

/** @type {import('./params.js').Reader<unknown[]>} */
function specList(value, path) {
  if (Array.isArray(value)) return value;
  throw new BadParams(path, 'a list');
}

/** @param {AppSpec[]} specs */
function refuseTwins(specs) {
  const twin = specs.find(({ name }, at) => specs.findIndex((other) => other.name === name) !== at);
  if (twin) throw new BadParams('specs', `of apps with different names; "${twin.name}" is there twice`);
}

/**
 * @param {Desk} desk
 * @param {Desired} desired
 * @param {Applied} applied
 */
function planOf({ control, parts }, desired, applied) {
  return planApply(desired, applied, { cpus: parts.cpus(), standingOf: (app) => standingOf(control, app) });
}

/**
 * @param {Desk['control']} control
 * @param {AppWish} app
 * @returns {Standing}
 */
function standingOf({ world, keeper }, app) {
  const slots = new Map(app.slots.map((slot) => [slot.id, slot]));
  return {
    // Of a control that has not met a keeper yet nobody knows what serves.
    isServing: keeper === null ? app.slots.some(({ want }) => want === 'up') : isServing(world, app),
    hasFailed: (id) => world.seats.get(seatKey(id, slots.get(id)?.generation ?? 0))?.life.state === 'failed',
  };
}

/** @param {ReturnType<typeof planApply>} plan */
function shownPlan({ steps, left }) {
  return { plan: steps.map(({ item }) => item), left, slots: [] };
}

/**
 * Finds out before anything is touched what would keep new instances from starting, and reads what they are given.
 * @param {Desk} desk
 * @param {ApplyStep[]} steps
 */
async function readiness({ parts }, steps) {
  const specsOf = (/** @type {ApplyStep['how'][]} */ kinds) => steps.flatMap(({ how, spec }) => (spec && kinds.includes(how) ? [spec] : []));
  const fresh = await parts.environment.read(specsOf(['add', 'renew', 'reload', 'replace']));
  await parts.preflight(specsOf(['reload', 'replace']));
  return fresh;
}

/**
 * @param {Desk} desk
 * @param {Desired} desired
 * @param {ApplyStep[]} steps
 * @param {string|null} file
 * @returns {Change & Pick<Receipt, 'about'|'plan'>}
 */
function applyPlan(desk, desired, steps, file) {
  const { control: { world }, parts } = desk;
  const change = applySteps(desired, steps, { file, cpus: parts.cpus(), nowMs: parts.clock.nowMs(), isUp: (id, generation) => isUp(world, id, generation), isBeside: (app) => isBeside(world, app) });
  const apps = steps.flatMap(({ item: { name } }) => findApp(change.desired, name) ?? []);
  const up = [...change.up, ...underWay(desk, apps, change)];
  const ids = apps.flatMap((app) => app.slots.map(({ id }) => id));
  const about = [...placesOf(change.desired, ids), ...placesOf(desired, change.gone)];
  return withRoom({ ...change, up, about, plan: steps.map(({ item }) => item) }, roomOf('Apply', desk));
}

/**
 * What somebody else has begun and is not done is waited for as well: then the apps are as the file says.
 * @param {Desk} desk
 * @param {AppWish[]} apps
 * @param {Change} change
 * @returns {Change['up']}
 */
function underWay({ control: { world } }, apps, { up }) {
  const begun = new Set(up.map(({ id }) => id));
  const coming = new Set(apps.flatMap((app) => seatsOf(world, app.spec.name).filter(({ life }) => COMING.has(life.state) && !life.hasFailed).map(({ id }) => id)));
  return apps.flatMap(({ slots }) => slots.filter(({ id, want, former }) => want === 'up' && !begun.has(id) && findSlot(world, id) && (former || coming.has(id))).map(({ id, generation }) => ({ id, generation })));
}
