/** @typedef {import('../../client/client.js').Client} Client */
/** @typedef {import('../../cli/context.js').Context} Context */
/** @typedef {import('../../shared/wire/protocol.js').SlotStatus} SlotStatus */
/** @typedef {import('../../shared/spec/spec.js').AppSpec} AppSpec */

const OF_ONE = ['cwd', 'interpreter', 'interpreterArgs', 'nodeArgs', 'uid', 'gid'];

/**
 * What changes in each app by itself.
 * @param {Context} context
 * @param {Client} client
 * @param {string[]} targets
 * @param {{read: Record<string, any>, args: string[]}} o
 * @returns {Promise<{specs?: Record<string, Partial<AppSpec>>}>}  By name; nothing where nothing does. Rejects as specChange throws.
 */
export async function ownChanges(context, client, targets, { read, args }) {
  if (args.length === 0 && OF_ONE.every((key) => read[key] === undefined)) return {};
  const { specChange } = await import('../../config/spec/change.js');
  /** @type {{slots: SlotStatus[]}} */
  const { slots } = await client.request('list', { targets, detail: true });
  const specs = new Map(slots.map((slot) => [slot.name, /** @type {AppSpec} */ (slot.spec)]));
  return { specs: Object.fromEntries([...specs].map(([name, spec]) => [name, specChange(spec, read, args, context)])) };
}

/**
 * What changes in all of them in the same way.
 * @param {Partial<AppSpec>} spec
 * @returns {{spec?: Partial<AppSpec>}}
 */
export function commonChanges(spec) {
  return Object.keys(spec).length > 0 ? { spec } : {};
}
