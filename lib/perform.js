import { NclustError } from './shared/errors.js';
import { createContext } from './context.js';
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
 * @returns {Promise<void>}  Rejects with a NclustError.
 */
export async function perform(command, words, options, args, io) {
  const context = createContext({
    home: resolveHome(io.env),
    cwd: currentFolder(io),
    env: io.env,
    node: io.node,
    talk: (sentence) => io.talk(`${sentence}\n`),
    screen: screenOf(options, io),
    isTerminal: io.isTTY,
    onInterrupt: io.onInterrupt,
  });
  // The connection is made while the modules are read. Whoever asks for it meets its failure too.
  if (command.isPlain) context.running().catch(() => {});
  try {
    const { run, render, json } = await command.load();
    const view = viewOf(options, io);
    const result = run(context, words, options, args);
    if (Symbol.asyncIterator in result) {
      for await (const data of result) await io.print(render(data, view));
      return;
    }
    const data = await result;
    await io.print(options.json ? `${JSON.stringify(json ? json(data) : data.slots ?? data)}\n` : render(data, view));
  } finally {
    await context.close();
  }
}

/**
 * A shell can stand in a folder that no longer exists.
 * @param {Io} io
 */
function currentFolder(io) {
  try {
    return io.cwd;
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
  if (!io.isTalkTTY || io.env.TERM === 'dumb' || options.json) return null;
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
