/** @typedef {import('../shared/protocol.js').SlotStatus} SlotStatus */

/**
 * @param {import('../context.js').Context} context
 * @returns {Promise<{slots: SlotStatus[]}>}  Empty when no manager runs; says then how to start one.
 */
export async function list(context) {
  const client = await context.running();
  if (!client) {
    const { sayNotRunning } = await import('./not-running.js');
    sayNotRunning(context);
    return { slots: [] };
  }
  const { slots, notices } = await client.request('list');
  for (const notice of notices) context.talk(notice);
  return { slots };
}

/**
 * For jlist and prettylist. Says nothing: programs read it.
 * @param {import('../context.js').Context} context
 * @returns {Promise<{slots: SlotStatus[]}>}
 */
export async function listDetailed(context) {
  const client = await context.running();
  if (!client) return { slots: [] };
  const { slots } = await client.request('list', { detail: true });
  return { slots };
}
