import { controlMsOf, createActCheck, refuseAct } from './agent-acts.js';
import { ADDRESSES_MAX } from './child.js';

/** @import { Act } from './agent-acts.js' */
/** @import { Balancer } from './balancer.js' */
/** @import { Child } from './child.js' */
/** @import { HeldSockets } from './sockets/held.js' */
/** @import { Handle } from './sockets/listeners.js' */

/**
 * The keeper accepts these acts even after the process has exited, because they may arrive late.
 */
const AFTER_EXIT = new Set(['overflow', 'connection-accepted', 'report']);

/** @typedef {{ act?: string, [key: string]: any }} AgentMessage */

export class Agents {
  #emit;
  #onDropped;
  #balancer;
  #sockets;
  #check = createActCheck();

  /** @type {Record<Act, (child: Child, message: AgentMessage, handle: Handle) => void>} */
  #acts = {
    hello: (child) => child.agentArrived(),
    booted: (child) => this.#booted(child),
    listen: (child, message) => this.#sockets.give(child, message),
    reached: (child, { seq, address, port }) =>
      void child.tell({ act: 'reached', seq, isOwn: this.#sockets.isRefusedTo(child, { address, port }) }),
    bound: (child, message, handle) => this.#sockets.takeCopy(child, message.claim, handle),
    'socket-used': (child, { claim }) => this.#sockets.hold(child, claim),
    listening: (child, message) => this.#listening(child, message),
    closed: (child, { claim }) => this.#sockets.closed(child, claim),
    listenFailed: (child, { claim, code, isUdp }) => this.#sockets.failToListen(child, claim, code, isUdp === true),
    caught: (child, { caught }) => {
      child.caught = caught;
    },
    draining: (child, { caught, hasWorkers }) => child.retirement?.draining(caught, hasWorkers === true),
    drained: (child, { caught }) => child.retirement?.drained(caught),
    answer: (child, message) => child.answered(message),
    overflow: (child, message, handle) =>
      this.#balancer.onOverflow(child, /** @type {any} */ (message), handle) ||
      this.#onDropped(child, 'more connections than may wait for a worker'),
    'connection-accepted': (child, { seq }) => this.#balancer.onAccepted(child, seq),
    'connection-declined': (child, { seq }) => this.#balancer.onDeclined(child, seq),
    vitals: ({ instanceId }, { responses, errors, delayP99Ms, connections }) =>
      this.#emit('vitals', { instanceId, responses, errors, delayP99Ms, connections }),
    report: (child, { report }) => {
      child.report = report;
    },
    fault: ({ instanceId }, { part, message }) => this.#emit('agent-failed', { instanceId, part, message }),
    'listeners-closed': (child) => {
      child.hasUnlistened = true;
      this.retryWaiting();
    },
  };

  /**
   * @param {object} o
   * @param {HeldSockets} o.sockets
   * @param {Balancer} o.balancer
   * @param {(name: string, data: object, handle?: Handle) => void} o.emit
   * @param {(child: Child, what: string) => void} o.onDropped
   */
  constructor({ sockets, balancer, emit, onDropped }) {
    this.#sockets = sockets;
    this.#balancer = balancer;
    this.#emit = emit;
    this.#onDropped = onDropped;
  }

  /**
   * Never throws, so that a bad message harms only the instance that sent it.
   * @param {Child} child
   * @param {AgentMessage} message  May hold any JSON value.
   * @param {Handle} [handle]  Closed here, unless the act takes it.
   */
  receive(child, message, handle) {
    const { act, fault } = this.#check(child, message, handle);
    if (fault !== null) this.#onDropped(child, fault);
    const isLate = child.exit && (act === null || !AFTER_EXIT.has(act));
    if (act !== null && fault === null && !isLate) {
      child.budget.spend(controlMsOf(act));
      return this.#perform(child, act, message, handle);
    }
    handle?.close();
    if (act === null || isLate) return;
    const refusal = refuseAct(act, message, fault ?? '');
    if (refusal) child.tell(refusal);
    // Control waits for an answer, so it gets the fault.
    if (act === 'answer') child.answered({ seq: message.seq, refusal: { code: 'EBADMSG', message: fault } });
  }

  /**
   * @param {Child} child
   * @param {Act} act
   * @param {AgentMessage} message
   * @param {Handle} [handle]
   */
  #perform(child, act, message, handle) {
    try {
      // If the act needs a handle, the handle exists: otherwise unfitField() refused the message.
      this.#acts[act](child, message, /** @type {Handle} */ (handle));
    } catch (error) {
      this.#onDropped(child, `"${act}" failed: ${/** @type {Error} */ (error).stack}`);
      handle?.close();
    }
  }

  /**
   * The agent can no longer report that the process has booted, so the process counts as booted.
   * @param {Child} child
   */
  onDisconnect(child) {
    if (!child.exit) this.#booted(child);
    this.#balancer.onRotationChanged(child.scope);
  }

  /** Repeats listen() requests that wait for an address, because an orphan may have released it. */
  retryWaiting() {
    for (const { child, message } of this.#sockets.waiting.takeForOrphans()) this.#perform(child, 'listen', message);
  }

  /** @param {Child} child */
  onExit(child) {
    this.#sockets.forget(child);
    this.#balancer.onExit(child);
    this.retryWaiting();
  }

  /** @param {Child} child */
  #booted(child) {
    if (child.bootedAtMs !== null) return;
    child.bootedAtMs = Date.now();
    this.#emit('booted', { instanceId: child.instanceId, atMs: child.bootedAtMs });
  }

  /**
   * @param {Child} child
   * @param {AgentMessage} message
   */
  #listening(child, { address, port, family }) {
    child.bootedAtMs ??= Date.now();
    if (!child.listensOn({ address, port, family }))
      return this.#onDropped(child, `more than ${ADDRESSES_MAX} addresses`);
    this.#emit('listening', { instanceId: child.instanceId, address, port, family });
    this.#balancer.onRotationChanged(child.scope);
    this.#sockets.onListening(child, port);
  }
}
