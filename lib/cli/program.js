// Knows: the command line: it turns words and options into one call, and errors into text and an
// exit status. Must not: do the work of a command, or load the modules of another command.
// Start at: runProgram(), then command-line.js and perform.js.
import { parseCommandLine } from './command-line.js';

/** @import { Io } from './perform.js' */

/**
 * @param {string[]} argv  Without node and the script.
 * @param {Io} io
 * @returns {Promise<number>}  The exit status. Never rejects.
 */
export async function runProgram(argv, io) {
  try {
    if (io.platform === 'win32') throw await noWindows();
    return await parseCommandLine(argv, io);
  } catch (error) {
    return fail(error, argv, io);
  }
}

/**
 * @param {unknown} thrown
 * @param {string[]} argv
 * @param {Io} io
 */
async function fail(thrown, argv, io) {
  const [{ toNclustError }, { failureJson, renderFailure }, { chooseLevel, createPaint }] = await Promise.all([
    import('../shared/errors.js'),
    import('../render/failure.js'),
    import('../render/paint.js'),
  ]);
  const error = toNclustError(thrown);
  const ours = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
  const color = ours.includes('--no-color') ? false : ours.includes('--color') ? true : undefined;
  const level = chooseLevel((await io.colourLevels()).stderr, { color, env: io.env });
  io.printMessage(ours.includes('--json') ? failureJson(error) : renderFailure(error, createPaint(level)));
  return error.exitStatus;
}

async function noWindows() {
  const { NclustError } = await import('../shared/errors.js');
  return new NclustError('ERR_NCLUST_PLATFORM', 'nclust does not run on Windows.', {
    hint: 'Use it inside WSL, as a Linux program.',
  });
}
