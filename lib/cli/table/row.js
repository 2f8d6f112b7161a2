/** @import { Setting } from '../../app-spec/table.js' */
/** @import { View } from '../../render/list.js' */
/** @import { Context } from '../session/context.js' */

/**
 * @typedef {object} Loaded
 * @property {(
 *   context: Context,
 *   words: string[],
 *   options: Record<string, any>,
 *   args: string[],
 * ) => Promise<any> | AsyncIterable<any>} run
 * @property {(data: any, view: View) => string} render
 * @property {(options: Record<string, any>) => boolean} [isAside]  The output is secondary: --silent
 *   leaves it out.
 * @property {(data: any) => unknown} [json]  Default: the slots of the data, or the data itself.
 */

/**
 * @typedef {object} Command
 * @property {string} name
 * @property {string[]} [aliases]
 * @property {string} [words]  Arguments in commander's syntax.
 * @property {string} help
 * @property {string} [brief]  `help` on one line, for the list of all commands. Default: `help`.
 * @property {[flags: string, help: string][]} [options]  Without --json, unless it has a text of its
 *   own. See addJson() in commands.js.
 * @property {'start' | 'restart' | 'reload'} [takesOptionsOf]  Takes these options of
 *   app-spec/table.js.
 * @property {boolean} [takesArguments]  Words after "--" are arguments for the app.
 * @property {string[]} [examples]
 * @property {boolean} [isHidden]  Left out of the help.
 * @property {boolean} [isText]  Has no --json.
 * @property {() => Promise<Loaded>} load
 */

/** @type {[string, string]} */
export const NO_WAIT = ['--no-wait', 'return at once, without waiting until it is done'];
/** @type {[string, string][]} */
export const OF_FILE = [
  ['--only <names>', 'with a config file: only these apps, "api,worker"'],
  ['--env <name>', 'with a config file: also use the variables of "env_<name>"'],
];
/** @type {[string, string]} */
export const ATTACH = ['--attach', 'then follow the logs, until Ctrl-C'];
export const TARGETS = '<id|name|namespace|script|/pattern/|all...>';
export const TARGETS_OR_FILE = '<id|name|namespace|script|config|/pattern/|all...>';

/**
 * Options of PM2 that nclust does not need, with the reason.
 * @type {[flags: string, why: string][]}
 */
const NOT_NEEDED = [
  ['--parallel <number>', 'nclust starts as many processes at once as the machine allows'],
  ['-f, --force', 'it is done anyway'],
  ['-w, --write', 'the list is on disk after every change; "nclust init" writes a configuration file'],
  ['--no-vizion', 'this command starts nothing'],
  ['--no-pmx', 'nclust loads nothing optional into the app'],
  ['--no-automation', 'nclust loads nothing optional into the app'],
  ['--trace', 'preload your own tracing: --node-args="--require ./tracing.js"'],
  ['--disable-trace', 'nothing is traced'],
  ['--v8', 'nclust always measures this'],
  ['--event-loop-inspector', 'nclust always measures this'],
  ['--deep-monitoring', 'nclust always measures this'],
];

/**
 * The options of NOT_NEEDED that a command accepts. In PM2 every command has them.
 * @param {Command} row
 * @param {Pick<Setting, 'flags'>[]} described
 */
export function pm2OnlyOptions({ takesOptionsOf, words, options = [] }, described) {
  if (!takesOptionsOf && ![TARGETS, TARGETS_OR_FILE].includes(words ?? '')) return [];
  const own = [...options.map(([flags]) => flags), ...described.map(({ flags }) => flags)];
  return NOT_NEEDED.filter(([flags]) => !own.includes(flags));
}

/**
 * @template {object} Module
 * @param {() => Promise<Module>} module
 * @param {keyof Module} name
 * @param {keyof Module | (() => Promise<Loaded['render']>)} renderer  A key: the renderer in the
 *   module.
 * @param {keyof Module | Loaded['json']} [json]  A key: the function in the module.
 * @returns {() => Promise<Loaded>}
 */
export function load(module, name, renderer, json) {
  return async () => {
    const found = /** @type {any} */ (await module());
    return {
      run: found[name],
      render: typeof renderer === 'function' ? await renderer() : found[renderer],
      json: typeof json === 'function' ? json : found[json],
      isAside: () => renderer === changeSummary,
    };
  };
}

/**
 * The output of a dry run is what the user asks for. Without --dry-run, it is secondary.
 * @param {Record<string, any>} options
 */
export const isNotDryRun = ({ dryRun }) => !dryRun;

/** For a command whose messages on stderr are all that a user needs. */
export const noText = async () => () => '';

/** Renders only the path of a file, so that a script can use the output as an argument. */
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
