// How the agent reads its own files. Node's loader would keep 9 KB of heap for each of them; and a
// process that is idle collects nothing: what has ever been allocated in it is memory that it has.
// What most processes never need is read when the process begins, because an update replaces or
// removes the folder under it, and compiled when it is asked for.
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
/**
 * More than all of them have. From 128 KB on it would be a mapping of its own, and not fill what
 * compiling has left free.
 */
const ROOM_BYTES = 96 * 1024;

/** Outside of the heap. */
const room = Buffer.allocUnsafeSlow(ROOM_BYTES);
/** Where the text of each begins, and behind them where the last one ends. */
const starts = [0];
for (const name of LATER)
  starts.push(starts[starts.length - 1] + readInto(`${__dirname}/${name}.cjs`, starts[starts.length - 1]));
/** @type {Map<string, { exports: any }>} */
const loaded = new Map();

/**
 * @param {string} id  './drain.cjs'. One that is not in the list is to be asked for while the
 *   process begins.
 * @returns {any}  What the file exports. It may require other files of the agent.
 */
function later(id) {
  const known = loaded.get(id);
  if (known) return known.exports;
  const module = { exports: {} };
  loaded.set(id, module);
  vm.compileFunction(textOf(id), ['module', 'require'], { filename: fileOf(id) })(module, own);
  return module.exports;
}

/** @param {string} wanted */
function own(wanted) {
  if (wanted === './loader.cjs') return { later, textOf };
  return wanted.startsWith('./') ? later(wanted) : require(wanted);
}

/** @param {string} id */
function textOf(id) {
  const at = LATER.indexOf(id.slice(2, -4));
  return at === -1 ? fs.readFileSync(fileOf(id), 'utf8') : room.toString('utf8', starts[at], starts[at + 1]);
}

/**
 * Without path.join(), which takes more than the reading.
 * @param {string} id
 */
function fileOf(id) {
  return __dirname + id.slice(1);
}

/**
 * @param {string} file
 * @param {number} at
 * @returns {number}  Bytes.
 */
function readInto(file, at) {
  const fd = fs.openSync(file, 'r');
  const bytes = fs.readSync(fd, room, at, ROOM_BYTES - at, null);
  fs.closeSync(fd);
  return bytes;
}

module.exports = { later, textOf };
