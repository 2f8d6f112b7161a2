// Some programs connect to their own port to check whether it is free. Here the keeper or another
// instance may accept that, so the agent asks whether to refuse it (daemon/agent/own-port.cjs).
/** @import { Child } from '../child.js' */
/** @import { Listeners } from './listeners.js' */

/** @param {Listeners} listeners */
export function createOwnPorts(listeners) {
  /**
   * By scope, the slots whose last process exited without having listened. Such a process was most
   * likely a client of another instance, and the next one needs its connection.
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
