/**
 * For the keeper; control inherits them. Do not add --optimize-for-size or a smaller
 * --v8-pool-size, which save 2 MB: on a busy machine, Node.js 24 then hangs at one in a hundred
 * exits, because a thread of V8 does not end.
 */
export const DAEMON_NODE_ARGS = [
  // Garbage of a crash loop grows the young generation to 32 MB without it (keeper: 39 MB private,
  // with it 21).
  '--max-semi-space-size=1',
  // For daemon/control/host/idle-gc.js and daemon/keeper/main.js.
  '--expose-gc',
];

/**
 * One arena for all threads: glibc gives each thread its own, 0.4 MB a process. Apps do not get it.
 */
export const DAEMON_NODE_ENV = { MALLOC_ARENA_MAX: '1' };
