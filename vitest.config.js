import { defaultExclude, defineConfig } from 'vitest/config';

const slowdown = Number(process.env.NCLUST_TEST_SLOWDOWN ?? 1);

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
 */
const ring = (order, name, { include, exclude = [], timeoutMs, maxWorkers, globalSetup = [] }) => ({
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
    globalSetup,
    retry: 0,
    sequence: { groupOrder: order },
  },
});

const frameworks = ['test/helpers/install-frameworks.js'];

/** What takes longest of the end-to-end tests, and is looked at by `npm run test:long` and in CI. Of each of these themes the shorter ones are with the others. */
const LONG = [
  'test/e2e/update-taken-back.test.js', 'test/e2e/library-kills.test.js', 'test/e2e/deploy.test.js', 'test/e2e/random-operations.test.js', 'test/e2e/memory-limit.test.js', 'test/e2e/monit.test.js',
  'test/e2e/first-process.test.js', 'test/e2e/config.test.js', 'test/e2e/compat/*.test.js',
];

export default defineConfig({
  test: {
    passWithNoTests: true,
    projects: [
      ring(1, 'unit', { include: ['test/unit/**/*.test.js'], timeoutMs: 5_000, maxWorkers: 2 }),
      ring(2, 'integration', { include: ['test/integration/**/*.test.js'], timeoutMs: 30_000, maxWorkers: 3 }),
      ring(3, 'e2e', { include: ['test/e2e/*.test.js'], exclude: LONG, timeoutMs: 60_000, maxWorkers: 3 }),
      ring(3, 'long', { include: LONG, timeoutMs: 60_000, maxWorkers: 3 }),
      ring(4, 'load', { include: ['test/e2e/load/*.test.js'], timeoutMs: 120_000, maxWorkers: 1, globalSetup: frameworks }),
      ring(5, 'soak', { include: ['test/e2e/soak/*.test.js'], timeoutMs: 1_800_000, maxWorkers: 1, globalSetup: frameworks }),
    ],
  },
});
