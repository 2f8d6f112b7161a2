import { defaultExclude, defineConfig } from 'vitest/config';

const slowdown = Number(process.env.NCLUST_TEST_SLOWDOWN ?? 1);
/** A shared machine can stop a process for seconds. A test that needed another try is listed at the end of the run. */
const RETRIES = process.env.CI ? 2 : 0;

/**
 * One ring of tests. Rings run one after the other, so that a ring which measures shares the machine with nobody.
 * @param {number} order
 * @param {string} name
 * @param {object} o
 * @param {string[]} o.include
 * @param {string[]} [o.exclude]
 * @param {number} o.timeoutMs  For one test, in ms; scales with NCLUST_TEST_SLOWDOWN.
 * @param {number} o.maxWorkers  Test files at once.
 * @param {string[]} [o.globalSetup]
 * @param {boolean} [o.isolate]  A process of its own for each file. Default true.
 * @param {number} [o.retry]  How often a failed test is tried again. Default 0: a pure test has no reason to fail once.
 */
const ring = (order, name, { include, exclude = [], timeoutMs, maxWorkers, globalSetup = [], isolate = true, retry = 0 }) => ({
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
    sequence: { groupOrder: order },
  },
});

const frameworks = ['test/helpers/install-frameworks.js'];

/** @param {...string} names  Of end-to-end tests. */
const named = (...names) => names.map((name) => `test/e2e/${name}.test.js`);

/**
 * What `npm test` leaves to `npm run test:long`, so that it is over within six minutes: what takes long, and what stands beside the promises themselves. CI runs both.
 */
const LONG = ['test/integration/metrics.test.js', ...named(
  'apply', 'compat/*', 'config', 'cron', 'daemon', 'deploy', 'environment', 'events', 'first-process', 'habits', 'home', 'import', 'interpreters', 'library',
  'library-kills', 'library-programs', 'list', 'log-files', 'log-guarantees', 'logs', 'logs-command', 'memory-limit', 'messages', 'metrics', 'monit', 'pm2-api', 'profile', 'random-operations', 'releases',
  'reload-settings', 'restart-policy', 'run', 'serve', 'socket', 'startup', 'state-file', 'update', 'update-taken-back', 'watch', 'web',
)];
const LONG_LOAD = named(...['control-death-midway', 'express', 'first-commands', 'frameworks', 'log-kills', 'monit', 'releases', 'serve', 'triggers'].map((name) => `load/${name}`));

export default defineConfig({
  test: {
    passWithNoTests: true,
    reporters: ['default', './test/rings/flaky-reporter.js'],
    projects: [
      // What lib exports keeps nothing from one call to the next: its tests share two processes, which halves their time.
      ring(0, 'unit-lib', { include: ['test/unit/lib/**/*.test.js'], timeoutMs: 30_000, maxWorkers: 2, isolate: false }),
      ring(1, 'unit', { include: ['test/unit/**/*.test.js'], exclude: ['test/unit/lib/**'], timeoutMs: 30_000, maxWorkers: 2 }),
      ring(2, 'integration', { include: ['test/integration/**/*.test.js'], exclude: LONG, timeoutMs: 30_000, maxWorkers: 3, retry: RETRIES }),
      ring(3, 'e2e', { include: ['test/e2e/*.test.js'], exclude: LONG, timeoutMs: 60_000, maxWorkers: 3, retry: RETRIES }),
      ring(3, 'long', { include: LONG, timeoutMs: 60_000, maxWorkers: 3, retry: RETRIES }),
      ring(4, 'load', { include: ['test/e2e/load/*.test.js'], exclude: LONG_LOAD, timeoutMs: 120_000, maxWorkers: 1, globalSetup: frameworks, retry: RETRIES }),
      ring(4, 'long-load', { include: LONG_LOAD, timeoutMs: 120_000, maxWorkers: 1, globalSetup: frameworks, retry: RETRIES }),
      ring(3, 'package', { include: ['test/package/*.test.js'], timeoutMs: 120_000, maxWorkers: 1, retry: RETRIES }),
      ring(5, 'soak', { include: ['test/e2e/soak/*.test.js'], timeoutMs: 1_800_000, maxWorkers: 1, globalSetup: frameworks, retry: RETRIES }),
    ],
  },
});
