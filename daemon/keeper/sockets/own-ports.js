// Some programs connect to their own port to check whether it is free. The keeper or another
// instance may accept this connection. So the agent asks the keeper whether to refuse it
// (daemon/agent/own-port.cjs).
/** @import { Child } from '../child.js' */
/** @import { Listeners } from './listeners.js' */

/** @param {Listeners} listeners */
export function createOwnPorts(listeners) {
  /**
   * By scope: the slots whose last process exited without listening. Such a process was probably a
   * client of another instance. So the next process of the slot may connect to a port that other
   * instances use.
   * @type {Map<string, Set<number>>}
   */
  const clients = new Map();

  return {
    /**
     * @param {Child} child  Has not listened yet.
     * @param {{ address: string, port: number }} reached
     */
    isRefused({ instanceId, scope, slot }, { address, port }) {
      const reached = listeners.ofApp({ scope }, { address, port, flags: 0 });
      if (reached.length === 0 || reached.some(({ users }) => users.has(instanceId))) return false;
      return reached.every(({ users }) => users.size === 0) || !clients.get(scope)?.has(slot);
    },
    /** @param {Child} child */
    ended({ scope, slot, hasListened }) {
      const slots = clients.get(scope) ?? new Set();
      clients.set(scope, slots);
      if (hasListened) slots.delete(slot);
      else slots.add(slot);
    },
    /** @param {string} scope */
    unwanted(scope) {
      clients.delete(scope);
    },
  };
}
