// Orphans of an earlier keeper listen on sockets that this keeper does not hold. An instance of the
// same app waits for the address until the orphan has closed its socket.
/** @import { AgentMessage } from '../agents.js' */
/** @import { Child } from '../child.js' */

/** @param {() => Iterable<Child>} children */
export function createOrphanQueue(children) {
  /** @type {{ child: Child, message: AgentMessage }[]} */
  const waiting = [];

  const of = (/** @type {Child} */ child) =>
    [...children()].filter(
      (one) => one.isAdopted && !one.exit && one.mode !== 'exec' && one.scope === child.scope && one !== child,
    );

  return {
    of,
    /**
     * Requests each orphan once to stop listening.
     * @param {Child} child
     * @returns {boolean}  Whether an orphan may still listen.
     */
    ask(child) {
      const orphans = of(child).filter((orphan) => !orphan.hasUnlistened);
      for (const orphan of orphans)
        if (!orphan.isAskedToUnlisten) orphan.isAskedToUnlisten = orphan.tell({ act: 'close-listeners' });
      return orphans.length > 0;
    },
    /**
     * @param {Child} child
     * @param {AgentMessage} message
     */
    wait(child, message) {
      waiting.push({ child, message });
    },
    /** @returns {{ child: Child, message: AgentMessage }[]} */
    take: () => waiting.splice(0),
  };
}
