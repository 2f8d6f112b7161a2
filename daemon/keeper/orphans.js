// Orphans are processes of an earlier keeper. This keeper is not their parent, so it polls
// for their exit.
import { readStat } from '../../lib/shared/daemon/home-processes.js';
import { signalProcess } from './host/processes.js';

/** @import { Agents } from './agents.js' */
/** @import { Child } from './child.js' */
/** @import { KeeperSocketEvents, OrphanLine } from './keeper-socket.js' */

const POLL_MS = 250;

/** @param {{ childOf: (instanceId: string) => Child | undefined, agents: Agents }} o */
export function createOrphans({ childOf, agents }) {
  /** An agent may connect before control adopts its process. @type {Map<string, OrphanLine>} */
  const lines = new Map();
  /** Each function checks at once whether a process has exited. @type {Map<string, () => void>} */
  const checks = new Map();

  /** @type {KeeperSocketEvents} */
  const keeperSocketEvents = {
    onOrphan(line) {
      lines.set(line.instanceId, line);
      // The agent of an app that called process.disconnect() connects here, too.
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
    keeperSocketEvents,
    /**
     * @param {Child} child
     * @param {string} startTicks
     * @param {() => void} onExit
     */
    follow(child, startTicks, onExit) {
      child.attach(lines.get(child.instanceId) ?? null);
      checks.set(child.instanceId, watch(child.pid, startTicks, onExit));
    },
    /** @param {string} instanceId */
    forget(instanceId) {
      checks.delete(instanceId);
    },
  };
}

/**
 * @param {number} pid
 * @param {string | null} startTicks
 * @param {() => void} onExit
 * @returns {() => void}
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
  return stat !== null && stat.startTicks === startTicks && !stat.hasExited;
}
