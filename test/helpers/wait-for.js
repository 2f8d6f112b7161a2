import { performance } from 'node:perf_hooks';
import { inspect } from 'node:util';

const LOOK_EVERY_MS = 15;

/** Returns the factor that multiplies every deadline of the tests. */
export const slowdown = () => Number(process.env.NCLUST_TEST_SLOWDOWN ?? 1);

/**
 * A predicate that throws counts as not true yet. At the deadline, the message shows the error.
 * @template T
 * @param {string} what  Completes the sentence "waited for ...".
 * @param {() => T | Promise<T>} predicate
 * @param {object} [o]
 * @param {number} [o.deadlineMs]  Scales with NCLUST_TEST_SLOWDOWN.
 * @param {() => string} [o.context]
 * @returns {Promise<NonNullable<T>>}
 */
export async function waitFor(what, predicate, { deadlineMs = 10_000, context } = {}) {
  const allowedMs = deadlineMs * slowdown();
  const startedMono = performance.now();
  /** @type {unknown} */
  let last;
  do {
    try {
      const value = await predicate();
      if (value) return value;
      last = value;
    } catch (error) {
      last = error;
    }
    await pause(LOOK_EVERY_MS);
  } while (performance.now() - startedMono < allowedMs);
  const state = inspect(last, { depth: 6, breakLength: 140 });
  throw new Error(`Waited ${allowedMs} ms for ${what}.\nLast state: ${state}\n${context?.() ?? ''}`);
}

/**
 * For load drivers and random operations. A test that waits for something uses waitFor().
 * @param {number} ms
 * @returns {Promise<void>}
 */
export function pause(ms) {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

/**
 * Rejects at the deadline, so that a test reports what hung.
 * @template T
 * @param {string} what
 * @param {Promise<T>} promise
 * @param {number} deadlineMs  Scales with NCLUST_TEST_SLOWDOWN.
 * @param {() => string} [context]
 */
export async function within(what, promise, deadlineMs, context) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  /** @type {Promise<never>} */
  const late = new Promise((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`${what} took longer than ${deadlineMs * slowdown()} ms.\n${context?.() ?? ''}`)),
      deadlineMs * slowdown(),
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
