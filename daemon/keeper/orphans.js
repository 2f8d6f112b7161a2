// Processes that the keeper is not the parent of: an earlier keeper started them. Their agents call
// at the keeper's socket, and their end has to be looked for.
import { readStat, signalProcess } from './host/processes.js';

/** @import { Agents } from './agents.js' */
/** @import { Child } from './child.js' */
/** @import { DoorEvents, OrphanLine } from './keeper-socket.js' */

const POLL_MS = 250;

/** @param {{ childOf: (instanceId: string) => Child | undefined, agents: Agents }} o */
export function createOrphans({ childOf, agents }) {
  /**
   * By instance. An agent may call before control adopts its process.
   * @type {Map<string, OrphanLine>}
   */
  const lines = new Map();
  /** By instance: looks at once whether the process has ended. @type {Map<string, () => void>} */
  const checks = new Map();

  /** @type {DoorEvents} */
  const doorEvents = {
    onOrphan(line) {
      lines.set(line.instanceId, line);
      // Not always adopted: the agent of an app that called process.disconnect() calls here, too.
      childOf(line.instanceId)?.attach(line);
      agents.retryWaiting();
    },
    onOrphanMessage(instanceId, message) {
      const child = childOf(instanceId);
      if (child) agents.receive(child, message);
    },
    onOrphanGone(instanceId) {
      lines.delete(instanceId);
      childOf(instanceId)?.attach(null);
      checks.get(instanceId)?.();
    },
  };

  return {
    doorEvents,
    /**
     * @param {Child} child  Adopted just now.
     * @param {string} startTicks
     * @param {() => void} onExit
     */
    follow(child, startTicks, onExit) {
      child.attach(lines.get(child.instanceId) ?? null);
      checks.set(child.instanceId, watch(child.pid, startTicks, onExit));
    },
    /** @param {string} instanceId  Has exited. */
    forget(instanceId) {
      checks.delete(instanceId);
    },
  };
}

/**
 * The process has the pid and the start time, because the system uses pids again.
 * @param {number} pid
 * @param {string | null} startTicks
 * @param {() => void} onExit
 * @returns {() => void}  Looks at once. To be called when the process may have ended.
 */
function watch(pid, startTicks, onExit) {
  const check = () => {
    if (isAlive(pid, startTicks)) return;
    clearInterval(timer);
    onExit();
  };
  const timer = setInterval(check, POLL_MS);
  return check;
}

/**
 * @param {number} pid
 * @param {string | null} startTicks
 */
function isAlive(pid, startTicks) {
  if (startTicks === null || process.platform !== 'linux') return signalProcess(pid, 0) !== 'gone';
  const stat = readStat(pid);
  return stat !== null && stat.startTicks === startTicks && stat.state !== 'Z';
}
