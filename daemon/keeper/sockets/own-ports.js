// What a process hears that asks by a connection whether its own port is in use. Alone it would be
// refused, because nothing listens there before it does. Here the keeper holds the socket for it,
// or other instances of the app accept there. daemon/agent/own-port.cjs asks.
/** @import { Child } from '../child.js' */
/** @import { Listeners } from './listeners.js' */

/** @param {Listeners} listeners */
export function createOwnPorts(listeners) {
  /**
   * By scope the slots whose last process ended without having listened: a connection of the next
   * one is most likely meant for another instance, and without it that process would end again.
   * @type {Map<string, Set<number>>}
   */
  const clients = new Map();

  return {
    /**
     * @param {Child} child  It has not listened yet.
     * @param {{ address: string, port: number }} reached
     */
    isRefused({ instanceId, scope, slot }, { address, port }) {
      const reached = listeners.ofApp({ scope }, { address, port, flags: 0 });
      if (reached.length === 0 || reached.some(({ users }) => users.has(instanceId))) return false;
      return reached.every(({ users }) => users.size === 0) || !clients.get(scope)?.has(slot);
    },
    /**
     * The next process in its slot may take its place.
     * @param {Child} child
     */
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
