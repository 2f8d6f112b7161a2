// Orphans of an earlier keeper listen on sockets that this one does not hold. An instance of the
// same app that wants such an address waits until the orphan has let go.
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
    /** Those of the app of a process. */
    of,
    /**
     * Asks each orphan once to stop listening. One that has not found the door yet will be asked.
     * @param {Child} child
     * @returns {boolean}  Whether one may still let go.
     */
    ask(child) {
      const orphans = of(child).filter((orphan) => !orphan.hasUnlistened);
      for (const orphan of orphans)
        if (!orphan.isAskedToUnlisten) orphan.isAskedToUnlisten = orphan.tell({ act: 'unlisten' });
      return orphans.length > 0;
    },
    /**
     * @param {Child} child
     * @param {AgentMessage} message  What it asked.
     */
    wait(child, message) {
      waiting.push({ child, message });
    },
    /** @returns {{ child: Child, message: AgentMessage }[]}  They wait no longer. */
    take: () => waiting.splice(0),
  };
}
