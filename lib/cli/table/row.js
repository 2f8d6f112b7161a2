/** @import { View } from '../../render/list.js' */
/** @import { Context } from '../context.js' */

/**
 * A command and how its data becomes text.
 * @typedef {object} Loaded
 * @property {(
 *   context: Context,
 *   words: string[],
 *   options: Record<string, any>,
 *   args: string[],
 * ) => Promise<any> | AsyncIterable<any>} run
 * @property {(data: any, view: View) => string} render
 * @property {boolean} [isAside]  What is printed is shown in passing, after the work: --silent
 *   leaves it out.
 * @property {(data: any) => unknown} [json]  What --json prints. Default: the slots of the data, or
 *   the data itself.
 */

/**
 * @typedef {object} Command
 * @property {string} name
 * @property {string[]} [aliases]
 * @property {string} [words]  Its arguments, as commander writes them.
 * @property {string} help
 * @property {string} [brief]  The same for the list of all commands, on one line. Default: `help`.
 * @property {[flags: string, help: string][]} [options]
 * @property {'start' | 'restart' | 'reload'} [takesOptionsOf]  Those of config/options.js; all of
 *   them, and arguments for the app behind "--", or what can change later.
 * @property {string[]} [examples]
 * @property {boolean} [isHidden]  Left out of the help.
 * @property {() => Promise<Loaded>} load  Imports what this command needs, and nothing else.
 */

/** @type {[string, string]} */
export const JSON_OPTION = ['--json', 'print the data as JSON'];
/** @type {[string, string]} */
export const NO_WAIT = ['--no-wait', 'return at once instead of when it is done'];
/** Which part of a config file. @type {[string, string][]} */
export const OF_FILE = [
  ['--only <names>', 'of a config file, only these apps: "api,worker"'],
  ['--env <name>', 'of a config file, with the variables of "env_<name>"'],
];
/** @type {[string, string]} */
export const ATTACH = ['--attach', 'then follow the logs, until Ctrl-C'];
export const TARGETS = '<id|name|namespace|script|/pattern/|all...>';
export const TARGETS_OR_FILE = '<id|name|namespace|script|config|/pattern/|all...>';

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
    return { run: found[name], render, isAside: renderer === changedList };
  };
}

/**
 * As JSON, every command about settings prints those it was about.
 * @type {typeof load}
 */
export function loadSetting(module, name, renderer) {
  return async () => ({ ...(await load(module, name, renderer)()), json: ({ settings }) => settings });
}

/** After a change people want to see the whole list, as in PM2. */
export async function changedList() {
  const { renderList } = await import('../../render/list.js');
  /** @type {Loaded['render']} */
  const render = ({ all }, view) => renderList({ slots: all }, view);
  return render;
}
