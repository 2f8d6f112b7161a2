import { NclustError } from '../../../lib/shared/errors.js';
import { createTeller } from '../requests/api-progress.js';

/** @import { NotUp } from '../../../lib/shared/wire/protocol.js' */
/** @import { Receipt } from '../requests/outcome.js' */
/** @import { Client } from './connection.js' */
/** @import { Desk } from './methods.js' */

/**
 * Waits for every app of a receipt by itself: what becomes of one is no news about the others.
 * @param {Desk} desk
 * @param {Receipt} receipt
 * @param {Client} client
 * @param {boolean} isTold  Of the progress.
 * @returns {Promise<void>}  Rejects with ERR_NCLUST_APPLY_FAILED when all of them are settled and some have failed.
 */
export async function settledEach(desk, receipt, client, isTold) {
  const teller = isTold ? createTeller(desk, receipt, client) : null;
  const names = [...new Set(receipt.about.map(({ name }) => name))];
  try {
    const outcomes = await Promise.allSettled(names.map((name) => desk.control.settled(partOf(receipt, name), client.signal, teller?.look)));
    const failed = outcomes.flatMap((outcome, at) => (outcome.status === 'rejected' ? [{ name: names[at], error: outcome.reason }] : []));
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
 * @param {{name: string, error: unknown}[]} failed
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
  const slots = known.flatMap(({ data }) => /** @type {{slots?: NotUp[]}} */ (data ?? {}).slots ?? []);
  return new NclustError('ERR_NCLUST_APPLY_FAILED', `${failed.length} of ${plan.length} ${plan.length === 1 ? 'app' : 'apps'} ${those} not as the file says: ${names}. ${known.map(({ message }) => message).join(' ')}`, {
    hint: known[0].hint,
    data: { slots, plan, apps: failed.map(({ name }, at) => ({ name, code: known[at].code, message: known[at].message })) },
  });
}
