import { NclustError } from '../../../lib/shared/errors.js';
import { shellQuote } from '../../../lib/shared/shell-quote.js';
import { rollBack } from '../rollout/changes.js';
import { replaceApp } from '../state/desired.js';
import { addAffectedSlots, selectIds } from './change.js';

/** @import { Change, Desired, DesiredApp, Receipt } from '../state/desired.js' */
/** @import { ChangeContext } from './change.js' */

const REASON = 'nclust rollback was called';

/**
 * Lets the parked instances of these apps serve again, and ends the new ones.
 * @param {ChangeContext} context
 * @param {{ token: string, targets: string[] }} o
 * @returns {Receipt}  Throws ERR_NCLUST_NO_ROLLBACK, and the errors of mutate() and selectIds().
 */
export function beginRollback({ control, parts }, { token, targets }) {
  return control.mutate('rollback', token, (desired) => {
    const ids = selectIds(desired, targets);
    const apps = desired.apps.filter(({ slots }) => slots.some(({ id }) => ids.includes(id)));
    const atMs = parts.clock.nowMs();
    for (const app of apps) assertWindow(app);
    for (const { spec, generation } of apps)
      parts.managerLog('rollout-rolled-back', { app: spec.name, generation, by: 'rollback', reason: REASON });
    return addAffectedSlots(undo(desired, apps, atMs));
  });
}

/** @param {DesiredApp} app */
function assertWindow({ spec: { name }, rollout }) {
  if (rollout.isGuarded && rollout.windowMs) return;
  throw new NclustError('ERR_NCLUST_NO_ROLLBACK', `"${name}" has no open rollback window.`, {
    hint:
      `Put the old code back, then: nclust reload ${shellQuote(name)}. ` +
      'A release of nclust deploy: nclust deploy <environment> revert',
    data: { name },
  });
}

/**
 * @param {Desired} desired
 * @param {DesiredApp[]} apps
 * @param {number} atMs
 * @returns {Change}
 */
function undo(desired, apps, atMs) {
  const old = apps.flatMap(({ slots }) =>
    slots.flatMap(({ id, former }) => (former?.want === 'up' ? { id, former } : [])),
  );
  return {
    desired: apps.reduce((sum, app) => {
      const { generation } = app;
      return replaceApp(sum, rollBack(app, { kind: 'rolled-back', generation, reason: REASON, slots: [], atMs }));
    }, desired),
    up: old.map(({ id, former }) => ({ id, generation: former.generation })),
    gone: [],
  };
}
