/**
 * Node.js options of the keeper and control. Do not add --optimize-for-size or a smaller
 * --v8-pool-size to save 2 MB, because Node.js 24 then hangs at 1 % of its exits on a busy machine.
 */
export const DAEMON_NODE_ARGS = [
  // Without this option, the keeper grows from 21 to 39 MB of private memory in a crash loop.
  '--max-semi-space-size=1',
  // lib/shared/daemon/idle-gc.js needs this option.
  '--expose-gc',
];

/**
 * One malloc arena for all threads saves 0.4 MB a process. Apps do not get this variable.
 */
export const DAEMON_NODE_ENV = { MALLOC_ARENA_MAX: '1' };
