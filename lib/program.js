/** @typedef {import('./perform.js').Io} Io */

/**
 * Runs a command line.
 * @param {string[]} argv  Without node and the script.
 * @param {Io} io
 * @returns {Promise<number>}  The exit status: 0 done, 1 refused or failed, 2 usage, 3 daemon unreachable. Never rejects.
 */
export async function runProgram(argv, io) {
  try {
    if (io.platform === 'win32') throw await noWindows();
    return await dispatch(argv, io);
  } catch (error) {
    return fail(error, argv, io);
  }
}

/**
 * A short way for read-only commands with nothing behind their name, where there is nothing to parse; the command-line parser for the rest.
 * (bin/nclust.js has a still shorter one for `nclust ls`.)
 * @param {string[]} argv
 * @param {Io} io
 */
async function dispatch(argv, io) {
  if (argv.length === 1) {
    const [{ findCommand }, { perform }] = await Promise.all([import('./command-table.js'), import('./perform.js')]);
    const command = findCommand(argv[0]);
    if (command?.isPlain) {
      return perform(command, [], {}, [], io);
    }
  }
  const { parseCommandLine } = await import('./command-line.js');
  return parseCommandLine(argv, io);
}

/**
 * @param {unknown} thrown
 * @param {string[]} argv
 * @param {Io} io
 */
async function fail(thrown, argv, io) {
  const [{ asNclustError }, { failureJson, renderFailure }, { createPaint, wantsColour }] = await Promise.all([
    import('./shared/errors.js'), import('./render/failure.js'), import('./render/paint.cjs'),
  ]);
  const error = asNclustError(thrown);
  const ours = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
  const hasColour = wantsColour({ isTTY: io.isTalkTTY, isAllowed: !ours.includes('--no-color'), env: io.env });
  io.talk(ours.includes('--json') ? failureJson(error) : renderFailure(error, createPaint(hasColour)));
  return error.exitStatus;
}

async function noWindows() {
  const { NclustError } = await import('./shared/errors.js');
  return new NclustError('ERR_NCLUST_PLATFORM', 'nclust does not run on Windows.', { hint: 'Use it inside WSL, where it is a Linux program.' });
}
