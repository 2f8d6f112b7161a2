// Binds Unix sockets. daemon/keeper/sockets/unix-path.js explains their names.
'use strict';

const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');

/**
 * @param {string} wanted
 * @returns {any}  null: the path cannot be bound. The keeper then reports why.
 */
function bindPath(wanted) {
  const own = choosePrivateName(wanted);
  const handle = /** @type {any} */ (net)._createServerHandle(own, -1, -1);
  if (typeof handle === 'number') return null;
  try {
    fs.linkSync(own, wanted); // Fails when the path exists, as bind(2) would.
    fs.renameSync(own, chooseSpareName(wanted));
    return handle;
  } catch {
    handle.close();
    return null;
  }
}

/**
 * Links the path to the socket again, because the app may have removed the path before listen().
 * @param {string} wanted
 * @returns {boolean}  true: the path exists. false: the path could not be linked, for example
 *   because the spare name of the socket is gone too.
 */
function restorePath(wanted) {
  try {
    fs.linkSync(chooseSpareName(wanted), wanted);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST';
  }
}

/** @param {string} wanted */
function choosePrivateName(wanted) {
  const length = path.basename(wanted).length;
  const letters = Math.random().toString(36).slice(2, 10).padEnd(8, '0');
  const name =
    length > 1 ? `.${letters.slice(0, length - 1)}` : (['~', '_'].find((one) => one !== path.basename(wanted)) ?? '');
  return path.join(path.dirname(wanted), name);
}

/** @param {string} wanted */
function chooseSpareName(wanted) {
  return path.join(path.dirname(wanted), `.${path.basename(wanted)}.nclust`);
}

module.exports = { bindPath, restorePath, choosePrivateName, chooseSpareName };
