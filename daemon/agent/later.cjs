// The files of the agent that most processes never need. Their text is read when the process begins, because an update replaces or removes the
// folder under it, and compiled when it is asked for: 52 KB of memory in place of 225.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');

const FILES = ['bind-path.cjs', 'drain.cjs', 'farewell.cjs', 'http-counts.cjs', 'inspect.cjs', 'listen-error.cjs', 'log-stand-in.cjs', 'loop-delay.cjs', 'orphan.cjs', 'quiet.cjs', 'vitals.cjs'];

/** Outside of the heap. @type {Map<string, Buffer>} */
const texts = new Map(FILES.map((name) => [`./${name}`, fs.readFileSync(path.join(__dirname, name))]));
/** @type {Map<string, { exports: any }>} */
const loaded = new Map();

/**
 * @param {string} id  './drain.cjs'
 * @returns {any}  What the file exports. It may require other files of this list.
 */
function later(id) {
  const known = loaded.get(id);
  if (known) return known.exports;
  const module = { exports: {} };
  loaded.set(id, module);
  const own = (/** @type {string} */ wanted) => {
    if (wanted === './later.cjs') return { later, textOf };
    return texts.has(wanted) ? later(wanted) : require(wanted);
  };
  vm.compileFunction(textOf(id), ['module', 'require'], { filename: path.join(__dirname, id) })(module, own);
  return module.exports;
}

/** @param {string} id */
function textOf(id) {
  return String(texts.get(id) ?? '');
}

module.exports = { later, textOf };
