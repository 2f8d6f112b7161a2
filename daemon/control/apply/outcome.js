import { NclustError } from '../../../lib/shared/errors.js';
import { waitWithProgress } from '../requests/progress.js';

/** @import { NotUp } from '../../../lib/shared/wire/protocol.js' */
/** @import { ChangeContext } from '../requests/change.js' */
/** @import { WaitingClient } from '../requests/progress.js' */
/** @import { Receipt } from '../state/desired.js' */

/**
 * Waits for every app, even if one fails, because the apps do not depend on one another.
 * @param {ChangeContext} context
 * @param {Receipt} receipt
 * @param {WaitingClient} client
 * @param {{ progress: boolean, isFromFile?: boolean }} o
 * @returns {Promise<void>}  Rejects with ERR_NCLUST_APPLY_FAILED if an app failed. Rejects with the
 *   original error if it does not come from an app, or if `isFromFile` is false and only one app
 *   failed.
 */
export async function waitForApps(context, receipt, client, { progress, isFromFile = true }) {
  const names = [...new Set(receipt.about.map(({ name }) => name))];
  const outcomes = await waitWithProgress(context, receipt, client, progress, (onLook) =>
    Promise.allSettled(
      names.map((name) => context.control.waitFor(buildReceipt(receipt, name), client.signal, onLook)),
    ),
  );
  const failed = outcomes.flatMap((outcome, at) =>
    outcome.status === 'rejected' ? [{ name: names[at], error: outcome.reason }] : [],
  );
  if (failed.length === 1 && !isFromFile) throw failed[0].error;
  if (failed.length > 0) throw applyError(failed, receipt.plan ?? []);
}

/**
 * @param {Receipt} receipt
 * @param {string} name
 * @returns {Receipt}
 */
function buildReceipt(receipt, name) {
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
  // An error that does not come from an app: a bug in nclust, or the manager is shutting down.
  const other = errors.find((error) => !(error instanceof NclustError) || error.code === 'ERR_NCLUST_SHUTTING_DOWN');
  if (other) return other;
  const names = failed.map(({ name }) => `"${name}"`).join(', ');
  const those = failed.length === 1 ? 'does' : 'do';
  /** @type {NotUp[]} */
  const slots = known.flatMap(({ data }) => /** @type {{ slots?: NotUp[] }} */ (data ?? {}).slots ?? []);
  return new NclustError(
    'ERR_NCLUST_APPLY_FAILED',
    `${failed.length} of ${plan.length} ${plan.length === 1 ? 'app' : 'apps'} ${those} not match the ` +
      `file: ${names}. ${known.map(({ message }) => message).join(' ')}`,
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
