// Knows: what `nclust apply` has to change, app by app, and the steps that do it. Must not: ask the
// keeper, wait for an outcome, read a file.
import { isDeepStrictEqual } from 'node:util';
import { resolveInstances } from '../../../lib/shared/host/cpus.js';
import { diffSpecs } from '../../../lib/app-spec/diff.js';
import { laterFields } from '../../../lib/app-spec/check.js';
import { findApp, getSpec } from '../state/desired.js';

/** @import { SpecDiff } from '../../../lib/app-spec/diff.js' */
/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { PlanAction, PlanItem } from '../../../lib/shared/wire/protocol.js' */
/** @import { DesiredApp, Desired, DesiredSlot } from '../state/desired.js' */

/**
 * @typedef {object} Standing
 * @property {boolean} isServing  The app serves, or will serve soon.
 * @property {(slot: DesiredSlot) => boolean} hasFailed  Control no longer restarts the slot.
 */

/**
 * @typedef {object} ApplyStep
 * @property {PlanItem} item
 * @property {AppSpec | null} spec  `instances` is a number here. Null: the app is removed.
 * @property {'add' | 'remove' | 'renew' | 'reload' | 'replace' | 'keep'} how
 * @property {number[]} ids  The slots that get a new generation, or are removed.
 */

/**
 * @typedef {object} ApplyRequest
 * @property {AppSpec[]} specs
 * @property {string | null} file  Null: the input is not a named file, so no app belongs to it.
 * @property {boolean} isWhole  The specs are all apps of the file.
 * @property {boolean} isPruning  Apps that are no longer in the file are removed.
 * @property {boolean} isShellNew  Apps get the variables and the interpreter of this shell.
 */

/**
 * Pure: does not store anything between the plan and its execution.
 * @param {Desired} desired
 * @param {ApplyRequest} applied
 * @param {{ standingOf: (app: DesiredApp) => Standing, cpus: number }} o
 * @returns {{ steps: ApplyStep[], left: string[] }}  `left`: apps that are no longer in the file,
 *   but stay.
 */
export function planApply(desired, applied, { standingOf, cpus }) {
  const { specs, isPruning, isShellNew } = applied;
  const steps = specs.map((spec) => {
    const app = findApp(desired, spec.name);
    const counted = { ...spec, instances: resolveInstances(spec.instances, cpus) };
    if (!app) return added(counted);
    return planStep(app, withRunningValues(app.spec, counted, isShellNew), { ...standingOf(app), isShellNew });
  });
  const gone = leftOvers(desired, applied);
  return {
    steps: [...steps, ...(isPruning ? gone.map(removed) : [])],
    left: isPruning ? [] : gone.map(({ spec }) => spec.name),
  };
}

/**
 * @param {AppSpec} spec
 * @returns {ApplyStep}
 */
export function added(spec) {
  return { item: { name: spec.name, action: 'start', changes: [] }, spec, how: 'add', ids: [] };
}

/**
 * @param {DesiredApp} app
 * @returns {ApplyStep}
 */
function removed({ spec, slots }) {
  const ids = slots.map(({ id }) => id);
  return { item: { name: spec.name, action: 'delete', changes: [] }, spec: null, how: 'remove', ids };
}

/**
 * @param {DesiredApp} app
 * @param {number} after
 * @returns {PlanItem['changes']}  Empty if the number of instances stays.
 */
export function countChanges({ slots: { length: before } }, after) {
  return before === after ? [] : [{ field: 'instances', attribute: 'instances', before, after }];
}

/**
 * @param {Desired} desired
 * @param {ApplyRequest} applied
 */
function leftOvers({ apps }, { specs, file, isWhole }) {
  if (file === null || !isWhole) return [];
  const named = new Set(specs.map(({ name }) => name));
  return apps.filter((app) => app.origin === file && !named.has(app.spec.name));
}

/**
 * @param {DesiredApp} app
 * @param {AppSpec & { instances: number }} spec
 * @param {Standing & { isShellNew: boolean }} standing
 * @returns {ApplyStep}
 */
function planStep(app, spec, standing) {
  const { isServing, hasFailed, isShellNew } = standing;
  const getDiff = (/** @type {AppSpec} */ one) => diffSpecs(one, spec, { isShellNew });
  const newest = getDiff(app.spec);
  const isChanged = needsNew(newest);
  const isResting = (/** @type {DesiredSlot} */ slot) =>
    slot.want === 'down' && (!spec.autostart || (slot.isDone === true && !isChanged && !isAskedAgain(app.spec, spec)));
  const awake = app.slots.filter((slot) => !isResting(slot));
  const down = awake.filter((slot) => slot.want === 'down' || hasFailed(slot));
  // Compares each slot with its own spec, because after a halted reload some slots may run with an
  // older spec.
  const own = new Map(
    app.slots.filter((slot) => slot.want === 'up').map((slot) => [slot, getDiff(getSpec(app, slot.generation))]),
  );
  const diffs = [newest, ...own.values()];
  const stale = awake.filter((slot) => slot.want === 'down' || needsNew(own.get(slot) ?? newest));
  const isReplaced = awake.length > 0 && diffs.some(({ needs }) => needs.has('replace'));
  const isOld = [...own.values()].some(needsNew);
  const { how, slots } = chooseAction({ awake, down, stale }, { isReplaced, isOld, isServing });
  const scaled = countChanges(app, spec.instances);
  const changes = [...mergeDiffs(diffs), ...scaled];
  const isUp = own.size > 0 && isServing;
  const action = decideAction(how, { isScaled: scaled.length > 0, isChanged: changes.length > 0, isUp });
  return { item: { name: spec.name, action, changes }, spec, how, ids: slots.map(({ id }) => id) };
}

/**
 * @param {{ awake: DesiredSlot[], down: DesiredSlot[], stale: DesiredSlot[] }} slots
 * @param {{ isReplaced: boolean, isOld: boolean, isServing: boolean }} o
 * @returns {{ how: ApplyStep['how'], slots: DesiredSlot[] }}
 */
function chooseAction({ awake, down, stale }, { isReplaced, isOld, isServing }) {
  if (isReplaced) return { how: 'replace', slots: awake };
  if (isOld && isServing) return { how: 'reload', slots: [...new Set([...stale, ...down])] };
  // Does not reload, because without a serving instance a guarded reload has nothing to protect.
  if (isOld) return { how: 'renew', slots: awake };
  return down.length > 0 ? { how: 'renew', slots: down } : { how: 'keep', slots: [] };
}

/**
 * @param {ApplyStep['how']} how
 * @param {{ isScaled: boolean, isChanged: boolean, isUp: boolean }} o
 * @returns {PlanAction}
 */
function decideAction(how, { isScaled, isChanged, isUp }) {
  if (how === 'reload') return 'rollout';
  if (how === 'replace' && isUp) return 'replace';
  if (how === 'replace' || how === 'renew') return 'start';
  if (isScaled) return 'scale';
  return isChanged ? 'live' : 'none';
}

/** @param {SpecDiff} diff */
function needsNew({ needs }) {
  return needs.has('rollout') || needs.has('replace');
}

/**
 * @param {AppSpec} before
 * @param {AppSpec} after
 */
function isAskedAgain(before, after) {
  return after.autorestart && !before.autorestart;
}

/**
 * @param {SpecDiff[]} diffs
 * @returns {PlanItem['changes']}  Contains each attribute once.
 */
function mergeDiffs(diffs) {
  const byAttribute = new Map(
    diffs
      .flatMap(({ changes }) => changes)
      .reverse()
      .map((change) => [change.attribute, change]),
  );
  return [...byAttribute.values()].reverse();
}

/** Node.js options for TypeScript, which nclust itself adds to the interpreter's arguments. */
const OF_VERSION = /^--experimental-(strip|transform)-types$/;

/**
 * Keeps the shell variables and the path of the interpreter from the running spec, unless
 * `isShellNew` is set. So the same file leads to the same spec from any shell.
 * @template {AppSpec} Spec
 * @param {AppSpec} spec  The spec that runs now.
 * @param {Spec} wanted
 * @param {boolean} isShellNew
 * @returns {Spec}
 */
function withRunningValues(spec, wanted, isShellNew) {
  const kept = { ...laterFields(spec), ...wanted };
  if (isShellNew) return kept;
  return { ...kept, shellEnv: spec.shellEnv, ...(isSameWord(spec, wanted) ? findInterpreter(spec, wanted) : {}) };
}

/**
 * @param {AppSpec} spec
 * @param {AppSpec} wanted
 */
function isSameWord(spec, wanted) {
  return (
    spec.interpreterGiven === wanted.interpreterGiven &&
    spec.script === wanted.script &&
    spec.kind === wanted.kind &&
    spec.interpreter !== 'none' &&
    wanted.interpreter !== 'none'
  );
}

/**
 * @param {AppSpec} spec
 * @param {AppSpec} wanted
 * @returns {Partial<AppSpec>}
 */
function findInterpreter({ file, interpreter, interpreterArgs, interpreterEnv, nodeVersion }, wanted) {
  const own = (/** @type {string[]} */ args) => args.filter((arg) => !OF_VERSION.test(arg));
  const isSame = isDeepStrictEqual(own(interpreterArgs), own(wanted.interpreterArgs));
  const isSameProgram = interpreter === wanted.interpreter;
  return {
    file,
    interpreter,
    interpreterEnv,
    nodeVersion: isSameProgram ? wanted.nodeVersion : nodeVersion,
    ...(isSame && !isSameProgram ? { interpreterArgs } : {}),
  };
}
