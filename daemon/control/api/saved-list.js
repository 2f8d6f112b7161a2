import { renameSync } from 'node:fs';
import { NclustError } from '../../../lib/shared/errors.js';
import { explainCode } from '../../../lib/shared/host/as-user.js';
import { findReplaceable } from '../../../lib/shared/host/replace-file.js';
import { checkSpec, laterFields } from '../../../lib/app-spec/check.js';
import { checkCompression } from '../logs/archive/compression.js';
import { assertCapacity, addAffectedSlots, startFacts } from '../requests/change.js';
import { keepOffOwnFiles } from '../spawn/reserved-paths.js';
import { finishSlot, keepStopped, startSpecs } from '../state/changes.js';
import { changeInTurn, findApp, emptyDesired, replaceApp } from '../state/desired.js';
import { isDiskFull, notWritten, readSealed, writeInNeed, writeSealed } from '../state/durable-file.js';
import { BadParams, CHANGE_PARAMS, flag, list, readParams, record, text, toggle, withDefault } from './params.js';
import { awaitStatuses } from './status.js';

/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { ApiContext } from '../context.js' */
/** @import { DesiredApp, Change, Desired } from '../state/desired.js' */
/** @import { MethodBody } from './methods.js' */

/** @satisfies {Record<string, MethodBody>} */
export const savedListMethods = {
  /** @type {MethodBody} */
  save(context, params) {
    const { force, isEmpty } = readParams({ force: toggle, isEmpty: toggle }, params);
    const apps = isEmpty ? [] : context.control.registry.desired.apps;
    if (apps.length === 0 && !force) {
      throw new NclustError('ERR_NCLUST_EMPTY_LIST', 'There is nothing to save: the list is empty.', {
        hint: 'Give --force to save the empty list.',
      });
    }
    writeDump(context, apps);
    return { file: context.paths.dump, apps: apps.length };
  },

  /** @type {MethodBody} */
  async resurrect(context, params, client) {
    const { wait, token } = readParams({ wait: withDefault(flag, true), token: text }, params);
    const receipt = context.control.mutate('resurrect', token, (desired) =>
      addAffectedSlots(bringBack(context, desired, readDump(context))),
    );
    return { slots: await awaitStatuses(context, receipt, client, { wait, progress: false }) };
  },

  /** @type {MethodBody} */
  async kill(context, params) {
    const { token } = readParams({ token: text }, params);
    const { control, paths } = context;
    const { apps } = control.registry.desired;
    if (apps.length > 0 && readSealed(paths.dump).kind === 'missing') keepList(context, apps);
    if (apps.length > 0 && control.registry.ending === null)
      control.mutate('kill', token, () => ({ desired: emptyDesired(), up: [], gone: [], about: [] }));
    await control.session.insist(control.end('kill'));
    return {};
  },
};

/**
 * If the disk is full, renames the state file to the saved list, because the state file has the
 * same apps, and renaming needs no space.
 * @param {ApiContext} context
 * @param {DesiredApp[]} apps
 */
function keepList(context, apps) {
  try {
    writeDump(context, apps);
  } catch (error) {
    if (!isDiskFull(/** @type {Error} */ (error).cause)) throw error;
    renameSync(findReplaceable(context.paths.state), findReplaceable(context.paths.dump));
  }
}

/**
 * @param {ApiContext} context
 * @param {DesiredApp[]} apps
 */
function writeDump({ paths }, apps) {
  try {
    writeInNeed(paths.reserve, paths.dump, () => writeSealed(paths.dump, { v: 1, apps }, `${paths.dump}.bak`));
  } catch (error) {
    const message = `The list could not be saved to "${paths.dump}" (${explainCode(error)}).`;
    throw notWritten('ERR_NCLUST_STATE_WRITE', message, error);
  }
}

/**
 * @param {ApiContext} context
 * @returns {DesiredApp[]}
 */
function readDump({ paths }) {
  const reading = readSealed(paths.dump);
  const copy = reading.kind === 'good' ? reading : readSealed(`${paths.dump}.bak`);
  if (copy.kind === 'good' && Array.isArray(copy.value.apps)) return copy.value.apps;
  if (reading.kind === 'missing') {
    throw new NclustError('ERR_NCLUST_DUMP_MISSING', `There is no saved list "${paths.dump}".`, {
      hint: 'Start the apps, then run: nclust save',
    });
  }
  const why = reading.kind === 'bad' ? reading.why : 'it does not contain a list of apps';
  throw new NclustError('ERR_NCLUST_DUMP_BAD', `The saved list "${paths.dump}" cannot be used: ${why}.`, {
    hint: 'Move it away, start the apps and run: nclust save',
  });
}

/**
 * @param {ApiContext} context
 * @param {Desired} desired
 * @param {DesiredApp[]} saved
 */
function bringBack({ parts }, desired, saved) {
  const missing = saved.filter((app) => !findApp(desired, app.spec.name));
  return changeInTurn(desired, missing, (sum, app) => {
    const spec = { ...laterFields(app.spec), ...checkSpec({ ...app.spec, instances: app.slots.length }) };
    const started = startSpecs(sum, [spec], startFacts(parts));
    const resting = started.up.filter((_, at) => app.slots[at]?.want === 'down').map(({ id }) => id);
    const finished = started.up.filter((_, at) => app.slots[at]?.isDone).map(({ id }) => id);
    const change = keepStopped(started, resting, 'resurrect');
    return { ...change, desired: fromWhere(finished.reduce(finishSlot, change.desired), app) };
  });
}

/**
 * Restores the manual scale and the config file of an app. With the config file, `apply --prune`
 * can still remove the app.
 * @param {Desired} desired
 * @param {DesiredApp} saved
 */
function fromWhere(desired, { spec: { name }, previous: _previous, scope: _scope, slots: _slots, ...saved }) {
  const app = findApp(desired, name);
  // `...saved` also keeps fields that a later version of nclust has added.
  return app ? replaceApp(desired, { ...saved, ...app }) : desired;
}

/** @satisfies {Record<string, MethodBody>} */
export const importMethods = {
  /** @type {MethodBody} */
  async import(context, params, client) {
    const { apps, token, ...o } = readParams({ ...CHANGE_PARAMS, apps: list }, params);
    const given = apps.map((app, at) => readApp(context, app, `apps[${at}]`));
    const receipt = context.control.mutate('import', token, (desired) => {
      const change = addImported(context, desired, given);
      assertCapacity(context, 'Import', change);
      return addAffectedSlots(change);
    });
    return { slots: await awaitStatuses(context, receipt, client, o) };
  },
};

/** @typedef {{ spec: AppSpec, resting: number[] }} Given  `resting`: slots that stay stopped. */

/**
 * @param {ApiContext} context
 * @param {unknown} app
 * @param {string} path
 * @returns {Given}  Throws BadParams, ERR_NCLUST_BAD_SPEC and ERR_NCLUST_BAD_SETTING.
 */
function readApp({ paths }, app, path) {
  const { spec, resting = [] } = record(app, path);
  if (!Array.isArray(resting) || !resting.every((slot) => Number.isInteger(slot) && slot >= 0))
    throw new BadParams(`${path}.resting`, 'a list of slot numbers');
  const checked = checkSpec(spec, `${path}.spec`);
  if (checked.logCompress !== null) checkCompression(checked.logCompress);
  return { spec: keepOffOwnFiles(checked, paths), resting };
}

/**
 * @param {ApiContext} context
 * @param {Desired} desired
 * @param {Given[]} given
 * @returns {Change}  Throws ERR_NCLUST_APP_EXISTS.
 */
function addImported({ parts }, desired, given) {
  return changeInTurn(desired, given, (sum, { spec, resting }) => {
    const started = startSpecs(sum, [spec], { isIdle: () => false, ...startFacts(parts) });
    const ids = started.up.filter((_, slot) => resting.includes(slot)).map(({ id }) => id);
    const change = keepStopped(started, ids, 'import');
    // PM2 shows a job that waits for its next run as stopped.
    const isJob = spec.cronRestart !== null && !spec.autorestart;
    return isJob ? { ...change, desired: ids.reduce(finishSlot, change.desired) } : change;
  });
}
