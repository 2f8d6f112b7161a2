// A latency distribution is a list of counts by step. Four steps double the latency, as in
// the agent (daemon/agent/http-counts.cjs).

export const LATENCY_STEPS = 80;
const FIRST_STEP_MS = 0.125;
const STEPS_PER_DOUBLING = 4;
/** Limit of sums. Larger sums are not exact, and adding them can exceed the 64 bits of OTLP. */
export const COUNT_MAX = Number.MAX_SAFE_INTEGER;

/** @typedef {number[]} Steps  Number of responses by step. */

/** @returns {Steps} */
export function noLatencies() {
  return Array.from({ length: LATENCY_STEPS }, () => 0);
}

/**
 * @param {Steps} steps  This array is changed.
 * @param {number[]} pairs  Step and count in turn.
 * @param {1 | -1} sign
 */
export function addPairs(steps, pairs, sign) {
  for (let at = 0; at + 1 < pairs.length; at += 2)
    if (steps[pairs[at]] !== undefined) steps[pairs[at]] = Math.min(COUNT_MAX, steps[pairs[at]] + sign * pairs[at + 1]);
}

/**
 * @param {number} step
 * @returns {number}  The longest latency of the step, in ms.
 */
export function stepEndMs(step) {
  return FIRST_STEP_MS * 2 ** (step / STEPS_PER_DOUBLING);
}

/**
 * @param {Steps} steps
 * @param {number[]} shares  From 0 to 1.
 * @returns {(number | null)[]}  In ms. Null: there is no response.
 */
export function percentiles(steps, shares) {
  const total = steps.reduce((sum, count) => sum + count, 0);
  return shares.map((share) => (total > 0 ? percentile(steps, share * total) : null));
}

/**
 * @param {Steps} steps
 * @param {number} rank
 */
function percentile(steps, rank) {
  let below = 0;
  for (const [step, count] of steps.entries()) {
    if (count > 0 && below + count >= rank) {
      const start = step === 0 ? 0 : stepEndMs(step - 1);
      return Math.round((start + ((rank - below) / count) * (stepEndMs(step) - start)) * 100) / 100;
    }
    below += count;
  }
  return stepEndMs(LATENCY_STEPS - 1);
}
