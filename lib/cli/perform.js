import { statSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { NclustError } from '../shared/errors.js';
import { createContext } from './session/context.js';
import { chooseLevel, createPaint } from '../render/paint.js';
import { escapeControls, jsonLine } from '../render/text.js';
import { resolveHome } from '../shared/paths.js';

/** @import { View } from '../render/list.js' */
/** @import { ColourLevel, ColourLevels } from '../render/paint.js' */
/** @import { SlotStatus } from '../shared/wire/protocol.js' */
/** @import { Screen } from './session/await-change.js' */
/** @import { Context } from './session/context.js' */
/** @import { Command } from './table/row.js' */

/**
 * @typedef {object} Io
 * @property {(text: string) => Promise<void>} print  Writes to stdout; resolves when more may be
 *   printed.
 * @property {(text: string) => void} printMessage  Writes to stderr.
 * @property {boolean} isTTY  Whether stdout is a terminal.
 * @property {boolean} isTalkTTY  Whether stderr is a terminal.
 * @property {number | null} columns  Null if stdout is not a terminal.
 * @property {() => Promise<ColourLevels>} colourLevels  Detected levels. Options change them.
 * @property {() => { columns: number, rows: number }} talkSize  Size of the terminal of stderr.
 * @property {(listener: () => void) => () => void} onInterrupt  Ctrl-C calls the listener.
 *   Returns a function that removes the listener.
 * @property {string} cwd
 * @property {Record<string, string | undefined>} env
 * @property {string} platform
 * @property {{ file: string, version: string }} node
 */

/**
 * @param {Command} command
 * @param {string[]} words
 * @param {Record<string, any>} options
 * @param {string[]} args  The words after "--".
 * @param {Io} io
 * @returns {Promise<number>}  The exit status. Rejects with a NclustError.
 */
export async function perform(command, words, options, args, io) {
  const levels = await io.colourLevels();
  const level = chooseLevel(levels.stdout, { color: options.color, env: io.env });
  const show = options.silent ? () => {} : (/** @type {string} */ text) => io.printMessage(`${text}\n`);
  const context = createContext({
    home: resolveHome(io.env),
    cwd: findFolder(io),
    env: io.env,
    node: io.node,
    printMessage: (sentence) => show(escapeControls(sentence)),
    show,
    screen: measureScreen(options, io, levels.stderr),
    isJson: options.json === true,
    isWaiting: options.wait !== false,
    isTerminal: io.isTTY,
    colourLevel: level,
    onInterrupt: io.onInterrupt,
  });
  try {
    const { run, render, json, isAside } = await command.load();
    const view = {
      columns: io.isTTY ? io.columns : null,
      isTerminal: io.isTTY,
      paint: createPaint(level),
      nowMs: Date.now(),
      options,
    };
    const result = run(context, words, options, args);
    if (Symbol.asyncIterator in result) {
      for await (const data of result) await io.print(render(data, view));
      return 0;
    }
    const data = await result;
    if (options.json) await io.print(`${jsonLine(json ? json(data) : (data.slots ?? data))}\n`);
    else if (!(options.silent && isAside?.(options))) await io.print(render(data, view));
    if (options.attach) await followLogs(context, data.slots, view, io);
    return data.exitStatus ?? 0;
  } finally {
    await context.close();
  }
}

/**
 * For --attach.
 * @param {Context} context
 * @param {SlotStatus[]} slots
 * @param {View} view
 * @param {Io} io
 */
async function followLogs(context, slots, view, io) {
  const { findCommand } = await import('./table/commands.js');
  const { run, render } = await /** @type {Command} */ (findCommand('logs')).load();
  const names = [...new Set(slots.map(({ name }) => name))];
  for await (const data of /** @type {AsyncIterable<any>} */ (run(context, names, {}, [])))
    await io.print(render(data, { ...view, options: {} }));
}

/** @param {Io} io */
function findFolder(io) {
  try {
    return currentFolder(io.cwd, io.env.PWD);
  } catch (cause) {
    throw new NclustError('ERR_NCLUST_NO_FOLDER', 'The folder you are in has been removed.', {
      hint: 'Change to another folder (cd) and run the command again.',
      cause,
    });
  }
}

/**
 * @param {Record<string, any>} options
 * @param {Io} io
 * @param {ColourLevel} detected  Of stderr.
 * @returns {Screen | null}
 */
function measureScreen(options, io, detected) {
  if (!io.isTalkTTY || io.env.TERM === 'dumb' || options.json || options.silent) return null;
  return {
    size: io.talkSize,
    write: io.printMessage,
    paint: createPaint(chooseLevel(detected, { color: options.color, env: io.env })),
  };
}

/**
 * Returns the path of the current folder with its symbolic links, as shells keep it in PWD. The
 * system resolves links: with its path, an app that was started in /srv/app/current would keep
 * today's release, and no reload would run the next release. PWD counts only if it leads to the
 * current folder (POSIX, `pwd -L`).
 * @param {string} cwd  From the system.
 * @param {string | undefined} pwd
 */
export function currentFolder(cwd, pwd) {
  if (pwd === undefined || !isAbsolute(pwd) || resolve(pwd) !== pwd || pwd === cwd) return cwd;
  const named = statSync(pwd, { throwIfNoEntry: false });
  const real = statSync(cwd, { throwIfNoEntry: false });
  return named && real && named.dev === real.dev && named.ino === real.ino ? pwd : cwd;
}
