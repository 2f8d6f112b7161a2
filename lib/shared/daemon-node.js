/**
 * How Node is started for the keeper; control inherits it. Without the first, garbage of a crash loop grows the young generation to
 * 32 MB (keeper: 39 MB private, with it 21; at rest with 30 instances control takes 12.6 in place of 14.7 MB).
 */
export const DAEMON_NODE_ARGS = ['--max-semi-space-size=1'];

/** One arena for all threads: glibc gives each thread its own, 0.4 MB a process. Apps do not get it. */
export const DAEMON_NODE_ENV = { MALLOC_ARENA_MAX: '1' };
