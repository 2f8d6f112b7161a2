import { NclustError } from '../../../lib/shared/errors.js';
import { resolveInstances } from '../../../lib/shared/host/cpus.js';
import { diffSpecs } from '../../../lib/shared/spec/diff.js';
import { checkSpec, laterFields } from '../../../lib/shared/spec/spec.js';
import { planApply } from '../apply/plan.js';
import { applySteps } from '../apply/steps.js';
import { COMING } from '../policy/replace.js';
import { createTeller } from '../requests/progress.js';
import { isUp } from '../rollout/supervise.js';
import { withRoom } from '../spawn/capacity.js';
import { NOTHING_FRESH } from '../spawn/environment.js';
import { keepsScale } from '../state/changes.js';
import { findApp, replaceApp } from '../state/desired.js';
import { findSlot, isBeside, isServing, seatKey, seatsOf } from '../state/registry.js';
import { placesOf, possible, readFresh, roomOf, WAITABLE } from './apps.js';
import { BadParams, flag, list, optional, readParams, someOf, text, withDefault } from './params.js';
import { statuses } from './status.js';

/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */
/** @import { NotUp, PlanItem } from '../../../lib/shared/wire/protocol.js' */
/** @import { Applied, ApplyStep, Standing } from '../apply/plan.js' */
/** @import { Receipt } from '../requests/outcome.js' */
/** @import { AppWish, Change, Desired } from '../state/desired.js' */
/** @import { Client } from './connection.js' */
/** @import { Desk, MethodBody } from './methods.js' */
/** @import { Reader } from './params.js' */

/**
 * The running state becomes what a file says.
 * @satisfies {Record<string, MethodBody>}
 */
export const applying = {
  /** @type {MethodBody} */
  async apply(desk, params, client) {
    const { specs: given, ...o } = readParams(
      {
        ...WAITABLE,
        specs: specList,
        file: optional(text),
        isWhole: withDefault(flag, true),
        prune: withDefault(flag, false),
        dryRun: withDefault(flag, false),
        updateEnv: withDefault(flag, false),
      },
      params,
    );
    const { control, parts } = desk;
    const isSeen = control.hasSeen(o.token);
    const read = given.map((spec, at) => possible(checkSpec(spec, `specs[${at}]`), desk.paths));
    refuseTwins(read);
    // What their files hold is compared, too. Secrets are not: they are asked for only where a new
    // process needs them.
    const files = isSeen ? NOTHING_FRESH : await parts.environment.read(read.map((spec) => ({ ...spec, secrets: {} })));
    const applied = {
      specs: read.map(files.fill),
      file: o.file ?? null,
      isWhole: o.isWhole,
      isPruning: o.prune,
      isShellNew: o.updateEnv,
    };
    const planned = () => planOf(desk, control.world.desired, applied);
    if (o.dryRun) return shownPlan(planned());
    const fresh = isSeen ? NOTHING_FRESH : await readiness(desk, planned().steps);
    const { left } = planned();
    const receipt = control.mutate('apply', o.token, (desired) =>
      fresh.keep(applyPlan(desk, desired, planOf(desk, desired, applied).steps, applied.file)),
    );
    if (o.wait) await settledEach(desk, receipt, client, o.progress);
    return {
      plan: receipt.plan ?? [],
      left,
      slots: statuses(
        desk,
        receipt.about.map(({ id }) => id),
      ),
    };
  },
};

/** @type {Reader<unknown[]>} */
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
 * Finds out before anything is touched what would keep new instances from starting, and reads what
 * they are given.
 * @param {Desk} desk
 * @param {ApplyStep[]} steps
 */
async function readiness({ parts }, steps) {
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
function applyPlan(desk, desired, steps, file) {
  const {
    control: { world },
    parts,
  } = desk;
  const change = applySteps(desired, steps, {
    file,
    cpus: parts.cpus(),
    nowMs: parts.clock.nowMs(),
    isUp: (id, generation) => isUp(world, id, generation),
    isBeside: (app) => isBeside(world, app),
  });
  const apps = steps.flatMap(({ item: { name } }) => findApp(change.desired, name) ?? []);
  const up = [...change.up, ...underWay(desk, apps, change)];
  const ids = apps.flatMap((app) => app.slots.map(({ id }) => id));
  const about = [...placesOf(change.desired, ids), ...placesOf(desired, change.gone)];
  return withRoom({ ...change, up, about, plan: steps.map(({ item }) => item) }, roomOf('Apply', desk));
}

/**
 * What somebody else has begun and is not done is waited for as well: then the apps are as the file
 * says.
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
 * @typedef {'start' | 'restart' | 'reload'} Way  How those that are in the list get their new
 *   specs.
 */

/** @type {Reader<Way>} */
const way = (value, path) => someOf(/** @type {const} */ (['start', 'restart', 'reload']))([value], path)[0];

/**
 * The apps of a file, each with a whole spec: those that are in the list begin a new generation,
 * the others start.
 * @satisfies {Record<string, MethodBody>}
 */
export const renewing = {
  /** @type {MethodBody} */
  async renew(desk, params, client) {
    const given = readParams(
      {
        ...WAITABLE,
        specs: list,
        how: withDefault(way, 'restart'),
        file: optional(text),
        isCounted: withDefault(flag, false),
      },
      params,
    );
    const { control, parts } = desk;
    const specs = given.specs.map((spec, at) => possible(checkSpec(spec, `specs[${at}]`), desk.paths));
    refuseTwins(specs);
    const fresh = await readFresh(desk, given.token, () => specs);
    const filled = specs.map(fresh.fill);
    const inList = filled.filter(({ name }) => findApp(control.world.desired, name) !== null);
    if (given.how === 'reload' && !control.hasSeen(given.token)) await parts.preflight(inList);
    const receipt = control.mutate(given.how === 'reload' ? 'apply' : given.how, given.token, (desired) =>
      fresh.keep(
        renewed(desk, desired, filled, { how: given.how, file: given.file ?? null, isCounted: given.isCounted }),
      ),
    );
    if (given.wait) await settledEach(desk, receipt, client, given.progress);
    return {
      plan: receipt.plan ?? [],
      slots: statuses(
        desk,
        receipt.about.map(({ id }) => id),
      ),
    };
  },
};

/**
 * @param {Desk} desk
 * @param {Desired} desired
 * @param {AppSpec[]} specs
 * @param {{ how: Way, file: string | null, isCounted: boolean }} o  `isCounted`: the number of
 *   instances was typed.
 * @returns {Change & Pick<Receipt, 'about' | 'plan'>}
 */
function renewed(desk, desired, specs, { how, file, isCounted }) {
  const {
    control: { world },
    parts,
  } = desk;
  const steps = specs.map((spec) =>
    stepFor(desk, desired, { ...spec, instances: resolveInstances(spec.instances, parts.cpus()) }, { how, isCounted }),
  );
  const change = applySteps(desired, steps, {
    file,
    cpus: parts.cpus(),
    nowMs: parts.clock.nowMs(),
    isUp: (id, generation) => isUp(world, id, generation),
    isBeside: (app) => isBeside(world, app),
  });
  const named = asBegunBy(how, change.desired, specs);
  const ids = specs.flatMap(({ name }) => findApp(named, name)?.slots.map(({ id }) => id) ?? []);
  return withRoom(
    {
      ...change,
      desired: named,
      about: [...placesOf(named, ids), ...placesOf(desired, change.gone)],
      plan: steps.map(({ item }) => item),
    },
    roomOf(how === 'reload' ? 'Reload' : 'Start', desk),
  );
}

/**
 * @param {Desk} desk
 * @param {Desired} desired
 * @param {AppSpec & { instances: number }} declared
 * @param {{ how: Way, isCounted: boolean }} o
 * @returns {ApplyStep}
 */
function stepFor({ control: { world, keeper } }, desired, declared, { how, isCounted }) {
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

/**
 * Waits for every app of a receipt by itself: what becomes of one is no news about the others.
 * @param {Desk} desk
 * @param {Receipt} receipt
 * @param {Client} client
 * @param {boolean} isTold  Of the progress.
 * @returns {Promise<void>}  Rejects with ERR_NCLUST_APPLY_FAILED when all of them are settled and
 *   some have failed.
 */
async function settledEach(desk, receipt, client, isTold) {
  const teller = isTold ? createTeller(desk, receipt, client) : null;
  const names = [...new Set(receipt.about.map(({ name }) => name))];
  try {
    const outcomes = await Promise.allSettled(
      names.map((name) => desk.control.settled(partOf(receipt, name), client.signal, teller?.look)),
    );
    const failed = outcomes.flatMap((outcome, at) =>
      outcome.status === 'rejected' ? [{ name: names[at], error: outcome.reason }] : [],
    );
    if (failed.length > 0) throw applyError(failed, receipt.plan ?? []);
  } finally {
    teller?.close();
  }
}

/**
 * @param {Receipt} receipt
 * @param {string} name
 * @returns {Receipt}
 */
function partOf(receipt, name) {
  const ids = new Set(receipt.about.filter((place) => place.name === name).map(({ id }) => id));
  return { ...receipt, up: receipt.up.filter(({ id }) => ids.has(id)), gone: receipt.gone.filter((id) => ids.has(id)) };
}

/**
 * @param {{ name: string, error: unknown }[]} failed
 * @param {NonNullable<Receipt['plan']>} plan
 */
function applyError(failed, plan) {
  const errors = failed.map(({ error }) => error);
  const known = errors.filter((error) => error instanceof NclustError);
  // A fault of ours, or the manager is being ended: nothing about an app.
  const other = errors.find((error) => !(error instanceof NclustError) || error.code === 'ERR_NCLUST_SHUTTING_DOWN');
  if (other) return other;
  const names = failed.map(({ name }) => `"${name}"`).join(', ');
  const those = failed.length === 1 ? 'is' : 'are';
  /** @type {NotUp[]} */
  const slots = known.flatMap(({ data }) => /** @type {{ slots?: NotUp[] }} */ (data ?? {}).slots ?? []);
  return new NclustError(
    'ERR_NCLUST_APPLY_FAILED',
    `${failed.length} of ${plan.length} ${plan.length === 1 ? 'app' : 'apps'} ${those} not as the file ` +
      `says: ${names}. ${known.map(({ message }) => message).join(' ')}`,
    {
      hint: known[0].hint,
      data: {
        slots,
        plan,
        apps: failed.map(({ name }, at) => ({ name, code: known[at].code, message: known[at].message })),
      },
    },
  );
}
