// Loads files without require(), which would keep 9 KB of heap for each file. Files that most
// processes never need are compiled when first used. They are read at the start, because an update
// of nclust may remove the folder.
'use strict';

const fs = require('node:fs');
const vm = require('node:vm');

const LATER = [
  'bind-path',
  'drain',
  'event-loop',
  'gc-watch',
  'half-close',
  'http-counts',
  'inspector',
  'log-fallback',
  'parking',
  'profile',
  'reconnect',
  'report',
];
/** Less than 128 KB, because a larger buffer would get a separate memory mapping. */
const ROOM_BYTES = 96 * 1024;

/** The text of the files, outside of the heap. */
const room = Buffer.allocUnsafeSlow(ROOM_BYTES);
/** Where each file starts in `room`, and where the last file ends. */
const starts = [0];
for (const name of LATER)
  starts.push(starts[starts.length - 1] + readBytes(`${__dirname}/${name}.cjs`, starts[starts.length - 1]));
/**
 * @typedef {{
 *   './bind-path.cjs': typeof import('./bind-path.cjs'),
 *   './booted.cjs': typeof import('./booted.cjs'),
 *   './channel.cjs': typeof import('./channel.cjs'),
 *   './drain.cjs': typeof import('./drain.cjs'),
 *   './inspector.cjs': typeof import('./inspector.cjs'),
 *   './listen-patch.cjs': typeof import('./listen-patch.cjs'),
 *   './parking.cjs': typeof import('./parking.cjs'),
 *   './profile.cjs': typeof import('./profile.cjs'),
 *   './reconnect.cjs': typeof import('./reconnect.cjs'),
 *   './report.cjs': typeof import('./report.cjs'),
 *   './servers.cjs': typeof import('./servers.cjs'),
 *   './tree/own-workers.cjs': typeof import('./tree/own-workers.cjs'),
 *   './tree/travel.cjs': typeof import('./tree/travel.cjs'),
 * }} Files
 */

/** @type {Map<string, { exports: any }>} */
const loaded = new Map();

/**
 * @template {keyof Files} K
 * @param {K} id  A file that is not in LATER must be loaded at the start of the process.
 * @returns {Files[K]}
 */
function requireOnDemand(id) {
  const known = loaded.get(id);
  if (known) return known.exports;
  const module = { exports: /** @type {any} */ ({}) };
  loaded.set(id, module);
  vm.compileFunction(readSource(id), ['module', 'require'], { filename: getFile(id) })(module, createRequire(id));
  return module.exports;
}

/**
 * @param {string} id
 * @returns {(wanted: string) => any}  The function `require` of this file.
 */
function createRequire(id) {
  const folder = id.slice(0, id.lastIndexOf('/') + 1);
  return (wanted) => {
    if (wanted === './loader.cjs') return { requireOnDemand, readSource };
    return wanted.startsWith('./') ? requireOnDemand(/** @type {any} */ (folder + wanted.slice(2))) : require(wanted);
  };
}

/** @param {string} id */
function readSource(id) {
  const at = LATER.indexOf(id.slice(2, -4));
  return at === -1 ? fs.readFileSync(getFile(id), 'utf8') : room.toString('utf8', starts[at], starts[at + 1]);
}

/**
 * Does not use path.join(), because that takes longer than reading the file.
 * @param {string} id
 */
function getFile(id) {
  return __dirname + id.slice(1);
}

/**
 * @param {string} file
 * @param {number} at
 * @returns {number}
 */
function readBytes(file, at) {
  const fd = fs.openSync(file, 'r');
  const bytes = fs.readSync(fd, room, at, ROOM_BYTES - at, null);
  fs.closeSync(fd);
  return bytes;
}

module.exports = { requireOnDemand, readSource };
