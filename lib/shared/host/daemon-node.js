/**
 * For the keeper. Control inherits them. Do not add --optimize-for-size or a smaller --v8-pool-size
 * to save 2 MB: with them Node.js 24 hangs at 1 % of its exits on a busy machine.
 */
export const DAEMON_NODE_ARGS = [
  // Without it, the garbage of a crash loop grows the keeper from 21 to 39 MB of private memory.
  '--max-semi-space-size=1',
  // For daemon/control/host/idle-gc.js and daemon/keeper/main.js.
  '--expose-gc',
];

/**
 * One arena for all threads saves 0.4 MB a process. Apps do not get it.
 */
export const DAEMON_NODE_ENV = { MALLOC_ARENA_MAX: '1' };
