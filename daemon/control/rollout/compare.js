import { tell } from '../keeper-link/tell.js';
import { findApp } from '../state/desired.js';
import { listSeats } from '../state/registry.js';

/** @import { LoopContext } from '../context.js' */
/** @import { DesiredApp } from '../state/desired.js' */
/** @import { Instance, Registry, Span, WatchedInstance } from '../state/registry.js' */

const REPORT_EVERY_MS = 500;

/** The reports of one minute. */
const SPANS_KEPT = 120;

// These constants belong to the table in docs/reload.md, "The rollback window".

/** New instances are worse if their value is more than this factor times the old value. */
const FACTOR = 3;

/** Errors of the new instances count for this long, in ms. */
const RECENT_MS = 5_000;

/** An error share counts only if it comes from at least this many responses. */
const RESPONSES_MIN = 20;

/** An error share up to this limit is never worse, even if the old instances had no errors. */
const ERROR_SHARE_MIN = 0.05;

/**
 * The limit for the error share is never above this part of the way from the old share to 1,
 * because three times a high old share would be more than 1.
 */
const WORSE_PART = 0.5;

/** The limit for the error share if the share of the old instances is not known. */
const ERROR_SHARE_UNKNOWN = 0.5;

/** A delay of the event loop up to this limit is never worse, in ms. */
const DELAY_MIN_MS = 200;

/** A delay is worse if it is above its limit in this many reports in a row. */
const DELAY_SPANS = 3;

/** Time limit for a ping, in ms. A blocked instance sends no reports, so control pings it. */
const SILENT_MS = 3_000;

/**
 * In a rollout with a rollback window, starts the sampling of instances that are up. Also stops the
 * sampling of instances whose values are not needed any more.
 * @param {LoopContext} context
 * @param {string} name
 */
export function watchInstances(context, name) {
  const { registry } = context;
  const rollout = findApp(registry.desired, name)?.rollout;
  const isNeeded = Boolean(rollout?.isGuarded && rollout.windowMs && !registry.ending);
  if (!isNeeded && ![...registry.samples.values()].some((sample) => sample.name === name)) return;
  const serving = new Map(
    isNeeded
      ? listSeats(registry, name)
          .filter((seat) => seat.life.state === 'up')
          .map((seat) => [seat.instanceId ?? '', seat])
      : [],
  );
  for (const [instanceId, { slot, generation }] of serving) {
    if (registry.samples.has(instanceId)) continue;
    registry.samples.set(instanceId, {
      name,
      slot,
      generation,
      isWatched: true,
      isPinged: false,
      isSilent: false,
      spans: [],
    });
    tell(context, 'sample', { instanceId, everyMs: REPORT_EVERY_MS });
  }
  for (const [instanceId, sample] of registry.samples) {
    if (sample.name !== name || serving.has(instanceId)) continue;
    if (sample.isWatched) unwatch(context, instanceId);
    sample.isWatched = false;
    // Samples of old instances stay until the rollout ends, because new instances are compared with
    // them.
    if (!isNeeded) registry.samples.delete(instanceId);
  }
}

/**
 * @param {LoopContext} context
 * @param {Instance} instance
 * @param {Omit<Span, 'atMs'>} data
 */
export function recordSample(context, { instanceId }, { responses, errors, delayP99Ms }) {
  const sample = context.registry.samples.get(instanceId);
  // Control no longer needs these reports. An earlier control may have requested them.
  if (!sample?.isWatched) return unwatch(context, instanceId);
  const span = { responses, errors, delayP99Ms, atMs: context.parts.clock.nowMs() };
  sample.spans = [...sample.spans, span].slice(-SPANS_KEPT);
  return undefined;
}

/**
 * @param {LoopContext} context
 * @param {string} name
 */
export function pingInstances(context, name) {
  for (const [instanceId, sample] of context.registry.samples) {
    const standsStill = () => Boolean(context.registry.instances.get(instanceId)?.snapshots);
    if (sample.name !== name || !sample.isWatched || sample.isPinged || standsStill()) continue;
    sample.isPinged = true;
    const onAnswer = (/** @type {boolean} */ isLate) => {
      const isSilent = isLate && !standsStill();
      Object.assign(sample, { isPinged: false, isSilent });
      if (isSilent) context.dispatch({ type: 'changed', names: [name] });
    };
    // Only ETIMEDOUT shows that the instance is blocked. Other errors need no reaction: the keeper
    // reports an exit as an event, and control drops all samples when it meets the next keeper.
    context.link?.request('ping', { instanceId, timeoutMs: SILENT_MS }).then(
      () => onAnswer(false),
      (error) => onAnswer(error.code === 'ETIMEDOUT'),
    );
  }
}

/**
 * @param {LoopContext} context
 * @param {string} instanceId
 */
function unwatch(context, instanceId) {
  const instance = context.registry.instances.get(instanceId);
  if (instance && !instance.exit) tell(context, 'sample', { instanceId, everyMs: 0 });
}

/**
 * Describes how the new instances are worse than the old instances. Null: they are not worse.
 * @param {Registry} registry
 * @param {DesiredApp} app
 * @param {number} nowMs
 */
export function findComplaint(registry, app, nowMs) {
  const generations = new Set(app.slots.flatMap((slot) => (slot.former ? slot.generation : [])));
  const mine = [...registry.samples.values()].filter((sample) => sample.name === app.spec.name);
  const old = mine.filter((sample) => !generations.has(sample.generation));
  const renewed = mine.filter((sample) => generations.has(sample.generation));
  return findSilence(renewed) ?? findErrors(renewed, old, nowMs) ?? findDelay(renewed, old);
}

/** @param {WatchedInstance[]} renewed */
function findSilence(renewed) {
  const silent = renewed.find((sample) => sample.isWatched && sample.isSilent);
  return silent ? `the event loop of instance ${silent.slot} has not answered for ${SILENT_MS / 1_000}s` : null;
}

/**
 * @param {WatchedInstance[]} renewed
 * @param {WatchedInstance[]} old
 * @param {number} nowMs
 */
function findErrors(renewed, old, nowMs) {
  const recent = sum(renewed.flatMap((sample) => sample.spans.filter((span) => span.atMs > nowMs - RECENT_MS)));
  const before = sum(old.flatMap((sample) => sample.spans));
  const share = getShare(recent);
  const oldShare = getShare(before);
  if (share === null || share <= errorLimit(oldShare)) return null;
  return (
    `the new instances answered ${recent.errors} of their last ${recent.responses} requests with a ` +
    `status of 500 or more (${percent(share)}; the old ones: ${oldShare === null ? 'not known' : percent(oldShare)})`
  );
}

/**
 * @param {Pick<Span, 'responses' | 'errors'>} sums
 * @returns {number | null}  Null: there were too few responses.
 */
function getShare({ responses, errors }) {
  return responses >= RESPONSES_MIN ? errors / responses : null;
}

/** @param {number | null} oldShare */
function errorLimit(oldShare) {
  if (oldShare === null) return ERROR_SHARE_UNKNOWN;
  return Math.max(ERROR_SHARE_MIN, Math.min(FACTOR * oldShare, oldShare + WORSE_PART * (1 - oldShare)));
}

/**
 * @param {WatchedInstance[]} renewed
 * @param {WatchedInstance[]} old
 */
function findDelay(renewed, old) {
  const spans = old.flatMap((sample) => sample.spans);
  const before = spans.length > 0 ? spans.reduce((total, span) => total + span.delayP99Ms, 0) / spans.length : 0;
  const limitMs = Math.max(DELAY_MIN_MS, FACTOR * before);
  const slow = renewed.find(
    (sample) =>
      sample.spans.length >= DELAY_SPANS && sample.spans.slice(-DELAY_SPANS).every((span) => span.delayP99Ms > limitMs),
  );
  if (!slow) return null;
  const worst = Math.max(...slow.spans.slice(-DELAY_SPANS).map((span) => span.delayP99Ms));
  return (
    `the event loop of instance ${slow.slot} was blocked for ${Math.round(worst)} ms (the old ones: ` +
    `${Math.round(before)} ms)`
  );
}

/** @param {Span[]} spans */
function sum(spans) {
  return spans.reduce(
    (total, { responses, errors }) => ({ responses: total.responses + responses, errors: total.errors + errors }),
    { responses: 0, errors: 0 },
  );
}

/** @param {number} share */
function percent(share) {
  return `${Number((share * 100).toFixed(1))}%`;
}
