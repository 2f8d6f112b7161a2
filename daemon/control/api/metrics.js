import { SERIES, STEPS, TICK_MS } from '../../../lib/shared/metrics.js';
import { selectIds } from '../requests/change.js';
import { queryAppMetadata } from './messages.js';
import { allSlotIds, listTroubles } from './status.js';
import {
  BadParams,
  flag,
  oneOf,
  optional,
  readParams,
  readSome,
  record,
  subscriptionName,
  texts,
  toggle,
  wholeUpTo,
  withDefault,
} from './params.js';

/** @import { MetricsSample, SeriesName } from '../../../lib/shared/metrics.js' */
/** @import { ApiContext } from '../context.js' */
/** @import { HistoryOptions } from '../metrics/metrics.js' */
/** @import { MethodBody } from './methods.js' */

const NAMES = /** @type {SeriesName[]} */ (Object.keys(SERIES));
const OF = /** @type {const} */ (['workers', 'apps', 'both', 'host']);

/** Limit of values in one answer, about 7 MB. */
const VALUES_MAX = 1_000_000;

let lastSubscription = 0;

/** @satisfies {Record<string, MethodBody>} */
export const metrics = {
  /** @type {MethodBody} */
  async metrics(context, params, client) {
    const shape = {
      targets: optional(texts),
      detail: toggle,
      custom: toggle,
      workers: withDefault(flag, true),
      history: optional(record),
      follow: toggle,
      subscription: optional(subscriptionName),
    };
    const {
      targets,
      detail,
      custom,
      workers: hasWorkers,
      history,
      follow,
      subscription = `metrics-${++lastSubscription}`,
    } = readParams(shape, params);
    const asked = history && readHistory(history);
    const idsNow = () => targets && selectIds(context.control.registry.desired, targets);
    await context.metrics.measureNew();
    const ids = idsNow();
    if (asked) checkSize(asked, ids?.length ?? allSlotIds(context).length);
    const sample = trimmed(context.metrics.now({ ids, detail }), hasWorkers);
    if (custom) await addCustom(context, sample);
    if (follow && !client.signal.aborted) begin();
    return {
      ...sample,
      troubles: listTroubles(context, ids),
      tickMs: TICK_MS,
      ...(asked ? { history: context.metrics.history({ ids, ...asked }) } : {}),
      ...(follow ? { subscription } : {}),
    };

    function begin() {
      client.subscriptions.get(subscription)?.();
      const end = context.metrics.onTick(() => {
        const its = followed();
        const { now } = context.metrics;
        client.notify('metrics', {
          subscription,
          ...trimmed(now({ ids: its, detail }), hasWorkers),
          troubles: listTroubles(context, its),
        });
      });
      client.subscriptions.set(subscription, end);
    }

    /**
     * Selects the slots at each tick, because apps may have been deleted or added since the last
     * tick. Returns no slots if one of the targets does not exist any more.
     */
    function followed() {
      try {
        return idsNow();
      } catch {
        return [];
      }
    }
  },
};

/**
 * @param {Record<string, unknown>} given
 * @returns {Omit<HistoryOptions, 'ids'>}
 */
function readHistory(given) {
  const { series, stepMs, points } = readParams(
    {
      series: withDefault(readSome(NAMES), NAMES),
      stepMs: withDefault(wholeUpTo(10_000), 1_000),
      points: optional(wholeUpTo(STEPS[10000])),
    },
    given,
  );
  if (stepMs !== 1_000 && stepMs !== 10_000) throw new BadParams('history.stepMs', '1000 or 10000');
  return {
    series,
    stepMs,
    points: Math.max(1, Math.min(points ?? Infinity, STEPS[stepMs])),
    of: oneOf(OF)(given.of ?? 'workers', 'history.of'),
  };
}

/**
 * @param {Omit<HistoryOptions, 'ids'>} asked
 * @param {number} slots
 */
function checkSize({ series, points, of }, slots) {
  const pointsMax = Math.floor(VALUES_MAX / Math.max(1, slots * series.length));
  if (of !== 'host' && points > pointsMax)
    throw new BadParams('history.points', `at most ${pointsMax} for ${series.length} series of ${slots} slots`);
}

/**
 * @param {MetricsSample} sample
 * @param {boolean} hasWorkers
 */
function trimmed(sample, hasWorkers) {
  return hasWorkers ? sample : { ...sample, workers: [] };
}

/**
 * @param {ApiContext} context
 * @param {MetricsSample} sample
 */
async function addCustom(context, sample) {
  const metadata = await queryAppMetadata(context);
  for (const worker of sample.workers)
    worker.custom = /** @type {any} */ (metadata.get(worker.instanceId ?? '')?.monitor ?? {});
}
