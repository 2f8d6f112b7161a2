// Which programs may get the preload in NODE_OPTIONS. Node.js fails if it cannot read a preload.
'use strict';

const fs = require('node:fs');

/** Flags of the permission model, in Node.js 20 and later. */
const RESTRICTS = /(^|[\s"'])--(experimental[-_])?permission([-_]audit)?($|[\s"'])/;
/** A loop or a script of a shell may start Node.js when the files of nclust are gone. */
const STARTS_LATER = /(^|[;&|({\n"'])\s*(while|until|for)\s|\.sh($|[\s;&|)"'])/;

/** @param {string[]} texts  Arguments, or NODE_OPTIONS. */
function isRestricted(texts) {
  return texts.some((text) => RESTRICTS.test(text));
}

/**
 * @param {string} preload
 * @param {string[]} args
 */
function canPreload(preload, args) {
  return !isRestricted(args) && !args.some((arg) => STARTS_LATER.test(arg)) && isReadable(preload);
}

/** @param {string} preload */
function isReadable(preload) {
  try {
    fs.closeSync(fs.openSync(preload, 'r'));
    return true;
  } catch {
    return false;
  }
}

/** @param {string} preload */
function getOption(preload) {
  return `--require="${preload.replace(/["\\]/g, '\\$&')}"`;
}

module.exports = { canPreload, isRestricted, getOption };
