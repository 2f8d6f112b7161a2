import { TARGETS, TARGETS_OR_FILE } from './row.js';

/** @import { StartOption } from '../../config/options/options.js' */
/** @import { Command } from './row.js' */

/**
 * Options of PM2 that nclust does not need: flags as commander reads them, and why.
 * @type {[flags: string, why: string][]}
 */
const NOT_NEEDED = [
  ['--parallel <number>', 'everything starts at once, as far as the machine allows'],
  ['-f, --force', 'it is done anyway'],
  ['-w, --write', 'the list is on disk after every change; "nclust init" writes a configuration file'],
  ['--no-vizion', 'nothing is started'],
  ['--no-pmx', 'nothing is loaded into the app that could be left out'],
  ['--no-automation', 'nothing is loaded into the app that could be left out'],
  ['--trace', 'preload your own tracing: --node-args="--require ./tracing.js"'],
  ['--disable-trace', 'nothing is traced'],
  ['--v8', 'it is measured anyway'],
  ['--event-loop-inspector', 'it is measured anyway'],
  ['--deep-monitoring', 'it is measured anyway'],
];

/**
 * Those of them that a command takes: for PM2 they are options of every command.
 * @param {Command} row
 * @param {Pick<StartOption, 'flags'>[]} described  What describes an app among its options.
 */
export function notNeeded({ takesOptionsOf, words, options = [] }, described) {
  if (!takesOptionsOf && ![TARGETS, TARGETS_OR_FILE].includes(words ?? '')) return [];
  const own = [...options.map(([flags]) => flags), ...described.map(({ flags }) => flags)];
  return NOT_NEEDED.filter(([flags]) => !own.includes(flags));
}
