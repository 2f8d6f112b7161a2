import { defaultExclude, defineConfig } from 'vitest/config';

const slowdown = Number(process.env.NCLUST_TEST_SLOWDOWN ?? 1);
/**
 * Deadlines of unit tests only find hangs: waitFor() waits 30 s there, because no test is tried
 * again.
 */
const UNIT_ENV = { NCLUST_TEST_SLOWDOWN: String(3 * slowdown) };
/** A shared machine can stop a process for seconds. */
const RETRIES = process.env.CI ? 2 : 0;

/**
 * Rings run one after the other, so that a ring which measures shares the machine with no other.
 * @param {number} order
 * @param {string} name
 * @param {object} o
 * @param {string[]} o.include
 * @param {string[]} [o.exclude]
 * @param {number} o.timeoutMs  In ms; scales with NCLUST_TEST_SLOWDOWN.
 * @param {number} o.maxWorkers  Test files at once.
 * @param {string[]} [o.globalSetup]
 * @param {boolean} [o.isolate]  A process of its own for each file. Default true.
 * @param {Record<string, string>} [o.env]
 * @param {number} [o.retry]  Default 0: a pure test that fails once is broken.
 */
const ring = (
  order,
  name,
  { include, exclude = [], timeoutMs, maxWorkers, globalSetup = [], isolate = true, retry = 0, env = {} },
) => ({
  test: {
    name,
    include,
    exclude: [...defaultExclude, ...exclude],
    environment: 'node',
    pool: 'forks',
    testTimeout: timeoutMs * slowdown,
    hookTimeout: timeoutMs * slowdown,
    teardownTimeout: timeoutMs * slowdown,
    maxWorkers,
    isolate,
    globalSetup,
    retry,
    env,
    sequence: { groupOrder: order },
  },
});

const frameworks = ['test/helpers/install-frameworks.js'];

export default defineConfig({
  test: {
    reporters: ['default', './test/rings/flaky-reporter.js'],
    projects: [
      // What lib exports keeps nothing from one call to the next, so its tests share two processes.
      ring(0, 'unit-lib', {
        include: ['test/unit/lib/**/*.test.js'],
        timeoutMs: 60_000,
        maxWorkers: 2,
        isolate: false,
        env: UNIT_ENV,
      }),
      ring(1, 'unit', {
        include: ['test/unit/**/*.test.js', 'test/docs/*.test.js'],
        exclude: ['test/unit/lib/**'],
        timeoutMs: 60_000,
        maxWorkers: 2,
        env: UNIT_ENV,
      }),
      ring(2, 'integration', {
        include: ['test/integration/*.test.js'],
        timeoutMs: 30_000,
        maxWorkers: 3,
        retry: RETRIES,
      }),
      ring(3, 'e2e', { include: ['test/e2e/*.test.js'], timeoutMs: 60_000, maxWorkers: 3, retry: RETRIES }),
      ring(3, 'long', {
        include: ['test/e2e/long/*.test.js', 'test/e2e/long/compat/*.test.js', 'test/integration/long/*.test.js'],
        timeoutMs: 60_000,
        maxWorkers: 3,
        retry: RETRIES,
      }),
      ring(4, 'load', { include: ['test/e2e/load/*.test.js'], timeoutMs: 120_000, maxWorkers: 1, retry: RETRIES }),
      ring(4, 'long-load', {
        include: ['test/e2e/long/load/*.test.js'],
        timeoutMs: 120_000,
        maxWorkers: 1,
        globalSetup: frameworks,
        retry: RETRIES,
      }),
      ring(5, 'package', { include: ['test/package/*.test.js'], timeoutMs: 120_000, maxWorkers: 1, retry: RETRIES }),
      ring(6, 'soak', {
        include: ['test/e2e/soak/*.test.js'],
        timeoutMs: 1_800_000,
        maxWorkers: 1,
        globalSetup: frameworks,
        retry: RETRIES,
      }),
      ring(6, 'night', { include: ['test/night/*.test.js'], timeoutMs: 240_000, maxWorkers: 1 }),
      ring(7, 'hostile', { include: ['test/hostile/*.test.js'], timeoutMs: 1_200_000, maxWorkers: 1 }),
    ],
  },
});
