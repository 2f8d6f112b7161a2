// Takes the preload from a launcher such as npm to the Node.js program that it starts.
'use strict';

const fs = require('node:fs');
const { beforeSpawn, CMD } = require('./before-spawn.cjs');
const { canPreload, getOption } = require('./can-preload.cjs');

/** @import { ChildProcess } from 'node:child_process' */

const SIGNALS = ['SIGINT', 'SIGTERM'];
const WORDS = /\s*--require="(?:\\.|[^"\\])*\/agent\/tree\/preload\.cjs"/g;
/** Launchers are packages. Most apps are not, so the children of an app do not get the preload. */
const PACKAGE = /\/(node_modules|\.yarn|corepack|share\/nodejs)\//;

function isLauncher() {
  try {
    return PACKAGE.test(fs.realpathSync(process.argv[1]));
  } catch {
    return false; // There is no script, for example with --eval.
  }
}

/** Removes the preload from NODE_OPTIONS. */
function hideWords() {
  const rest = process.env.NODE_OPTIONS?.replace(WORDS, '').trim();
  if (rest) process.env.NODE_OPTIONS = rest;
  else delete process.env.NODE_OPTIONS;
}

/**
 * Lets the system know which signals the app handles, so that the keeper can choose one. At first
 * Node.js itself catches these signals. After the last listener is removed, it does not.
 */
function showHandlers() {
  for (const signal of SIGNALS) {
    const nothing = () => {};
    process.on(signal, nothing);
    process.removeListener(signal, nothing);
  }
}

/**
 * Adds the preload to the environment of each process that this launcher starts, and passes on
 * which signals that process handles. The preload is not in process.env, because the file may be
 * gone when a process starts much later.
 * @param {string} preload
 * @param {() => void} [onChange]
 * @returns {() => boolean}  Whether a child runs. An installed server such as verdaccio is a package,
 *   too, and then the server itself is the app.
 */
function travel(preload, onChange = () => {}) {
  /** @type {Set<ChildProcess>} */
  const children = new Set();
  const send = process.send?.bind(process);
  beforeSpawn((child, { envPairs, args = [] }) => {
    if (canPreload(preload, [...args, ...envPairs.filter(isNodeOptions)])) addWords(envPairs, getOption(preload));
    children.add(child);
    child.once('exit', () => {
      children.delete(child);
      onChange();
    });
    process.nextTick(onChange);
    child.on('internalMessage', (message) => {
      if (message?.cmd === CMD && process.connected) send?.(message, undefined, undefined, () => {});
    });
  });
  // Without a pid, the child could not be started.
  return () => [...children].some(({ pid }) => pid !== undefined);
}

/**
 * @param {string[]} envPairs
 * @param {string} words
 */
function addWords(envPairs, words) {
  const at = envPairs.findIndex(isNodeOptions);
  if (at === -1) envPairs.push(`NODE_OPTIONS=${words}`);
  else envPairs[at] += ` ${words}`;
}

/** @param {string} pair */
function isNodeOptions(pair) {
  return pair.startsWith('NODE_OPTIONS=');
}

module.exports = { SIGNALS, hideWords, isLauncher, showHandlers, travel };
