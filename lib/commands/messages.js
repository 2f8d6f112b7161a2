import { createInterface } from 'node:readline';
import { reportChange } from '../cli/session/outcome.js';
import { newToken } from '../client/client.js';
import { streamLogs } from '../client/log-stream.js';
import { noManagerError } from '../client/not-running.js';
import { absoluteScripts } from '../library/targets.js';
import { toSafeLine } from '../render/log-lines.js';
import { escapeControls, jsonLine, toOneLine } from '../render/text.js';
import { NclustError } from '../shared/errors.js';
import { createSerial } from '../shared/serial.js';
import { reachListed } from './apps/targets.js';

/** @import { Context } from '../cli/session/context.js' */
/** @import { Outcome } from '../cli/session/outcome.js' */
/** @import { View } from '../render/list.js' */
/** @import { LogEntry, TriggerReply } from '../shared/wire/protocol.js' */

/**
 * @param {Context} context
 * @param {string[]} words  The target, then the line.
 * @returns {Promise<Outcome>}
 */
export async function send(context, [word, ...line]) {
  const { client, targets } = await reachListed(context, [word]);
  const { slots } = await client.request('sendInput', {
    target: targets[0],
    input: `${line.join(' ')}\n`,
    token: newToken(),
  });
  return reportChange(context, slots, 'Sent the line to');
}

/**
 * @param {Context} context
 * @param {string[]} words  The target, and the line end for the app.
 * @returns {AsyncGenerator<{ entries: LogEntry[] }, void, void>}
 */
export async function* attach(context, [word, separator = '\n']) {
  const client = await context.runningManager();
  if (!client) throw noManagerError(context, [word]);
  const [named] = await absoluteScripts(context, client, [word]);
  // An empty text checks whether the app accepts input.
  const {
    slots: [{ id, name }],
  } = await client.request('sendInput', { target: named, input: '' });
  const target = String(id);
  context.printMessage(`Your input goes to "${name}" (id ${id}). Ctrl-D or Ctrl-C detaches; the app keeps running.`);

  const stop = new AbortController();
  const lines = createInterface({ input: process.stdin, terminal: false });
  const inTurn = createSerial();
  lines.on('line', (line) => {
    inTurn(() => client.request('sendInput', { target, input: `${line}${separator}`, token: newToken() })).catch(
      (error) => sayRefusal(context, error),
    );
  });
  const end = () => {
    stop.abort();
    void client.close();
  };
  lines.once('close', () => void inTurn(end));
  const release = context.onInterrupt(end);
  try {
    yield* streamLogs(
      client,
      { targets: [target], follow: true, lines: 0 },
      { printMessage: context.printMessage, signal: stop.signal },
    );
  } finally {
    release();
    lines.close();
    process.stdin.destroy();
  }
}

/**
 * A line that could not be sent does not end the command, because the app may be restarting.
 * @param {Context} context
 * @param {unknown} error
 */
function sayRefusal({ printMessage }, error) {
  if (!(error instanceof NclustError)) throw error;
  printMessage(error.message);
}

/**
 * @param {Context} context
 * @param {string[]} words  The target, the action, its parameters.
 * @returns {Promise<{ replies: TriggerReply[], exitStatus: number }>}  Replies only for processes
 *   that have the action. Rejects if no process has the action.
 */
export async function trigger(context, [word, action, params]) {
  const { client, targets } = await reachListed(context, [word]);
  const { replies } = /** @type {{ replies: TriggerReply[] }} */ (
    await client.request('trigger', { targets, action, token: newToken(), ...(params === undefined ? {} : { params }) })
  );
  const called = replies.filter(({ outcome }) => !['no-action', 'no-node', 'no-process'].includes(outcome));
  if (called.length === 0) throw noneHas(word, action, replies);
  return { replies: called, exitStatus: called.every(({ outcome }) => outcome === 'replied') ? 0 : 1 };
}

/**
 * @param {string} word
 * @param {string} action
 * @param {TriggerReply[]} replies
 */
function noneHas(word, action, replies) {
  if (replies.every(({ outcome }) => outcome === 'no-process'))
    return new NclustError('ERR_NCLUST_NO_PROCESS', `No process of "${word}" runs.`, { hint: 'nclust list' });
  const actions = [...new Set(replies.flatMap((reply) => reply.actions ?? []))];
  const hint =
    actions.length > 0
      ? `Registered: ${actions.join(', ')}`
      : 'An app registers one with process.send({type: "axm:action", data: {action_name}}), or the package ' +
        'tx2. See docs/messages.md.';
  return new NclustError('ERR_NCLUST_NO_ACTION', `No process of "${word}" has registered the action "${action}".`, {
    hint,
    data: { actions },
  });
}

/**
 * On a terminal, a line keeps its colours, but no other escape sequences.
 * @param {{ entries: LogEntry[] }} data
 * @param {Pick<View, 'isTerminal'>} view
 */
export function renderAttached({ entries }, { isTerminal }) {
  return entries.map(({ line }) => `${isTerminal ? toSafeLine(line) : line}\n`).join('');
}

/** @param {{ replies: TriggerReply[] }} data */
export function renderReplies({ replies }) {
  return replies.map((reply) => `[${toOneLine(reply.name)}:${reply.id}] ${toText(reply)}\n`).join('');
}

/** @param {TriggerReply} reply */
function toText({ outcome, reply, reason }) {
  if (outcome === 'replied') return typeof reply === 'string' ? escapeControls(reply) : jsonLine(reply);
  if (outcome === 'silent') return `did not reply in time${reason ? `: ${toOneLine(reason)}` : ''}`;
  return outcome === 'exited' ? 'exited before it replied' : toOneLine(reason ?? outcome);
}
