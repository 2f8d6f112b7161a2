import { buildSpec } from '../../config/spec/build.js';
import { isConfigName } from '../../config/find.js';
import { readPm2Variables, readOptions, separateExitCodes } from '../../config/options/options.js';
import { readSpecs } from '../../library/changes.js';
import { runForeground } from '../../run/foreground.js';
import { claimHome } from '../../run/home.js';
import { listenToSignals, watchZombies } from '../../run/first-process.js';
import { chooseShape } from '../../run/output.js';
import { createSink } from '../../run/sink.js';
import { NclustError } from '../../shared/errors.js';
import { readUser } from '../../shared/host/as-user.js';
import { followLinks, isOwnOutput } from '../../shared/host/follow-links.js';
import { asCaller } from './targets.js';

/** @import { Context } from '../../cli/session/context.js' */
/** @import { AppSpec } from '../../app-spec/types.js' */
/** @import { LogStream } from '../../shared/wire/protocol.js' */

/** @typedef {Record<'out' | 'err' | 'both', LogStream | null>} Outputs  Null: a log file. */

const NO_FILE = '/dev/null';

/**
 * Exits with the exit status of the app.
 * @param {Context} context
 * @param {string[]} words
 * @param {Record<string, any>} options
 * @param {string[]} args
 * @returns {Promise<never>}  Rejects if nothing could be started.
 */
export async function run(context, words, options, args) {
  const err = createSink(process.stderr, () => {});
  const out = createSink(process.stdout, () =>
    err.printMessage('standard output is closed; the apps keep running without it.'),
  );
  const { printMessage } = err;
  watchZombies(printMessage);
  const delayMs = readDelay(options.delay);
  if (options.web !== undefined)
    printMessage(
      '--web has no effect: run has no web interface. Inside the container, "nclust list --json" shows the same.',
    );
  const given = await buildSpecs(context, words, options, args, printMessage);
  const outputs = new Map(given.map((spec) => [spec.name, chooseOutputs(spec)]));
  const { home, leave } = await claimHome(context.env, printMessage);
  try {
    const exitStatus = await runForeground(
      given.map((spec) => withoutFiles(spec, chooseOutputs(spec))),
      { delayMs, isAutoExit: options.autoExit !== false },
      {
        home,
        sinks: { out, err },
        outputOf: (name, stream) => outputs.get(name)?.[stream] ?? stream,
        shape: chooseShape(options),
        printMessage,
        listen: (reactions) => listenToSignals(process, reactions),
      },
    );
    leave();
    process.exit(exitStatus);
  } catch (error) {
    leave();
    throw error;
  }
}

/**
 * @param {Context} context
 * @param {string[]} words
 * @param {Record<string, any>} options
 * @param {string[]} args
 * @param {(sentence: string) => void} printMessage
 */
async function buildSpecs(context, words, options, args, printMessage) {
  const exits = separateExitCodes(options.stopExitCodes ?? []);
  const read = readOptions('start', options.stopExitCodes ? { ...options, stopExitCodes: exits.codes } : options);
  const all = [...words, ...exits.rest];
  // Ignores the word "start", as in "pm2-runtime start app.js".
  const targets = all.length > 1 && all[0] === 'start' ? all.slice(1) : all;
  if (targets.length > 1)
    throw new NclustError(
      'ERR_NCLUST_USAGE',
      `run takes one script, command or config file, but ${targets.length} were given.`,
      { hint: 'To run several apps, list them in a config file: nclust run ecosystem.config.js' },
    );
  const [target = null] = targets;
  if (target !== null && target !== '-' && !isConfigName(target)) {
    for (const warning of readPm2Variables(context.env).warnings) printMessage(warning);
    return [buildSpec(target, args, read, context)];
  }
  const { env, only } = options;
  const caller = asCaller({ ...context, printMessage });
  return (await readSpecs(caller, { file: target, env, only, options: read })).specs;
}

/**
 * Finds the streams that run writes to its own output instead of a log file: without a path, or
 * with a path such as "/dev/stdout".
 * @param {AppSpec} spec
 * @returns {Outputs}
 */
function chooseOutputs(spec) {
  const user = readUser(spec);
  const chooseOutput = (/** @type {string} */ path, /** @type {LogStream} */ stream) => {
    if (path === '') return stream;
    const target = path.startsWith('/') ? followLinks(user, path) : path;
    if (!isOwnOutput(target)) return null;
    return /(?:stdout|fd\/1)$/.test(target) ? 'out' : /(?:stderr|fd\/2)$/.test(target) ? 'err' : stream;
  };
  return {
    out: chooseOutput(spec.outFile, 'out'),
    err: chooseOutput(spec.errorFile, 'err'),
    both: chooseOutput(spec.logFile, 'out'),
  };
}

/**
 * @param {AppSpec} spec
 * @param {Outputs} outputs
 * @returns {AppSpec}
 */
function withoutFiles(spec, { out, err, both }) {
  return {
    ...spec,
    outFile: out ? NO_FILE : spec.outFile,
    errorFile: err ? NO_FILE : spec.errorFile,
    logFile: both ? '' : spec.logFile,
  };
}

/** @param {string | undefined} given  In seconds, as with pm2-runtime. */
function readDelay(given) {
  const seconds = Number(given ?? 0);
  if (given === '' || !(seconds >= 0 && seconds < 1e6))
    throw new NclustError('ERR_NCLUST_USAGE', `--delay is "${given}"; accepted: seconds, 0 or more.`);
  return seconds * 1_000;
}
