import { tell } from '../keeper-link/tell.js';
import { findApp } from '../state/desired.js';
import { seatsOf } from '../state/registry.js';

/** @import { Core } from '../keeper-link/tell.js' */
/** @import { AppWish } from '../state/desired.js' */
/** @import { Instance, World } from '../state/registry.js' */

/**
 * What an instance does in a span of time. Only instances of a rollout with a rollback window are
 * watched.
 * @typedef {object} Vitals
 * @property {number} responses
 * @property {number} errors  Responses with a status of 500 or more.
 * @property {number} delayP99Ms  Of the event loop.
 */

/**
 * @typedef {object} Pulse
 * @property {string} name  Of the app.
 * @property {number} slot
 * @property {number} generation
 * @property {boolean} isWatched
 * @property {boolean} isAsked  Whether its event loop turns; it has not answered yet.
 * @property {boolean} isSilent  It has not answered in time.
 * @property {(Vitals & { atMs: number })[]} spans
 */

/** How often an instance tells, in ms. */
const EVERY_MS = 500;

/** New instances are judged by their last 5 s. */
const RECENT_MS = 5_000;

/** Fewer responses than this prove nothing. */
const RESPONSES_MIN = 20;

/**
 * The new instances are worse than the old ones when a figure is more than this many times theirs,
 */
const FACTOR = 3;

/** and more than this, as a share of the responses, */
const ERROR_SHARE_MIN = 0.05;

/**
 * (who answered every second request with an error cannot do so three times as often: then it is
 * half of the way to all),
 */
const WORSE_PART = 0.5;

/**
 * or this, where too little is known of the old ones, because few came or the control that watched
 * them has died;
 */
const UNMEASURED_SHARE = 0.5;

/** or this, in ms, in so many spans in a row. */
const DELAY_MIN_MS = 200;
const DELAY_SPANS = 3;

/**
 * A new one whose event loop does not turn tells nothing at all: it is asked, and has so long to
 * answer, in ms.
 */
const SILENT_MS = 3_000;

/** Spans kept of an old instance, as the measure: a minute. */
const SPANS_KEPT = 120;

/**
 * Has exactly those instances of an app watched whose figures are needed.
 * @param {Core} core
 * @param {string} name
 */
export function watchVitals(core, name) {
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
    tell(core, 'watch', { instanceId, everyMs: EVERY_MS });
  }
  for (const [instanceId, pulse] of world.pulses) {
    if (pulse.name !== name || serving.has(instanceId)) continue;
    if (pulse.isWatched) unwatch(core, instanceId);
    pulse.isWatched = false;
    // What the old ones were like is the measure until the end.
    if (!isNeeded) world.pulses.delete(instanceId);
  }
}

/**
 * @param {Core} core
 * @param {Instance} instance
 * @param {Vitals} data
 */
export function vitals(core, { instanceId }, { responses, errors, delayP99Ms }) {
  const pulse = core.world.pulses.get(instanceId);
  // Asked for by a control that died, for a rollout that is over.
  if (!pulse?.isWatched) return unwatch(core, instanceId);
  pulse.spans = [...pulse.spans, { responses, errors, delayP99Ms, atMs: core.parts.clock.nowMs() }].slice(-SPANS_KEPT);
  return undefined;
}

/**
 * Asks all watched instances of an app whether their event loops turn.
 * @param {Core} core
 * @param {string} name
 */
export function askAround(core, name) {
  for (const [instanceId, pulse] of core.world.pulses) {
    const standsStill = () => Boolean(core.world.instances.get(instanceId)?.snapshots);
    if (pulse.name !== name || !pulse.isWatched || pulse.isAsked || standsStill()) continue;
    pulse.isAsked = true;
    const heard = (/** @type {boolean} */ isLate) => {
      const isSilent = isLate && !standsStill();
      Object.assign(pulse, { isAsked: false, isSilent });
      if (isSilent) core.dispatch({ type: 'changed', names: [name] });
    };
    // Any other refusal means that it has ended, which is told in another way.
    core.link?.request('ask', { instanceId, timeoutMs: SILENT_MS }).then(
      () => heard(false),
      (error) => heard(error.code === 'ETIMEDOUT'),
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
 * What the new instances of an app do worse than the old ones did, in words; null while they do
 * not.
 * @param {World} world
 * @param {AppWish} app
 * @param {number} nowMs
 * @returns {string | null}
 */
export function complaintOf(world, app, nowMs) {
  const generations = new Set(app.slots.flatMap((slot) => (slot.former ? slot.generation : [])));
  const mine = [...world.pulses.values()].filter((pulse) => pulse.name === app.spec.name);
  const old = mine.filter((pulse) => !generations.has(pulse.generation));
  const renewed = mine.filter((pulse) => generations.has(pulse.generation));
  return silenceOf(renewed) ?? errorsOf(renewed, old, nowMs) ?? delaysOf(renewed, old);
}

/** @param {Pulse[]} renewed */
function silenceOf(renewed) {
  const silent = renewed.find((pulse) => pulse.isWatched && pulse.isSilent);
  return silent ? `the event loop of instance ${silent.slot} has not answered for ${SILENT_MS / 1_000}s` : null;
}

/**
 * @param {Pulse[]} renewed
 * @param {Pulse[]} old
 * @param {number} nowMs
 */
function errorsOf(renewed, old, nowMs) {
  const recent = sum(renewed.flatMap((pulse) => pulse.spans.filter((span) => span.atMs > nowMs - RECENT_MS)));
  const before = sum(old.flatMap((pulse) => pulse.spans));
  const share = recent.errors / recent.responses;
  const isMeasured = before.responses >= RESPONSES_MIN;
  const shareBefore = isMeasured ? before.errors / before.responses : 0;
  const limit = isMeasured
    ? Math.max(ERROR_SHARE_MIN, Math.min(FACTOR * shareBefore, shareBefore + WORSE_PART * (1 - shareBefore)))
    : UNMEASURED_SHARE;
  if (recent.responses < RESPONSES_MIN || share <= limit) return null;
  return (
    `the new instances answered ${recent.errors} of their last ${recent.responses} requests with a ` +
    `status of 500 or more (${percent(share)}; the old ones: ${isMeasured ? percent(shareBefore) : 'not known'})`
  );
}

/**
 * @param {Pulse[]} renewed
 * @param {Pulse[]} old
 */
function delaysOf(renewed, old) {
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

/** @param {Vitals[]} spans */
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
