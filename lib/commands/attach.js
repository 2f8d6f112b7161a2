import { createInterface } from 'node:readline';
import { newToken } from '../cli/outcome.js';
import { streamLogs } from '../client/log-stream.js';
import { nothingThere } from '../client/not-running.js';
import { NclustError } from '../shared/errors.js';
import { absoluteScripts } from './apps/targets.js';

/** @typedef {import('../shared/wire/protocol.js').LogEntry} LogEntry */

/**
 * What is typed goes to an app line by line, and what it writes is shown, until one side has had enough. The app is left alone then.
 * @param {import('../cli/context.js').Context} context
 * @param {string[]} words  The target, and what ends a line for the app.
 * @returns {AsyncGenerator<{entries: LogEntry[]}, void, void>}  Throws ERR_NCLUST_APP_NOT_FOUND, ERR_NCLUST_NO_PROCESS, ERR_NCLUST_NOT_REACHABLE and
 *   ERR_NCLUST_BAD_SELECTOR when several processes are meant.
 */
export async function* attach(context, [word, separator = '\n']) {
  const client = await context.running();
  if (!client) throw nothingThere(context, [word]);
  const [named] = await absoluteScripts(context, client, [word]);
  // Nothing, to hear whether a line would arrive.
  const { slots: [{ id, name }] } = await client.request('sendInput', { target: named, input: '' });
  const target = String(id);
  context.talk(`What you type goes to "${name}" (id ${id}). Ctrl-D or Ctrl-C ends that; the app goes on.`);

  const stop = new AbortController();
  const lines = createInterface({ input: process.stdin, terminal: false });
  let sent = Promise.resolve();
  lines.on('line', (line) => {
    sent = sent.then(() => client.request('sendInput', { target, input: `${line}${separator}`, token: newToken() })).catch((error) => sayRefusal(context, error));
  });
  const end = () => {
    stop.abort();
    void client.close();
  };
  lines.once('close', () => void sent.then(end));
  const release = context.onInterrupt(end);
  try {
    yield* streamLogs(client, { targets: [target], follow: true, lines: 0 }, { talk: context.talk, signal: stop.signal });
  } finally {
    release();
    lines.close();
    process.stdin.destroy();
  }
}

/**
 * One line that could not be sent is no reason to stop: the app may be on its way back.
 * @param {import('../cli/context.js').Context} context
 * @param {unknown} error
 */
function sayRefusal({ talk }, error) {
  if (!(error instanceof NclustError)) throw error;
  talk(error.message);
}
