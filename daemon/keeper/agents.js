// What agents tell the keeper, and what it answers.

/**
 * @typedef {import('./child.js').Child} Child
 * @typedef {{ act?: string, [key: string]: any }} AgentMessage
 */

/**
 * @param {object} o
 * @param {import('./listeners.js').Listeners} o.listeners
 * @param {() => Iterable<Child>} o.children
 * @param {(name: string, data: object, handle?: import('./listeners.js').Handle) => void} o.emit  To control.
 */
export function createAgentDesk({ listeners, children, emit }) {
  /** Sockets that wait for an orphan of the same app to let go of the address. @type {(() => void)[]} */
  let waiting = [];

  /** @param {import('./listeners.js').Listener} listener */
  const announce = ({ key, app, scope, claim, bound, handle }) => emit('listener', { key, app, scope, claim, address: bound.address, port: bound.port }, handle);

  /** @param {Child} child */
  const orphansBeside = (child) => [...children()].filter((one) => one.isAdopted && !one.exit && one.scope === child.scope && one !== child);

  /** @param {Child} child  @param {AgentMessage} message */
  const giveSocket = (child, { seq, claim }) => {
    if (child.exit || child.retirement) return;
    try {
      const held = listeners.get(child.scope, claim);
      const listener = held ?? bindFor(child, claim);
      if (!held) announce(listener);
      child.tell({ act: 'socket', seq }, listener.handle);
    } catch (error) {
      const { code, message } = /** @type {import('./protocol.js').KeeperError} */ (error);
      if (code === 'EADDRINUSE' && message.includes('outside') && askOrphans(child)) waiting.push(() => giveSocket(child, { seq, claim }));
      else child.tell({ act: 'refused', seq, code, message });
    }
  };

  /** @param {Child} child  @param {import('./listeners.js').Claim} claim */
  const bindFor = (child, claim) => {
    try {
      return listeners.bind(child, claim);
    } catch (error) {
      if (/** @type {import('./protocol.js').KeeperError} */ (error).code !== 'EADDRINUSE' || orphansBeside(child).length === 0) throw error;
      return listeners.bind(child, claim, { beside: true });
    }
  };

  /** @param {Child} child  @returns {boolean}  Whether somebody was asked. */
  const askOrphans = (child) => orphansBeside(child).filter((orphan) => orphan.tell({ act: 'unlisten' })).length > 0;

  const retryWaiting = () => {
    const retries = waiting;
    waiting = [];
    for (const retry of retries) retry();
  };

  /** @type {Record<string, (child: Child, message: AgentMessage, handle?: import('./listeners.js').Handle) => void>} */
  const acts = {
    hello: (child) => { child.hasAgent = true; },
    listen: giveSocket,
    bound(child, { claim }, handle) {
      if (handle) announce(listeners.keep(child, claim, handle));
    },
    listening(child, { address, port, family }) {
      child.addresses.push({ address, port, family });
      emit('listening', { instanceId: child.instanceId, address, port, family });
    },
    closed(child, { claim }) {
      const others = [...children()].some((one) => one !== child && one.scope === child.scope && !one.exit);
      if (child.retirement || others) return;
      const held = listeners.get(child.scope, claim);
      for (const key of listeners.release((one) => one === held)) emit('released', { key });
    },
    drained(child, { caught }) {
      if (!child.retirement) return;
      child.retirement.caught = caught;
      child.retirement.drained();
    },
    unlistened: retryWaiting,
  };

  return {
    announce,
    retryWaiting,
    /** @param {Child} child  @param {AgentMessage} message  @param {import('./listeners.js').Handle} [handle] */
    receive(child, message, handle) {
      const act = typeof message?.act === 'string' && Object.hasOwn(acts, message.act) ? acts[message.act] : null;
      act?.(child, message, handle);
    },
  };
}
