import { Command, CommanderError, Option } from 'commander';
import { COMMANDS } from './command-table.js';
import { notNeeded, OPTIONS_OF } from './command-options.js';
import { perform } from './perform.js';
import { readVersion } from './shared/version.js';

const USAGE = 2;

/**
 * Parses a command line and runs the command it names.
 * @param {string[]} argv
 * @param {import('./perform.js').Io} io
 * @returns {Promise<number>}  The exit status. Rejects with the NclustError of the command.
 */
export async function parseCommandLine(argv, io) {
  const end = argv.indexOf('--');
  // Cut off here: commander would count the words behind "--" among those before it.
  const args = end === -1 ? [] : argv.slice(end + 1);
  const ours = end === -1 ? argv : argv.slice(0, end);
  /** @type {string[]} */
  const printed = [];
  let exitStatus = 0;
  const program = buildProgram(args, io, { print: (text) => printed.push(text), onDone: (status) => { exitStatus = status; } });
  if (argv.length === 0) {
    io.talk(program.helpInformation());
    return 1;
  }
  try {
    await program.parseAsync(ours, { from: 'user' });
    return exitStatus;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return 0;
    io.talk('next: nclust help, or nclust help <command>\n');
    return USAGE;
  } finally {
    if (printed.length > 0) await io.print(printed.join(''));
  }
}

/**
 * @param {string[]} args
 * @param {import('./perform.js').Io} io
 * @param {{print: (text: string) => void, onDone: (exitStatus: number) => void}} o
 */
function buildProgram(args, io, { print, onDone }) {
  const program = new Command('nclust')
    .description('Runs programs on a server: on every core, kept alive, listed, stopped cleanly.')
    .version(readVersion(), '-v, --version', 'print the version')
    .option('--no-color', 'no colours')
    .option('-s, --silent', 'say nothing and show no list after a change; errors and data are printed')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .usage('<command> [options]')
    .exitOverride()
    .configureOutput({ writeOut: print, writeErr: io.talk, outputError: (text, write) => write(text.replace(/^error: /, 'nclust: ')), getOutHelpWidth: () => io.columns ?? 100, getErrHelpWidth: () => io.columns ?? 100 })
    .configureHelp({ sortSubcommands: false, subcommandTerm: (command) => [command.name(), ...command.aliases()].join(', ') })
    .showSuggestionAfterError(true)
    .addHelpText('after', GENERAL_HELP);
  for (const command of COMMANDS) addCommand(program, command, args, io, onDone);
  return program;
}

/**
 * @param {Command} program
 * @param {import('./command-table.js').Command} row
 * @param {string[]} args
 * @param {import('./perform.js').Io} io
 * @param {(exitStatus: number) => void} onDone
 */
function addCommand(program, row, args, io, onDone) {
  const command = program.command(row.words ? `${row.name} ${row.words}` : row.name, { hidden: row.isHidden })
    .description(row.help)
    .aliases(row.aliases ?? [])
    .copyInheritedSettings(program)
    .action(async (...given) => {
      const { words, options } = splitGiven(given);
      sayNotNeeded(row, command, io);
      onDone(await perform(row, words, { ...options, ...program.opts() }, args, io));
    });
  for (const option of OPTIONS_OF[row.takesOptionsOf ?? 'none']) if (option.flags) command.addOption(asOption(option.flags, option));
  for (const [flags, help] of row.options ?? []) command.option(flags, help);
  for (const flags of ['--no-color', '-s, --silent']) command.addOption(new Option(flags).hideHelp());
  for (const [flags] of notNeeded(row)) command.addOption(new Option(flags).hideHelp());
  if (row.name === 'start') command.usage('[options] <script|command|name|id|namespace...> [-- arguments for the app]');
  if (row.examples) command.addHelpText('after', `\nExamples:\n${row.examples.map((line) => `  ${line}\n`).join('')}`);
}

/**
 * An option of PM2 that changes nothing is no error in anybody's script, and no secret.
 * @param {import('./command-table.js').Command} row
 * @param {Command} command
 * @param {import('./perform.js').Io} io
 */
function sayNotNeeded(row, command, io) {
  for (const [flags, why] of notNeeded(row)) {
    const option = new Option(flags);
    if (command.getOptionValueSource(option.attributeName()) === 'cli') io.talk(`${option.long} is not needed: ${why}.\n`);
  }
}

/**
 * @param {string} flags
 * @param {import('./config/options.js').StartOption} option
 */
function asOption(flags, { help, isRepeatable }) {
  const option = new Option(flags, help);
  // Not a variadic one: that would take the script behind it, too. Of an option that may stand alone, `true` is what it says then.
  return isRepeatable ? option.argParser((value, /** @type {string[]|true|undefined} */ before) => (before === true ? true : [...(before ?? []), value])) : option;
}

/**
 * commander calls an action with one value per argument (a list for the variadic one), then the options, then the command.
 * @param {any[]} given
 * @returns {{words: string[], options: Record<string, any>}}
 */
function splitGiven(given) {
  const options = given[given.length - 2];
  return { words: given.slice(0, -2).flat().filter((word) => word !== undefined), options };
}

const GENERAL_HELP = `
A target is an id, a name, a namespace, a script path, a /pattern/ on names, or "all"; most commands take several.
Times are milliseconds, or a number with s, m, h or d.

Examples:
  nclust start app.js -i max      start one process per CPU
  nclust list                     see what runs
  nclust logs api                 follow its output
  nclust reload api               after a change, without losing a request
  nclust stop all                 stop everything, keep the list

Exit status: 0 done, 1 refused or failed, 2 usage, 3 the manager cannot be reached, 130 Ctrl-C.
Everything is kept in $NCLUST_HOME (default ~/.nclust).
`;
