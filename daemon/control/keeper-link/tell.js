import { noteKey } from '../state/slot-history.js';
import { KeeperLost } from './link.js';
import { getSlotHistory } from '../state/registry.js';

/** @import { LoopContext } from '../context.js' */

/**
 * @param {LoopContext} context
 * @param {string} verb
 * @param {object} params
 */
export function tell(context, verb, params) {
  context.link?.request(verb, params).catch((error) => {
    if (error instanceof KeeperLost) return;
    // Does not log `value`, because a note contains the last lines of processes, which may contain
    // a password.
    const { value: _, ...about } = /** @type {{ value?: unknown }} */ (params);
    context.parts.managerLog('keeper-refused', { verb, params: about, message: error.message });
  });
}

/**
 * @param {LoopContext} context
 * @param {number} id
 */
export function writeNote(context, id) {
  tell(context, 'note', { key: noteKey(id), value: getSlotHistory(context.registry, id) });
}
