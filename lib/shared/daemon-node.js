/**
 * How Node is started for the keeper; control inherits it. With 30 instances at rest keeper and control take 23 MB of private memory in place of 28 without
 * all but the first of these.
 */
export const DAEMON_NODE_ARGS = [
  // Garbage of a crash loop grows the young generation to 32 MB without it (keeper: 39 MB private, with it 21).
  '--max-semi-space-size=1',
  // The heap grows in smaller steps.
  '--optimize-for-size',
  // Each of V8's threads has a third of a megabyte of its own; four of them are for programs that collect much.
  '--v8-pool-size=1',
  // For daemon/*/tidy.js.
  '--expose-gc',
];

/** One arena for all threads: glibc gives each thread its own, 0.4 MB a process. Apps do not get it. */
export const DAEMON_NODE_ENV = { MALLOC_ARENA_MAX: '1' };
