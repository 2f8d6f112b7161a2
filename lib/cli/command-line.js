import { createRequire } from 'node:module';
import { readVersion } from '../shared/version.js';
import {
  formatBrief,
  GENERAL_HELP,
  HELP_HEADING,
  findHeading,
  sortForHelp,
  LAYOUT,
  formatPage,
  SHORT_HELP,
  groupByHeading,
  hideRare,
} from './help.js';
import { COMMANDS, findCommand } from './table/commands.js';
import { pm2OnlyOptions } from './table/row.js';

/** @import { Setting } from '../app-spec/table.js' */
/** @import { Io } from './perform.js' */
/** @import { Command as Row } from './table/row.js' */

/** @typedef {import('commander').Command} Command */

// Uses require(), because `import` of CommonJS takes a third longer.
const { Command, CommanderError, Option } = /** @type {typeof import('commander')} */ (
  createRequire(import.meta.url)('commander')
);

const SHOWN = COMMANDS.filter(({ isHidden }) => !isHidden);

/**
 * @param {string[]} argv
 * @param {Io} io
 * @returns {Promise<number>}  The exit status. Rejects with the NclustError of the command, or if
 *   the usage is wrong.
 */
export async function parseCommandLine(argv, io) {
  if (argv.length === 0) {
    io.printMessage(SHORT_HELP);
    return 1;
  }
  const end = argv.indexOf('--');
  const ours = end === -1 ? argv : argv.slice(0, end);
  const plain = (ours.some((one) => !one.startsWith('-')) ? ours : argv).filter((one) => !one.startsWith('-'));
  const isAbout = plain[0] === 'help';
  const word = plain[isAbout ? 1 : 0];
  // If --help precedes the command, it explains all commands.
  const isAboutAll =
    word !== undefined && !isAbout && ours.slice(0, ours.indexOf(word)).some((one) => ['-h', '--help'].includes(one));
  const meant = word === undefined || isAboutAll ? undefined : findCommand(word);
  if (isAbout && word !== undefined && word !== 'help' && !meant)
    throw (await import('./usage-error.js')).unknownCommandError(word);
  // The page of "help" is the list of all commands.
  if (isAbout && word === 'help') return parseWords(['help', ...ours.filter((one) => one !== 'help')], [], meant, io);
  // Words after "--" are arguments for the app. If the command takes none, or no target precedes
  // them, they are words of the command: none may get lost, because "flush" alone empties all logs.
  if (end === -1 || isAbout || !meant?.takesArguments) return parseWords(argv, [], meant, io);
  try {
    return await parseWords(ours, argv.slice(end + 1), meant, io);
  } catch (error) {
    if (!(error instanceof NoTarget)) throw error;
    const next = argv.indexOf('--', end + 1);
    return await (next === -1
      ? parseWords(argv, [], meant, io)
      : parseWords(argv.slice(0, next), argv.slice(next + 1), meant, io));
  }
}

/** The words before "--" name no target. */
class NoTarget extends Error {}

/** Options that may have taken the script. See separateExitCodes() and separateWatched(). */
const MAY_HOLD_TARGET = ['watch', 'stopExitCodes'];

/**
 * @param {string[]} words
 * @param {string[]} args  For the app.
 * @param {Row | undefined} meant
 * @param {Io} io
 * @returns {Promise<number>}  The exit status. Rejects with NoTarget if there are only `args`.
 */
async function parseWords(words, args, meant, io) {
  /** @type {string[]} */
  const printed = [];
  let exitStatus = 0;
  const end = words.indexOf('--');
  const ours = end === -1 ? words : words.slice(0, end);
  const program = await buildProgram(meant, args, io, {
    print: (text) => printed.push(text),
    onDone: (status) => {
      exitStatus = status;
    },
    isBrief: ['-h', '--help', 'help'].some((one) => ours.includes(one)) && !ours.includes('--all'),
  });
  try {
    await program.parseAsync(words, { from: 'user' });
    return exitStatus;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    if (error.code === 'commander.missingArgument' && args.length > 0) throw new NoTarget();
    throw (await import('./usage-error.js')).usageError(error, ours);
  } finally {
    if (printed.length > 0) await io.print(printed.join(''));
  }
}

/**
 * Builds only the command that will run, because building all commands takes as long as a request
 * for the list. Without a command, builds only the names of all commands, for the help and for
 * suggestions.
 * @param {Row | undefined} meant
 * @param {string[]} args
 * @param {Io} io
 * @param {{ print: (text: string) => void, onDone: (exitStatus: number) => void, isBrief: boolean }} o
 */
async function buildProgram(meant, args, io, { print, onDone, isBrief }) {
  const program = new Command('nclust')
    .description('Runs programs on a server: on every core, kept alive, listed, stopped cleanly.')
    .version(readVersion(), '-v, --version', 'print the version')
    .option('--color', 'use colours, even if the terminal does not support them')
    .option('--no-color', 'no colours')
    .option('-s, --silent', 'print only errors and data: no messages, and no list after a change')
    .helpOption('-h, --help', 'show help')
    .addHelpCommand(
      new Command('help')
        .argument('[command]')
        .description('list all commands, or explain one (--all: all its options)')
        .helpOption(false)
        .helpGroup(findHeading('help')),
    )
    .usage('<command> [options]')
    .exitOverride()
    .configureOutput({
      writeOut: print,
      writeErr: io.printMessage,
      outputError: () => {},
      getOutHelpWidth: () => io.columns ?? 100,
      getErrHelpWidth: () => io.columns ?? 100,
    })
    .configureHelp(LAYOUT)
    .showSuggestionAfterError(true)
    .addHelpText('after', GENERAL_HELP);
  if (meant) await addAction(program, addCommand(program, meant), meant, args, io, { onDone, isBrief });
  else for (const row of sortForHelp(SHOWN)) addCommand(program, row);
  return program;
}

/**
 * @param {Command} program
 * @param {Row} row
 */
function addCommand(program, row) {
  return program
    .command(row.words ? `${row.name} ${row.words}` : row.name)
    .summary(formatBrief(row))
    .description(formatPage(row))
    .helpGroup(findHeading(row.name))
    .aliases(row.aliases ?? [])
    .copyInheritedSettings(program);
}

/**
 * @param {Command} program
 * @param {Command} command
 * @param {Row} row
 * @param {string[]} args
 * @param {Io} io
 * @param {{ onDone: (exitStatus: number) => void, isBrief: boolean }} o  `isBrief`: hides rare
 *   options. Only for help, because commander suggests no hidden option for a mistyped one.
 */
async function addAction(program, command, row, args, io, { onDone, isBrief }) {
  const optionsOfApp = row.takesOptionsOf ? (await import('../app-spec/table.js')).OPTIONS_OF[row.takesOptionsOf] : [];
  const unneeded = row.words ? pm2OnlyOptions(row, optionsOfApp) : [];
  command.action(async (...given) => {
    const { words, options } = splitGiven(given);
    const isTargetless = words.length === 0 && !MAY_HOLD_TARGET.some((key) => Array.isArray(options[key]));
    if (args.length > 0 && isTargetless) throw new NoTarget();
    sayNotNeeded(unneeded, command, io);
    const { perform } = await import('./perform.js');
    onDone(await perform(row, words, { ...options, ...program.opts() }, args, io));
  });
  const described = optionsOfApp.flatMap((option) => (option.flags ? [asOption(option.flags, option)] : []));
  const own = (row.options ?? []).map(([flags, help]) => new Option(flags, help));
  const grouped = row.takesOptionsOf ? groupByHeading([...own, ...described]) : own;
  for (const option of isBrief ? hideRare(grouped) : grouped) command.addOption(option);
  if (row.takesOptionsOf) command.addHelpOption(new Option('-h, --help', 'show help').helpGroup(HELP_HEADING));
  if (grouped.some(({ hidden }) => hidden))
    command.addHelpText('after', `\nAll ${grouped.length} options: nclust help ${row.name} --all`);
  for (const flags of ['--color', '--no-color', '-s, --silent']) command.addOption(new Option(flags).hideHelp());
  for (const [flags] of unneeded) command.addOption(new Option(flags).hideHelp());
  if (row.name === 'start') command.usage('[options] <script|command|config|name|id...> [-- args for the app]');
  else if (row.takesArguments) command.usage(`[options] ${row.words} [-- args for the app]`);
  if (row.examples) command.addHelpText('after', `\nExamples:\n${row.examples.map((line) => `  ${line}\n`).join('')}`);
}

/**
 * Accepts and reports options of PM2 that have no effect, because a script with such an option must
 * not fail.
 * @param {[flags: string, why: string][]} unneeded
 * @param {Command} command
 * @param {Io} io
 */
function sayNotNeeded(unneeded, command, io) {
  for (const [flags, why] of unneeded) {
    const option = new Option(flags);
    if (command.getOptionValueSource(option.attributeName()) === 'cli')
      io.printMessage(`${option.long} is not needed: ${why}.\n`);
  }
}

/**
 * @param {string} flags
 * @param {Setting} option
 */
function asOption(flags, { help, isRepeatable, group = '' }) {
  const option = new Option(flags, help).helpGroup(group);
  // The option is not variadic, because a variadic option would also take the script that follows.
  // Without a value, the option is `true`.
  return isRepeatable
    ? option.argParser((value, /** @type {string[] | true | undefined} */ before) =>
        before === true ? true : [...(before ?? []), value],
      )
    : option;
}

/**
 * commander passes one value per argument, then the options, then the command. The value of a
 * variadic argument is a list.
 * @param {any[]} given
 * @returns {{ words: string[], options: Record<string, any> }}
 */
function splitGiven(given) {
  const options = given[given.length - 2];
  return {
    words: given
      .slice(0, -2)
      .flat()
      .filter((word) => word !== undefined),
    options,
  };
}
