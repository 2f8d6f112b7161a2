import { notRunningError } from '../client/not-running.js';
import { NclustError } from '../shared/errors.js';

/** @import { Context } from '../cli/session/context.js' */
/** @import { MetricsSample } from '../shared/metrics.js' */

const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/**
 * @param {Context} context
 * @param {string[]} _words
 * @param {Record<string, any>} options
 * @returns {Promise<{ sample: MetricsSample | null }>}  Null after the full-screen view.
 */
export async function monit(context, _words, options) {
  const client = await context.runningManager();
  if (!client) throw notRunningError(context);
  const sample = await client.request('metrics').catch((error) => {
    throw isUnknown(error) ? tooOld() : error;
  });
  if (options.json || !context.isTerminal || !process.stdin.isTTY || context.env.TERM === 'dumb') return { sample };
  await client.close();
  await watch(context);
  return { sample: null };
}

/** @param {Context} context */
async function watch(context) {
  const { stdin, stdout } = process;
  const [{ runLoop }, { createSource }, { createTerminal }, { BLOCKS, PLAIN }] = await Promise.all([
    import('../monit/loop.js'),
    import('../monit/source.js'),
    import('../monit/terminal.js'),
    import('../monit/trends.js'),
  ]);
  const terminal = createTerminal({ input: stdin, output: stdout });
  // Restores the terminal before Node.js prints an error, and before the process exits.
  const restore = () => terminal.close();
  process.on('exit', restore);
  process.on('uncaughtExceptionMonitor', restore);
  /** @type {NodeJS.Signals | null} */
  let ended = null;
  try {
    await runLoop({
      terminal,
      source: createSource(context.home),
      marks: hasBlocks(context.env) ? BLOCKS : PLAIN,
      colourLevel: context.colourLevel,
      onStop: (stop) =>
        onSignals((signal) => {
          ended = signal;
          stop();
        }),
      suspend: () => process.kill(process.pid, 'SIGSTOP'),
    });
  } finally {
    restore();
    process.off('exit', restore);
    process.off('uncaughtExceptionMonitor', restore);
    stdin.destroy();
  }
  // Sends the signal again, now without a handler, so that the shell sees which signal ended the
  // command.
  if (ended !== null && ended !== 'SIGINT') process.kill(process.pid, ended);
}

/** @param {unknown} error */
function isUnknown(error) {
  return error instanceof NclustError && error.code === 'ERR_NCLUST_PROTOCOL';
}

function tooOld() {
  return new NclustError(
    'ERR_NCLUST_PROTOCOL',
    'The running manager is older than this command, and does not report figures.',
    { hint: 'nclust update replaces it; no app is stopped.' },
  );
}

/** @param {(signal: NodeJS.Signals) => void} listener */
function onSignals(listener) {
  for (const signal of SIGNALS) process.on(signal, listener);
  return () => {
    for (const signal of SIGNALS) process.off(signal, listener);
  };
}

/**
 * A terminal whose encoding is not UTF-8 cannot show block characters.
 * @param {Record<string, string | undefined>} env
 */
function hasBlocks({ LC_ALL, LC_CTYPE, LANG }) {
  const locale = LC_ALL || LC_CTYPE || LANG || '';
  return locale === '' || /utf-?8/i.test(locale);
}
