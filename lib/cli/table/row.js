/** @import { StartOption } from '../../config/options/options.js' */
/** @import { View } from '../../render/list.js' */
/** @import { Context } from '../session/context.js' */

/**
 * A command, and how its data become text.
 * @typedef {object} Loaded
 * @property {(
 *   context: Context,
 *   words: string[],
 *   options: Record<string, any>,
 *   args: string[],
 * ) => Promise<any> | AsyncIterable<any>} run
 * @property {(data: any, view: View) => string} render
 * @property {boolean} [isAside]  The output is secondary: --silent leaves it out.
 * @property {(data: any) => unknown} [json]  The output of --json. Default: the slots of the data,
 *   or the data itself.
 */

/**
 * @typedef {object} Command
 * @property {string} name
 * @property {string[]} [aliases]
 * @property {string} [words]  Its arguments, as commander writes them.
 * @property {string} help
 * @property {string} [brief]  `help` on one line, for the list of all commands. Default: `help`.
 * @property {[flags: string, help: string][]} [options]
 * @property {'start' | 'restart' | 'reload'} [takesOptionsOf]  Takes options of
 *   config/options/options.js: all of them and arguments for the app after "--", or those that can
 *   change later.
 * @property {string[]} [examples]
 * @property {boolean} [isHidden]  Left out of the help.
 * @property {() => Promise<Loaded>} load  Imports only what this command needs.
 */

/** @type {[string, string]} */
export const JSON_OPTION = ['--json', 'print the data as JSON'];
/** @type {[string, string]} */
export const NO_WAIT = ['--no-wait', 'return at once instead of when it is done'];
/** Options that select a part of a config file. @type {[string, string][]} */
export const OF_FILE = [
  ['--only <names>', 'of a config file, only these apps: "api,worker"'],
  ['--env <name>', 'of a config file, with the variables of "env_<name>"'],
];
/** @type {[string, string]} */
export const ATTACH = ['--attach', 'then follow the logs, until Ctrl-C'];
export const TARGETS = '<id|name|namespace|script|/pattern/|all...>';
export const TARGETS_OR_FILE = '<id|name|namespace|script|config|/pattern/|all...>';

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
 * The options of NOT_NEEDED that a command accepts. In PM2 every command has them.
 * @param {Command} row
 * @param {Pick<StartOption, 'flags'>[]} described  Its options that describe an app.
 */
export function pm2OnlyOptions({ takesOptionsOf, words, options = [] }, described) {
  if (!takesOptionsOf && ![TARGETS, TARGETS_OR_FILE].includes(words ?? '')) return [];
  const own = [...options.map(([flags]) => flags), ...described.map(({ flags }) => flags)];
  return NOT_NEEDED.filter(([flags]) => !own.includes(flags));
}

/**
 * @template {string} Name
 * @param {() => Promise<Record<Name, Loaded['run']>>} module
 * @param {Name} name
 * @param {() => Promise<Loaded['render']>} renderer
 * @returns {() => Promise<Loaded>}
 */
export function load(module, name, renderer) {
  return async () => {
    const [found, render] = await Promise.all([module(), renderer()]);
    return { run: found[name], render, isAside: renderer === changeSummary };
  };
}

/** As JSON, every command about settings prints those it affects. @type {typeof load} */
export function loadSetting(module, name, renderer) {
  return async () => ({ ...(await load(module, name, renderer)()), json: ({ settings }) => settings });
}

/** The output of a command, for another program. */
export async function fileArgument() {
  const { toOneLine } = await import('../../render/text.js');
  return (/** @type {{ file: string }} */ { file }) => `${toOneLine(file)}\n`;
}

/** Shows the whole list after a change, as PM2 does. */
export async function changeSummary() {
  const { renderList } = await import('../../render/list.js');
  /** @type {Loaded['render']} */
  const render = ({ all }, view) => renderList({ slots: all }, view);
  return render;
}
