import { buildSpec } from '../../config/spec/build.js';
import { isConfigName } from '../../config/find.js';
import { readStartOptions, separateExitCodes } from '../../config/options/options.js';
import { readConfig } from '../../config/file/read.js';
import { runForeground } from '../../run/run.js';
import { takeHome } from '../../run/home.js';
import { listenToSignals, watchZombies } from '../../run/first-process.js';
import { chooseShape } from '../../run/output.js';
import { createSink } from '../../run/sink.js';
import { NclustError } from '../../shared/errors.js';

/** @import { Context } from '../../cli/session/context.js' */
/** @import { AppSpec } from '../../shared/spec/spec.js' */

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
  const out = createSink(process.stdout, () => err.say('standard output is closed; the apps keep running without it.'));
  const { say: showMessage } = err;
  watchZombies(showMessage);
  const delayMs = readDelay(options.delay);
  if (options.web !== undefined)
    showMessage(
      '--web has no effect: run has no web interface. Inside the container, "nclust list --json" shows the same.',
    );
  const specs = (await specsOf(context, words, options, args, showMessage)).map(withoutFiles);
  const { home, leave } = await takeHome(context.env, showMessage);
  try {
    const exitStatus = await runForeground(
      specs,
      { delayMs, isAutoExit: options.autoExit !== false },
      {
        context,
        home,
        sinks: { out, err },
        shape: chooseShape(options),
        showMessage,
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
 * @param {(sentence: string) => void} say
 */
async function specsOf(context, words, options, args, say) {
  const exits = separateExitCodes(options.stopExitCodes ?? []);
  const read = readStartOptions(options.stopExitCodes ? { ...options, stopExitCodes: exits.codes } : options);
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
  if (target !== null && target !== '-' && !isConfigName(target)) return [buildSpec(target, args, read, context)];
  const { env = null, only = null } = options;
  const { specs, warnings } = await readConfig({
    file: target,
    env,
    only,
    cwd: context.cwd,
    shell: context.env,
    node: context.node,
    talk: say,
    options: read,
  });
  for (const warning of warnings) say(warning);
  return specs;
}

/**
 * Turns off each log file that the user did not set, because a container logs to stdout.
 * @param {AppSpec} spec
 * @returns {AppSpec}
 */
function withoutFiles(spec) {
  return { ...spec, outFile: spec.outFile || NO_FILE, errorFile: spec.errorFile || NO_FILE };
}

/** @param {string | undefined} given  In seconds, as with pm2-runtime. */
function readDelay(given) {
  const seconds = Number(given ?? 0);
  if (given === '' || !(seconds >= 0 && seconds < 1e6))
    throw new NclustError('ERR_NCLUST_USAGE', `--delay is "${given}"; accepted: seconds, 0 or more.`);
  return seconds * 1_000;
}
