// What it takes to find control and to know its language. A module of its own because `nclust ls` needs no more than this.
'use strict';

const { join, resolve } = require('node:path');

/** What is spoken on the client socket. Raised when a message changes its meaning; a new field or method does not raise it. */
const PROTOCOL = 1;

/**
 * NCLUST_HOME, else `.nclust` in the user's home directory. A relative NCLUST_HOME counts from the current directory.
 * @param {Record<string, string|undefined>} env
 * @returns {string}  Absolute.
 */
function resolveHome(env) {
  return resolve(env.NCLUST_HOME || join(env.HOME || require('node:os').homedir(), '.nclust'));
}

/**
 * The client socket.
 * @param {string} home  Absolute.
 * @returns {string}
 */
function socketPath(home) {
  return join(home, 'nclust.sock');
}

module.exports = { PROTOCOL, resolveHome, socketPath };
