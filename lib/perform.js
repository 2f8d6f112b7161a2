import { NclustError } from './shared/errors.js';
import { createContext } from './context.js';
import { currentFolder } from './current-folder.js';
import { createPaint, wantsColour } from './render/paint.cjs';
import { resolveHome } from './shared/paths.js';

/**
 * The two ends of the shell a command is typed in.
 * @typedef {object} Io
 * @property {(text: string) => Promise<void>} print  To stdout; resolves when more may be printed.
 * @property {(text: string) => void} talk  To stderr.
 * @property {boolean} isTTY  Whether stdout is a terminal.
 * @property {boolean} isTalkTTY  Whether stderr is one.
 * @property {number|null} columns  Width of stdout's terminal.
 * @property {() => {columns: number, rows: number}} talkSize  Of stderr's terminal.
 * @property {(listener: () => void) => () => void} onInterrupt  Ctrl-C; returns what undoes it.
 * @property {string} cwd
 * @property {Record<string, string|undefined>} env
 * @property {string} platform
 * @property {{file: string, version: string}} node
 */

/**
 * Runs one command: data, then text. Connections are closed whatever happens.
 * @param {import('./command-table.js').Command} command
 * @param {string[]} words
 * @param {Record<string, any>} options
 * @param {string[]} args  What stood behind "--".
 * @param {Io} io
 * @returns {Promise<number>}  The exit status: 0, or what the command says in its data (`exitStatus`). Rejects with a NclustError.
 */
export async function perform(command, words, options, args, io) {
  const context = createContext({
    home: resolveHome(io.env),
    cwd: folderOf(io),
    env: io.env,
    node: io.node,
    talk: options.silent ? () => {} : (sentence) => io.talk(`${sentence}\n`),
    screen: screenOf(options, io),
    isTerminal: io.isTTY,
    onInterrupt: io.onInterrupt,
  });
  // The connection is made while the modules are read. Whoever asks for it meets its failure too.
  if (command.isPlain) context.running().catch(() => {});
  try {
    const { run, render, json, isAside } = await command.load();
    const view = viewOf(options, io);
    const result = run(context, words, options, args);
    if (Symbol.asyncIterator in result) {
      for await (const data of result) await io.print(render(data, view));
      return 0;
    }
    const data = await result;
    if (options.json) await io.print(`${JSON.stringify(json ? json(data) : data.slots ?? data)}\n`);
    else if (!(isAside && options.silent)) await io.print(render(data, view));
    if (options.attach) await followLogs(context, data.slots, view, io);
    return data.exitStatus ?? 0;
  } finally {
    await context.close();
  }
}

/**
 * What --attach means: the lines of the apps a command was about, until Ctrl-C.
 * @param {import('./context.js').Context} context
 * @param {import('./shared/protocol.js').SlotStatus[]} slots
 * @param {import('./render/list.js').View} view
 * @param {Io} io
 */
async function followLogs(context, slots, view, io) {
  const { findCommand } = await import('./command-table.js');
  const { run, render } = await /** @type {import('./command-table/row.js').Command} */ (findCommand('logs')).load();
  const names = [...new Set(slots.map(({ name }) => name))];
  for await (const data of /** @type {AsyncIterable<any>} */ (run(context, names, {}, []))) await io.print(render(data, { ...view, options: {} }));
}

/**
 * A shell can stand in a folder that no longer exists.
 * @param {Io} io
 */
function folderOf(io) {
  try {
    return currentFolder(io.cwd, io.env.PWD);
  } catch (cause) {
    throw new NclustError('ERR_NCLUST_NO_FOLDER', 'The folder you are in has been removed.', { hint: 'Go to another one (cd) and run the command again.', cause });
  }
}

/**
 * @param {Record<string, any>} options
 * @param {Io} io
 * @returns {import('./board.js').Screen|null}
 */
function screenOf(options, io) {
  if (!io.isTalkTTY || io.env.TERM === 'dumb' || options.json || options.silent) return null;
  const hasColour = wantsColour({ isTTY: true, isAllowed: options.color !== false, env: io.env });
  return { size: io.talkSize, write: io.talk, paint: createPaint(hasColour) };
}

/**
 * @param {Record<string, any>} options
 * @param {Io} io
 * @returns {import('./render/list.js').View}
 */
function viewOf(options, io) {
  const hasColour = wantsColour({ isTTY: io.isTTY, isAllowed: options.color !== false, env: io.env });
  return { columns: io.isTTY ? io.columns : null, isTerminal: io.isTTY, paint: createPaint(hasColour), nowMs: Date.now(), options };
}
