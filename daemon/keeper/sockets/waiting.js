// listen() requests for an address that another process still has: an orphan of an earlier keeper,
// a process that closes its copy of a released socket, or a program outside of nclust. Each
// instance has one request for each address.
import { claimKey } from './listeners.js';

/** @import { AgentMessage } from '../agents.js' */
/** @import { Child } from '../child.js' */
/** @import { Listener } from './listeners.js' */

export const LOOK_MS = 20;
/** How often to retry a listen() request while copies of a released socket may still be open. */
const LINGER_LOOKS = 100;
/** Number of retries of a listen() request if another instance may only be checking the port. */
const MEANT_LOOKS = 50;
/** Limit for the requests of one instance. */
const WAITING_MAX = 256;

/** @typedef {{ message: AgentMessage, timer: NodeJS.Timeout | null }} Waiting  null: for orphans. */

/** @param {() => Iterable<Child>} children */
export function createWaiting(children) {
  /** By the key of the claim. @type {Map<Child, Map<string, Waiting>>} */
  const all = new Map();
  /** By port, for sockets that were just released. @type {Map<number, NodeJS.Timeout>} */
  const lingering = new Map();

  /**
   * @param {Child} child
   * @param {AgentMessage} message
   */
  const remove = (child, { claim }) => {
    const own = all.get(child);
    const key = claimKey(child.scope, claim);
    const waiting = own?.get(key);
    if (waiting?.timer) clearTimeout(waiting.timer);
    own?.delete(key);
    if (own?.size === 0) all.delete(child);
    return waiting?.message ?? null;
  };

  /**
   * @param {Child} child
   * @param {AgentMessage} message
   * @param {() => NodeJS.Timeout | null} begin
   * @returns {boolean}  false: the instance has too many requests that wait.
   */
  const add = (child, message, begin) => {
    const own = all.get(child) ?? new Map();
    if (own.size >= WAITING_MAX) return false;
    all.set(child, own.set(claimKey(child.scope, message.claim), { message, timer: begin() }));
    return true;
  };

  const listOrphans = (/** @type {Child} */ child) =>
    [...children()].filter(
      (one) => one.isAdopted && !one.exit && one.mode !== 'exec' && one.scope === child.scope && one !== child,
    );

  return {
    listOrphans,
    /**
     * Remembers the port of a released socket for a while, because control and fork-mode processes
     * close their copies of the socket a little later.
     * @param {Listener} listener
     */
    linger({ bound: { port } }) {
      if (port === 0) return;
      clearTimeout(lingering.get(port));
      lingering.set(port, setTimeout(() => lingering.delete(port), LINGER_LOOKS * LOOK_MS).unref());
    },
    /** @param {AgentMessage} message */
    retriesFor({ claim, isMeant }) {
      if (isMeant) return MEANT_LOOKS;
      return lingering.has(claim.port) ? LINGER_LOOKS : 0;
    },
    /**
     * Refuses an earlier request for the same address, so that an app cannot make the keeper retry
     * more and more often.
     * @param {Child} child
     * @param {AgentMessage} message
     */
    replace(child, message) {
      const earlier = remove(child, message);
      if (earlier) child.tell({ act: 'refused', seq: earlier.seq, code: 'EADDRINUSE', message: 'requested again' });
    },
    /**
     * @param {Child} child
     * @param {AgentMessage} message
     * @param {() => void} retry
     * @returns {boolean}  false: the instance has too many requests that wait.
     */
    retryLater(child, message, retry) {
      const again = () => {
        remove(child, message);
        child.budget.run(retry);
      };
      return add(child, message, () => setTimeout(again, Math.max(LOOK_MS, child.budget.waitMs)));
    },
    /**
     * Requests each orphan once to stop listening.
     * @param {Child} child
     * @param {AgentMessage} message
     * @returns {boolean}  false: no orphan listens, or too many requests wait.
     */
    waitForOrphan(child, message) {
      const orphans = listOrphans(child).filter((orphan) => !orphan.hasUnlistened);
      for (const orphan of orphans)
        if (!orphan.isAskedToUnlisten) orphan.isAskedToUnlisten = orphan.tell({ act: 'close-listeners' });
      return orphans.length > 0 && add(child, message, () => null);
    },
    /** @returns {{ child: Child, message: AgentMessage }[]}  Requests that wait for orphans. */
    takeForOrphans() {
      const found = [...all].flatMap(([child, own]) =>
        [...own.values()].flatMap(({ message, timer }) => (timer === null ? [{ child, message }] : [])),
      );
      for (const { child, message } of found) remove(child, message);
      return found;
    },
    /** @param {Child} child */
    forget(child) {
      for (const { message } of [...(all.get(child)?.values() ?? [])]) remove(child, message);
    },
  };
}
