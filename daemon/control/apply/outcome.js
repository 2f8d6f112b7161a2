import { NclustError } from '../../../lib/shared/errors.js';
import { shellQuote } from '../../../lib/shared/shell-quote.js';
import { waitWithProgress } from '../requests/progress.js';
import { findApp } from '../state/desired.js';
import { listSeats } from '../state/registry.js';

/** @import { FailedApp, NotUp } from '../../../lib/shared/wire/protocol.js' */
/** @import { ChangeContext } from '../requests/change.js' */
/** @import { WaitingClient } from '../requests/progress.js' */
/** @import { Receipt } from '../state/desired.js' */
/** @import { Registry } from '../state/registry.js' */

/** Errors of one app. Any other error concerns the whole request. */
const APP_CODES = ['ERR_NCLUST_NOT_UP', 'ERR_NCLUST_RELOAD_FAILED', 'ERR_NCLUST_ROLLED_BACK'];

/**
 * Waits for every app, even if one fails, because the apps do not depend on one another.
 * @param {ChangeContext} context
 * @param {Receipt} receipt
 * @param {WaitingClient} client
 * @param {{ progress: boolean, isFromFile?: boolean }} o
 * @returns {Promise<void>}  If an app failed, rejects with ERR_NCLUST_APPLY_FAILED. If `isFromFile`
 *   is false, and one app failed or the receipt has no plan, rejects with the code of the app.
 *   `data.apps` has the failed apps, and `data.done` the others. Rejects with the original error if
 *   the request has only one app, or if the error concerns the whole request.
 */
export async function waitForApps(context, receipt, client, { progress, isFromFile = true }) {
  const names = [...new Set(receipt.about.map(({ name }) => name))];
  const receipts = names.map((name) => buildReceipt(receipt, name));
  // Slots that a scaling has removed from the list, so `about` does not have them.
  const gone = receipt.gone.filter((id) => receipts.every((one) => !one.gone.includes(id)));
  if (gone.length > 0) receipts.push({ ...receipt, up: [], gone });
  const outcomes = await waitWithProgress(context, receipt, client, progress, (onLook) =>
    Promise.allSettled(receipts.map((one) => context.control.waitFor(one, client.signal, onLook))),
  );
  const failed = outcomes.flatMap((outcome, at) =>
    outcome.status === 'rejected' ? [{ name: names[at], error: outcome.reason }] : [],
  );
  if (failed.length === 0) return;
  const other = failed.find(({ error }) => !APP_CODES.includes(error?.code));
  if (other) throw other.error;
  if (names.length === 1 && !isFromFile) throw failed[0].error;
  throw combineErrors(context.control.registry, receipt, failed, isFromFile);
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
 * @param {Registry} registry
 * @param {Receipt} receipt
 * @param {{ name: string, error: NclustError }[]} failed
 * @param {boolean} isFromFile
 */
function combineErrors(registry, { about, plan }, failed, isFromFile) {
  const [{ name, error: first }] = failed;
  /** @type {Record<string, number>} */
  const counts = {};
  for (const place of about) counts[place.name] = (counts[place.name] ?? 0) + 1;
  const names = failed.map((one) => `"${one.name}"`).join(', ');
  const total = plan?.length ?? Object.keys(counts).length;
  const what = plan && isFromFile ? `${failed.length === 1 ? 'does' : 'do'} not match the file` : 'failed';
  const isOwn = !isFromFile && (failed.length === 1 || !plan);
  const others = Object.keys(counts).filter((one) => failed.every((app) => app.name !== one));
  const reasons = failed.map(({ error }) => error.message).join(' ');
  return new NclustError(
    isOwn ? first.code : 'ERR_NCLUST_APPLY_FAILED',
    isOwn && failed.length === 1
      ? first.message
      : `${failed.length} of ${total} ${total === 1 ? 'app' : 'apps'} ${what}: ${names}. ${reasons}`,
    {
      hint: total === 1 ? first.hint : `nclust logs ${shellQuote(name)} --err`,
      data: {
        .../** @type {object} */ (isOwn ? first.data : {}),
        slots: failed.flatMap(({ error }) => /** @type {{ slots?: NotUp[] }} */ (error.data ?? {}).slots ?? []),
        ...(plan ? { plan } : {}),
        apps: failed.map((app) => describeFailed(registry, app, counts[app.name])),
        done: others.map((one) => ({ name: one, instances: counts[one] })),
      },
    },
  );
}

/**
 * @param {Registry} registry
 * @param {{ name: string, error: NclustError }} failed
 * @param {number} instances
 * @returns {FailedApp}
 */
function describeFailed(registry, { name, error: { code, message } }, instances) {
  const running = listSeats(registry, name)
    .filter(({ life }) => life.state === 'up')
    .map(({ slot, generation }) => ({ slot, generation }));
  const failure = findApp(registry.desired, name)?.rollout.failure;
  const isOld = Boolean(failure) && running.every(({ generation }) => generation < Number(failure?.generation));
  return { name, code, message, instances, running, isOld };
}
