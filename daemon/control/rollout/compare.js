import { tell } from '../keeper-link/tell.js';
import { findApp } from '../state/desired.js';
import { seatsOf } from '../state/registry.js';

/** @import { Core } from '../keeper-link/tell.js' */
/** @import { AppWish } from '../state/desired.js' */
/** @import { Instance, World } from '../state/registry.js' */

/**
 * What an instance reports of a span of time.
 * @typedef {object} Span
 * @property {number} responses
 * @property {number} errors  Responses with a status of 500 or more.
 * @property {number} delayP99Ms  Of the event loop.
 * @property {number} atMs  The end of the span.
 */

/**
 * An instance in a rollout with a rollback window. No other instance is watched.
 * @typedef {object} Pulse
 * @property {string} name  Of the app.
 * @property {number} slot
 * @property {number} generation
 * @property {boolean} isWatched
 * @property {boolean} isAsked  Whether its event loop turns; it has not answered yet.
 * @property {boolean} isSilent  It has not answered in time.
 * @property {Span[]} spans
 */

/** How often a watched instance reports, in ms. */
const REPORT_EVERY_MS = 500;

/** How many reports of an instance are kept: those of a minute. */
const SPANS_KEPT = 120;

// The rule is the table in docs/reload.md, "The rollback window".

/** A figure of the new instances is worse above this many times the figure of the old ones. */
const FACTOR = 3;

/** Errors of the new instances count for this long, in ms. */
const RECENT_MS = 5_000;

/** A share of errors is known from this many responses on. */
const RESPONSES_MIN = 20;

/** A share of errors up to this is not worse, however few errors the old instances had. */
const ERROR_SHARE_MIN = 0.05;

/**
 * A share of errors is worse beyond this part of the way from the old share to all responses. No
 * share is three times an old one of a half.
 */
const WORSE_PART = 0.5;

/** A share of errors above this is worse when the share of the old instances is not known. */
const ERROR_SHARE_UNKNOWN = 0.5;

/** A delay of the event loop up to this is not worse, in ms. */
const DELAY_MIN_MS = 200;

/** A delay is worse when it is above its limit in this many reports in a row. */
const DELAY_SPANS = 3;

/**
 * How long the event loop of a new instance has for an answer, in ms. An instance whose loop stands
 * still reports nothing, so it has to be asked.
 */
const SILENT_MS = 3_000;

/**
 * Watches exactly those instances of an app whose figures are needed.
 * @param {Core} core
 * @param {string} name
 */
export function watchInstances(core, name) {
  const { world } = core;
  const rollout = findApp(world.desired, name)?.rollout;
  const isNeeded = Boolean(rollout?.isGuarded && rollout.windowMs && !world.ending);
  if (!isNeeded && ![...world.pulses.values()].some((pulse) => pulse.name === name)) return;
  const serving = new Map(
    isNeeded
      ? seatsOf(world, name)
          .filter((seat) => seat.life.state === 'up')
          .map((seat) => [seat.instanceId ?? '', seat])
      : [],
  );
  for (const [instanceId, { slot, generation }] of serving) {
    if (world.pulses.has(instanceId)) continue;
    world.pulses.set(instanceId, {
      name,
      slot,
      generation,
      isWatched: true,
      isAsked: false,
      isSilent: false,
      spans: [],
    });
    tell(core, 'watch', { instanceId, everyMs: REPORT_EVERY_MS });
  }
  for (const [instanceId, pulse] of world.pulses) {
    if (pulse.name !== name || serving.has(instanceId)) continue;
    if (pulse.isWatched) unwatch(core, instanceId);
    pulse.isWatched = false;
    // The figures of the old ones are the measure until the end.
    if (!isNeeded) world.pulses.delete(instanceId);
  }
}

/**
 * Takes the report of a watched instance.
 * @param {Core} core
 * @param {Instance} instance
 * @param {Omit<Span, 'atMs'>} data
 */
export function recordSample(core, { instanceId }, { responses, errors, delayP99Ms }) {
  const pulse = core.world.pulses.get(instanceId);
  // A control that died has asked for it, for a rollout that is over.
  if (!pulse?.isWatched) return unwatch(core, instanceId);
  const span = { responses, errors, delayP99Ms, atMs: core.parts.clock.nowMs() };
  pulse.spans = [...pulse.spans, span].slice(-SPANS_KEPT);
  return undefined;
}

/**
 * Asks all watched instances of an app whether their event loops turn.
 * @param {Core} core
 * @param {string} name
 */
export function pingInstances(core, name) {
  for (const [instanceId, pulse] of core.world.pulses) {
    const standsStill = () => Boolean(core.world.instances.get(instanceId)?.snapshots);
    if (pulse.name !== name || !pulse.isWatched || pulse.isAsked || standsStill()) continue;
    pulse.isAsked = true;
    const onAnswer = (/** @type {boolean} */ isLate) => {
      const isSilent = isLate && !standsStill();
      Object.assign(pulse, { isAsked: false, isSilent });
      if (isSilent) core.dispatch({ type: 'changed', names: [name] });
    };
    // Any other refusal means that the instance has exited, which the keeper reports by itself.
    core.link?.request('ask', { instanceId, timeoutMs: SILENT_MS }).then(
      () => onAnswer(false),
      (error) => onAnswer(error.code === 'ETIMEDOUT'),
    );
  }
}

/**
 * @param {Core} core
 * @param {string} instanceId
 */
function unwatch(core, instanceId) {
  const instance = core.world.instances.get(instanceId);
  if (instance && !instance.exit) tell(core, 'watch', { instanceId, everyMs: 0 });
}

/**
 * The figure in which the new instances of an app are worse than the old ones, in words; null when
 * there is none.
 * @param {World} world
 * @param {AppWish} app
 * @param {number} nowMs
 */
export function findComplaint(world, app, nowMs) {
  const generations = new Set(app.slots.flatMap((slot) => (slot.former ? slot.generation : [])));
  const mine = [...world.pulses.values()].filter((pulse) => pulse.name === app.spec.name);
  const old = mine.filter((pulse) => !generations.has(pulse.generation));
  const renewed = mine.filter((pulse) => generations.has(pulse.generation));
  return findSilence(renewed) ?? findErrors(renewed, old, nowMs) ?? findDelay(renewed, old);
}

/** @param {Pulse[]} renewed */
function findSilence(renewed) {
  const silent = renewed.find((pulse) => pulse.isWatched && pulse.isSilent);
  return silent ? `the event loop of instance ${silent.slot} has not answered for ${SILENT_MS / 1_000}s` : null;
}

/**
 * @param {Pulse[]} renewed
 * @param {Pulse[]} old
 * @param {number} nowMs
 */
function findErrors(renewed, old, nowMs) {
  const recent = sum(renewed.flatMap((pulse) => pulse.spans.filter((span) => span.atMs > nowMs - RECENT_MS)));
  const before = sum(old.flatMap((pulse) => pulse.spans));
  const share = shareOf(recent);
  const oldShare = shareOf(before);
  if (share === null || share <= errorLimit(oldShare)) return null;
  return (
    `the new instances answered ${recent.errors} of their last ${recent.responses} requests with a ` +
    `status of 500 or more (${percent(share)}; the old ones: ${oldShare === null ? 'not known' : percent(oldShare)})`
  );
}

/**
 * @param {Pick<Span, 'responses' | 'errors'>} sums
 * @returns {number | null}  Null: not known, because there were too few responses.
 */
function shareOf({ responses, errors }) {
  return responses >= RESPONSES_MIN ? errors / responses : null;
}

/**
 * The share of errors above which the new instances are worse.
 * @param {number | null} oldShare
 */
function errorLimit(oldShare) {
  if (oldShare === null) return ERROR_SHARE_UNKNOWN;
  return Math.max(ERROR_SHARE_MIN, Math.min(FACTOR * oldShare, oldShare + WORSE_PART * (1 - oldShare)));
}

/**
 * @param {Pulse[]} renewed
 * @param {Pulse[]} old
 */
function findDelay(renewed, old) {
  const spans = old.flatMap((pulse) => pulse.spans);
  const before = spans.length > 0 ? spans.reduce((total, span) => total + span.delayP99Ms, 0) / spans.length : 0;
  const limitMs = Math.max(DELAY_MIN_MS, FACTOR * before);
  const slow = renewed.find(
    (pulse) =>
      pulse.spans.length >= DELAY_SPANS && pulse.spans.slice(-DELAY_SPANS).every((span) => span.delayP99Ms > limitMs),
  );
  if (!slow) return null;
  const worst = Math.max(...slow.spans.slice(-DELAY_SPANS).map((span) => span.delayP99Ms));
  return (
    `the event loop of instance ${slow.slot} was held up for ${Math.round(worst)} ms (the old ones: ` +
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
