'use strict';

const { subscribe } = require('node:diagnostics_channel');

/** @import { ChildProcess } from 'node:child_process' */

// See channel.cjs.
const CMD = 'NODE_NCLUST';

/**
 * Calls `then` before this process starts another one. `then` may change the options. The channel
 * costs nothing before that, but loading node:child_process or node:cluster would.
 * @param {(child: ChildProcess, options: { args: string[], envPairs: string[] }) => void} then
 */
function beforeSpawn(then) {
  subscribe('child_process', (/** @type {any} */ { process: child }) => {
    const { spawn } = child;
    child.spawn = (/** @type {any} */ options) => {
      delete child.spawn;
      try {
        if (Array.isArray(options.envPairs) && Array.isArray(options.args)) then(child, options);
      } catch {
        // The process starts without the change.
      }
      return Reflect.apply(spawn, child, [options]);
    };
  });
}

module.exports = { CMD, beforeSpawn };
