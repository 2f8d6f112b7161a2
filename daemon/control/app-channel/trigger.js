import { NclustError } from '../../../lib/shared/errors.js';
import { ask, reach, readMetadata } from './ask-process.js';
import { readAppMetadata } from './messages.js';

/** @import { TriggerReply } from '../../../lib/shared/wire/protocol.js' */
/** @import { Control } from '../context.js' */
/** @import { Clock } from '../host/clock.js' */
/** @import { AskContext, TargetProcess } from './ask-process.js' */

/**
 * @param {AskContext} context
 * @param {object} o
 * @param {string[]} o.targets
 * @param {string} o.action
 * @param {unknown} o.params
 * @param {string} [o.token]  A repeated request has the same token.
 * @param {number} o.timeoutMs  For each process.
 * @param {AbortSignal} o.signal
 * @returns {Promise<TriggerReply[]>}  Rejects if a target does not exist, or if the
 *   keeper does not answer.
 */
export async function trigger(context, { targets, action, params, token, timeoutMs, signal }) {
  const { control, parts } = context;
  const reached = reach(control.registry, targets);
  const metadata = await readMetadata(context);
  const appMessages = control.appMessages.begin();
  // Ignores an error of the subscription, because in this case the request before or after the
  // subscription fails too.
  appMessages.isHeard.catch(() => {});
  try {
    return await Promise.all(reached.map((one) => call(one, metadata[one.instance?.instanceId ?? ''] ?? [])));
  } finally {
    appMessages.end();
  }

  /**
   * @param {TargetProcess} one
   * @param {[string, string, string][]} kept
   * @returns {Promise<TriggerReply>}
   */
  async function call(one, kept) {
    const { id, name, slot, mode, instance } = one;
    const place = { id, name, slot };
    const actions = readAppMetadata(kept).actions.map((known) => known.action_name);
    if (!instance) return { ...place, outcome: 'no-process' };
    if (mode === 'exec' && actions.length === 0) return { ...place, outcome: 'no-node' };
    if (!actions.includes(action)) return { ...place, outcome: 'no-action', actions };
    const { instanceId } = instance;
    const reply = buildReply(control, parts.clock, { instanceId, action, timeoutMs, signal });
    // Without parameters, the message is only the name of the action, as in PM2.
    const message = params === undefined ? action : { msg: action, opts: params, name };
    try {
      const { isRepeated } = await ask(context, { ...one, instance }, 'send-message', { message, token });
      const answer = await reply.answer;
      return {
        ...place,
        ...answer,
        ...(isRepeated && answer.outcome === 'silent'
          ? { reason: 'it was called before the manager died, and may have replied to the previous one' }
          : {}),
      };
    } catch (error) {
      if (!(error instanceof NclustError)) throw error;
      return { ...place, outcome: 'unreachable', reason: error.message };
    } finally {
      reply.end();
    }
  }
}

/**
 * @param {Control} control
 * @param {Clock} clock
 * @param {{ instanceId: string, action: string, timeoutMs: number, signal: AbortSignal }} o
 */
function buildReply({ journal }, clock, { instanceId, action, timeoutMs, signal }) {
  /** @type {(answer: Pick<TriggerReply, 'outcome' | 'reply'>) => void} */
  let resolveReply = () => {};
  /** @type {Promise<Pick<TriggerReply, 'outcome' | 'reply'>>} */
  const answer = new Promise((resolve) => {
    resolveReply = resolve;
  });
  const stop = () => resolveReply({ outcome: 'silent' });
  const cancel = clock.after(timeoutMs, stop);
  signal.addEventListener('abort', stop);
  const unfollow = journal.follow({
    wants: (event) =>
      'process' in event &&
      event.process.instanceId === instanceId &&
      (event.type === 'axm:reply' || event.type === 'process:event'),
    deliver(event) {
      if ('event' in event) return event.event === 'exit' ? resolveReply({ outcome: 'exited' }) : undefined;
      const { data } = /** @type {{ data?: { action_name?: unknown, return?: unknown } }} */ (event);
      if (data?.action_name === action) resolveReply({ outcome: 'replied', reply: data.return ?? null });
    },
  });
  const end = () => {
    cancel();
    signal.removeEventListener('abort', stop);
    unfollow();
  };
  return { answer, end };
}
