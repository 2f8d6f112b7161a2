import { defineConfig } from 'vitest/config';

const slowdown = Number(process.env.NCLUST_TEST_SLOWDOWN ?? 1);

export default defineConfig({
  test: {
    include: ['test/browser/*.test.js'],
    environment: 'node',
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000 * slowdown,
    hookTimeout: 30_000 * slowdown,
    teardownTimeout: 30_000 * slowdown,
    // The config of the other tests has the same number of retries.
    retry: process.env.CI ? 2 : 0,
    reporters: ['default', './test/rings/flaky-reporter.js'],
  },
});
