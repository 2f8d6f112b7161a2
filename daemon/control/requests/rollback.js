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
  /** @type {DesiredApp[]} */
  let apps = [];
  const receipt = control.mutate('rollback', token, (desired) => {
    apps = selectOpen(desired, selectIds(desired, targets));
    return addAffectedSlots(undo(desired, apps, parts.clock.nowMs()));
  });
  for (const { spec, generation } of apps)
    parts.managerLog('rollout-rolled-back', { app: spec.name, generation, by: 'rollback', reason: REASON });
  return receipt;
}

/**
 * @param {Desired} desired
 * @param {number[]} ids
 */
function selectOpen({ apps }, ids) {
  const chosen = apps.filter(({ slots }) => slots.some(({ id }) => ids.includes(id)));
  const open = chosen.filter(({ rollout }) => rollout.isGuarded && rollout.windowMs);
  if (open.length > 0) return open;
  const names = chosen.map(({ spec }) => spec.name);
  throw new NclustError('ERR_NCLUST_NO_ROLLBACK', `"${names.join('", "')}" has no open rollback window.`, {
    hint:
      `Put the old code back, then: nclust reload ${names.map(shellQuote).join(' ')}. ` +
      'A release of nclust deploy: nclust deploy <environment> revert',
    data: { names },
  });
}

/**
 * @param {Desired} desired
 * @param {DesiredApp[]} apps
 * @param {number} atMs
 * @returns {Change}
 */
function undo(desired, apps, atMs) {
  const slots = apps.flatMap((app) =>
    app.slots.flatMap(({ id, want, former }) => (former ? { id, want, former } : [])),
  );
  const up = slots.filter(({ former }) => former.want !== 'down');
  return {
    desired: apps.reduce((sum, app) => {
      const { generation } = app;
      return replaceApp(sum, rollBack(app, { kind: 'rolled-back', generation, reason: REASON, slots: [], atMs }));
    }, desired),
    up: up.map(({ id, former }) => ({ id, generation: former.generation })),
    gone: slots.filter(({ want, former }) => want === 'up' && former.want === 'down').map(({ id }) => id),
  };
}
