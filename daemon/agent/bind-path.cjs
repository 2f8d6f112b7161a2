// A Unix socket whose path outlives the process that bound it.
'use strict';

const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');

/**
 * libuv removes the name it has bound when the handle is closed, and clients of the next life would
 * find nothing. So a name of our own is bound and renamed, and the wanted one is a second link to
 * the same socket (daemon/keeper/sockets/unix-path.js).
 * @param {string} wanted  Absolute.
 * @returns {any}  A handle, or null when the path is taken or cannot be bound: the keeper tells
 *   why.
 */
function bindPath(wanted) {
  const own = privateNameFor(wanted);
  const handle = /** @type {any} */ (net)._createServerHandle(own, -1, -1);
  if (typeof handle === 'number') return null;
  try {
    fs.linkSync(own, wanted); // Fails when the path exists, as bind(2) would.
    fs.renameSync(own, spareOf(wanted));
    return handle;
  } catch {
    handle.close(); // Removes the private name.
    return null;
  }
}

/**
 * An app that clears "stale" sockets away before it listens has removed the path of a living one.
 * @param {string} wanted
 * @returns {boolean}  false when the socket has lost all its names: its folder was removed.
 */
function restorePath(wanted) {
  try {
    fs.linkSync(spareOf(wanted), wanted);
    return true;
  } catch (error) {
    // EEXIST: it is there, as it should be.
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST';
  }
}

/**
 * No longer than the wanted one, which may be as long as the name of a socket can be.
 * @param {string} wanted
 */
function privateNameFor(wanted) {
  const length = path.basename(wanted).length;
  const letters = Math.random().toString(36).slice(2, 10).padEnd(8, '0');
  // One letter has no room for a dot; the other one of these two cannot be the wanted name.
  const name =
    length > 1 ? `.${letters.slice(0, length - 1)}` : (['~', '_'].find((one) => one !== path.basename(wanted)) ?? '');
  return path.join(path.dirname(wanted), name);
}

/** @param {string} wanted */
function spareOf(wanted) {
  return path.join(path.dirname(wanted), `.${path.basename(wanted)}.nclust`);
}

module.exports = { bindPath, restorePath, privateNameFor, spareOf };
