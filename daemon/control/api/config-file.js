import { resolveInstances } from '../../../lib/shared/host/cpus.js';
import { diffSpecs } from '../../../lib/shared/spec/diff.js';
import { laterFields } from '../../../lib/shared/spec/spec.js';
import { waitForApps } from '../apply/outcome.js';
import { planApply } from '../apply/plan.js';
import { applySteps } from '../apply/steps.js';
import { COMING } from '../policy/replace.js';
import {
  affectedSlots,
  assertCapacity,
  mayServe,
  readSpawnInputs,
  rolloutFacts,
  slotIdsOf,
} from '../requests/change.js';
import { NOTHING_FRESH } from '../spawn/environment.js';
import { keepsScale } from '../state/changes.js';
import { findApp, replaceApp } from '../state/desired.js';
import { findSlot, isServing, seatKey, seatsOf } from '../state/registry.js';
import { BadParams, CHANGE_PARAMS, flag, list, optional, readParams, someOf, text, withDefault } from './params.js';
import { acceptFile } from './specs.js';
import { affectedStatuses } from './status.js';

/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */
/** @import { PlanItem } from '../../../lib/shared/wire/protocol.js' */
/** @import { Applied, ApplyStep, Standing } from '../apply/plan.js' */
/** @import { Receipt } from '../requests/outcome.js' */
/** @import { Fresh } from '../spawn/environment.js' */
/** @import { AppWish, Change, Desired } from '../state/desired.js' */
/** @import { Desk, MethodBody } from './methods.js' */
/** @import { Reader } from './params.js' */

/**
 * Makes the running state equal to a config file.
 * @satisfies {Record<string, MethodBody>}
 */
export const applying = {
  /** @type {MethodBody} */
  async apply(desk, params, client) {
    const { specs: given, ...o } = readParams(
      {
        ...CHANGE_PARAMS,
        specs: specList,
        file: optional(text),
        isWhole: withDefault(flag, true),
        prune: withDefault(flag, false),
        dryRun: withDefault(flag, false),
        updateEnv: withDefault(flag, false),
      },
      params,
    );
    const { control } = desk;
    const isSeen = control.hasSeen(o.token);
    const specs = acceptFile(given, desk.paths);
    const applied = {
      specs: isSeen ? specs : await fillFromFiles(desk, specs),
      file: o.file ?? null,
      isWhole: o.isWhole,
      isPruning: o.prune,
      isShellNew: o.updateEnv,
    };
    const planNow = () => planOf(desk, control.world.desired, applied);
    if (o.dryRun) return showPlan(planNow());
    const fresh = isSeen ? NOTHING_FRESH : await checkAndRead(desk, planNow().steps);
    const { left } = planNow();
    const receipt = control.mutate('apply', o.token, (desired) => {
      const { steps } = planOf(desk, desired, applied);
      return fresh.keep(carryOut(desk, desired, steps, applied.file));
    });
    if (o.wait) await waitForApps(desk, receipt, client, o.progress);
    return { plan: receipt.plan ?? [], left, slots: affectedStatuses(desk, receipt) };
  },
};

/** @type {Reader<unknown[]>} */
function specList(value, path) {
  if (Array.isArray(value)) return value;
  throw new BadParams(path, 'a list');
}

/**
 * Reads env files, because the plan compares their content, too. Leaves secrets out: they are asked
 * for only if a new process needs them.
 * @param {Desk} desk
 * @param {AppSpec[]} specs
 */
async function fillFromFiles({ parts }, specs) {
  const files = await parts.environment.read(specs.map((spec) => ({ ...spec, secrets: {} })));
  return specs.map(files.fill);
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
    // Until control has connected to a keeper, it cannot know which instances are serving.
    isServing: keeper === null ? app.slots.some(({ want }) => want === 'up') : isServing(world, app),
    hasFailed: (id) => world.seats.get(seatKey(id, slots.get(id)?.generation ?? 0))?.life.state === 'failed',
  };
}

/** @param {ReturnType<typeof planApply>} plan */
function showPlan({ steps, left }) {
  return { plan: steps.map(({ item }) => item), left, slots: [] };
}

/**
 * Reads the inputs of new instances and checks that they can start, before anything changes.
 * @param {Desk} desk
 * @param {ApplyStep[]} steps
 * @returns {Promise<Fresh>}
 */
async function checkAndRead({ parts }, steps) {
  const specsOf = (/** @type {ApplyStep['how'][]} */ kinds) =>
    steps.flatMap(({ how, spec }) => (spec && kinds.includes(how) ? [spec] : []));
  const fresh = await parts.environment.read(specsOf(['add', 'renew', 'reload', 'replace']));
  await parts.preflight(specsOf(['reload', 'replace']));
  return fresh;
}

/**
 * @param {Desk} desk
 * @param {Desired} desired
 * @param {ApplyStep[]} steps
 * @param {string | null} file
 * @returns {Change & Pick<Receipt, 'about' | 'plan'>}
 */
function carryOut(desk, desired, steps, file) {
  const { control, parts } = desk;
  const change = applySteps(desired, steps, {
    file,
    cpus: parts.cpus(),
    nowMs: parts.clock.nowMs(),
    ...rolloutFacts(control.world),
  });
  const names = steps.map(({ item }) => item.name);
  const apps = names.flatMap((name) => findApp(change.desired, name) ?? []);
  const awaited = { ...change, up: [...change.up, ...underWay(desk, apps, change)] };
  assertCapacity(desk, 'Apply', awaited);
  const changed = affectedSlots(change.desired, slotIdsOf(change.desired, names));
  const removed = affectedSlots(desired, change.gone);
  return { ...awaited, about: [...changed, ...removed], plan: steps.map(({ item }) => item) };
}

/**
 * Slots that another command has begun to start and that are not up yet. Apply waits for them, too,
 * because only then the apps are as the file says.
 * @param {Desk} desk
 * @param {AppWish[]} apps
 * @param {Change} change
 * @returns {Change['up']}
 */
function underWay({ control: { world } }, apps, { up }) {
  const begun = new Set(up.map(({ id }) => id));
  const coming = new Set(
    apps.flatMap((app) =>
      seatsOf(world, app.spec.name)
        .filter(({ life }) => COMING.has(life.state) && !life.hasFailed)
        .map(({ id }) => id),
    ),
  );
  return apps.flatMap(({ slots }) =>
    slots
      .filter(
        ({ id, want, former }) => want === 'up' && !begun.has(id) && findSlot(world, id) && (former || coming.has(id)),
      )
      .map(({ id, generation }) => ({ id, generation })),
  );
}

/**
 * @typedef {'start' | 'restart' | 'reload'} Way  How apps that are in the list get their new specs.
 */

/** @type {Reader<Way>} */
const way = (value, path) => someOf(/** @type {const} */ (['start', 'restart', 'reload']))([value], path)[0];

/**
 * The apps of a config file, each with a whole spec: apps that are in the list begin a new
 * generation, the others start.
 * @satisfies {Record<string, MethodBody>}
 */
export const renewing = {
  /** @type {MethodBody} */
  async renew(desk, params, client) {
    const given = readParams(
      {
        ...CHANGE_PARAMS,
        specs: list,
        how: withDefault(way, 'restart'),
        file: optional(text),
        isCounted: withDefault(flag, false),
      },
      params,
    );
    const { control, parts } = desk;
    const { how, token, isCounted } = given;
    const specs = acceptFile(given.specs, desk.paths);
    const fresh = await readSpawnInputs(desk, token, () => specs);
    const filled = specs.map(fresh.fill);
    const inList = filled.filter(({ name }) => findApp(control.world.desired, name) !== null);
    if (how === 'reload' && !control.hasSeen(token)) await parts.preflight(inList);
    const receipt = control.mutate(how === 'reload' ? 'apply' : how, token, (desired) =>
      fresh.keep(restartApps(desk, desired, filled, { how, file: given.file ?? null, isCounted })),
    );
    if (given.wait) await waitForApps(desk, receipt, client, given.progress);
    return { plan: receipt.plan ?? [], slots: affectedStatuses(desk, receipt) };
  },
};

/**
 * @param {Desk} desk
 * @param {Desired} desired
 * @param {AppSpec[]} specs
 * @param {{ how: Way, file: string | null, isCounted: boolean }} o  `isCounted`: the user typed the
 *   number of instances.
 * @returns {Change & Pick<Receipt, 'about' | 'plan'>}
 */
function restartApps(desk, desired, specs, { how, file, isCounted }) {
  const { control, parts } = desk;
  const steps = specs.map((spec) => {
    const instances = resolveInstances(spec.instances, parts.cpus());
    return planStep(control, desired, { ...spec, instances }, { how, isCounted });
  });
  const applied = applySteps(desired, steps, {
    file,
    cpus: parts.cpus(),
    nowMs: parts.clock.nowMs(),
    ...rolloutFacts(control.world),
  });
  const names = specs.map(({ name }) => name);
  const change = { ...applied, desired: recordCommand(applied.desired, names, how) };
  assertCapacity(desk, how === 'reload' ? 'Reload' : 'Start', change);
  const changed = affectedSlots(change.desired, slotIdsOf(change.desired, names));
  const removed = affectedSlots(desired, change.gone);
  return { ...change, about: [...changed, ...removed], plan: steps.map(({ item }) => item) };
}

/**
 * @param {Desk['control']} control
 * @param {Desired} desired
 * @param {AppSpec & { instances: number }} declared
 * @param {{ how: Way, isCounted: boolean }} o
 * @returns {ApplyStep}
 */
function planStep(control, desired, declared, { how, isCounted }) {
  const app = findApp(desired, declared.name);
  if (!app) return { item: itemOf(declared.name), spec: declared, how: 'add', ids: [] };
  const before = app.slots.length;
  const isKept = !isCounted && keepsScale(app, declared.instances);
  const spec = { ...laterFields(app.spec), ...declared, ...(isKept ? { instances: before } : {}) };
  const changes =
    spec.instances === before ? [] : [{ field: 'instances', attribute: 'instances', before, after: spec.instances }];
  const item = {
    ...itemOf(spec.name, changes),
    ...(isKept ? { kept: { instances: before, file: declared.instances } } : {}),
  };
  const ids = app.slots.map(({ id }) => id);
  // Sockets belong to a mode: those of the old mode have to be closed before the new one can listen.
  if (diffSpecs(app.spec, spec, { isShellNew: true }).needs.has('replace')) return { item, spec, how: 'replace', ids };
  return { item, spec, how: how === 'reload' && mayServe(control, app) ? 'reload' : 'renew', ids };
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
 * Records the command that changed the apps, because the deaths of old instances name it.
 * @param {Desired} desired
 * @param {string[]} names
 * @param {Way} by
 * @returns {Desired}
 */
function recordCommand(desired, names, by) {
  return names.reduce((sum, name) => {
    const app = findApp(sum, name);
    return app ? replaceApp(sum, { ...app, by }) : sum;
  }, desired);
}
