import { oneLine } from '../render/text.js';

/** @typedef {import('../shared/wire/protocol.js').TriggerReply} TriggerReply */

/**
 * A line for each process: what the action returned, or why there is nothing.
 * @param {{replies: TriggerReply[]}} data
 * @returns {string}
 */
export function renderReplies({ replies }) {
  return replies.map((reply) => `[${oneLine(reply.name)}:${reply.id}] ${textOf(reply)}\n`).join('');
}

/** @param {TriggerReply} reply */
function textOf({ outcome, reply, reason }) {
  if (outcome === 'replied') return typeof reply === 'string' ? reply : JSON.stringify(reply);
  if (outcome === 'silent') return `did not reply in time${reason ? `: ${reason}` : ''}`;
  return outcome === 'exited' ? 'ended before it replied' : oneLine(reason ?? outcome);
}
