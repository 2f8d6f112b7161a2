import { createBudget } from './budget.js';
import { readOwner } from './host/owner.js';
import { readStat } from '../../lib/shared/daemon/home-processes.js';
import { pathTo } from './pipes.js';
import { AGENT_CMD } from './protocol.js';

/** @import { ChildProcess, SendHandle, Serializable } from 'node:child_process' */
/** @import { Socket } from 'node:net' */
/** @import { OrphanLine } from './keeper-socket.js' */
/** @import { Claim, Handle } from './sockets/listeners.js' */
/** @import { Pipes } from './pipes.js' */
/** @import { Address, ChildSnapshot, Exit, ListenFailure, Mode, Scheduling } from './protocol.js' */
/** @import { Retirement } from './retire.js' */

export const ADDRESSES_MAX = 256;

let lastSeq = 0;

export class Child {
  /** @type {ChildProcess | null} */
  #process;
  /** @type {OrphanLine | null} */
  #line = null;
  /** @type {(exit: Exit) => void} */
  #resolveExited = () => {};
  /** @type {() => void} */
  #resolveWentAway = () => {};
  /** @type {string | null} */
  #startTicks;
  /** @type {() => void} */
  #resolveAgentFound = () => {};

  /** @type {Address[]} */
  addresses = [];
  hasListened = false;
  /**
   * The last failed listen(). Null after a listen() on the same port or path succeeds.
   * @type {ListenFailure | null}
   */
  listenFailure = null;
  hasAgent = false;
  /**
   * When the process had evaluated its main module, first listened, or closed its IPC channel. For
   * exec and for adopted processes: when the process was started. null: not booted yet.
   * @type {number | null}
   */
  bootedAtMs;
  isReady = false;
  isGone = false;
  isGated;
  isParked = false;
  /** Stop signals that an app behind a launcher handles. @type {string[]} */
  caught = [];
  /** Number of open connections, from the last report of the agent. */
  open = 0;
  coming = 0;
  /** Time of the balancer's unanswered request for the load. @type {number | null} */
  askedMono = null;
  /**
   * Last sent share of the connections. null: the process keeps all its connections. undefined: not
   * known, so the balancer sends the next share in any case.
   * @type {number | null | undefined}
   */
  share;
  /** @type {unknown} */
  report = null;
  /** @type {Socket | null} */
  input = null;
  /** Characters in messages that the app has not read yet. */
  waitingChars = 0;
  /** @type {Map<number, (message: Record<string, any>) => void>} */
  #questions = new Map();
  isAskedToUnlisten = false;
  hasUnlistened = false;
  /** @type {Exit | null} */
  exit = null;
  /** @type {Retirement | null} */
  retirement = null;

  /**
   * @param {object} o
   * @param {string} o.instanceId
   * @param {string} o.app
   * @param {string} [o.scope]
   * @param {unknown} o.label
   * @param {Mode} o.mode
   * @param {number} o.pid
   * @param {string | null} [o.startTicks]
   * @param {number} o.startedAtMs
   * @param {string | null} o.outPipe
   * @param {string | null} o.errPipe
   * @param {number} [o.uid]
   * @param {number} [o.gid]
   * @param {boolean} [o.hasChannel]
   * @param {number} [o.slot]
   * @param {Scheduling} [o.scheduling]
   * @param {boolean} [o.isGated]
   * @param {Pipes | null} o.pipes  null for an adopted process, whose pipes another keeper opened.
   * @param {ChildProcess | null} o.process
   */
  constructor(o) {
    this.instanceId = o.instanceId;
    this.app = o.app;
    this.scope = o.scope ?? o.app;
    this.label = o.label;
    this.mode = o.mode;
    this.hasChannel = o.mode !== 'exec' || o.hasChannel === true;
    this.pid = o.pid;
    this.#startTicks = o.startTicks ?? null;
    this.startedAtMs = o.startedAtMs;
    this.bootedAtMs = o.mode === 'exec' || o.process === null ? o.startedAtMs : null;
    this.outPipe = o.outPipe;
    this.errPipe = o.errPipe;
    this.owner = readOwner(o);
    this.budget = createBudget({ isOwn: this.owner === null });
    this.slot = o.slot ?? 0;
    this.scheduling = o.scheduling ?? 'os';
    this.isGated = o.isGated ?? false;
    this.pipes = o.pipes;
    this.#process = o.process;
    /** Never rejects. @type {Promise<Exit>} */
    this.exited = new Promise((resolve) => {
      this.#resolveExited = resolve;
    });
  }

  /** Field 22 of /proc/PID/stat. Read on demand, because a start should not wait for it. */
  get startTicks() {
    if (!this.exit) this.#startTicks ??= readStat(this.pid)?.startTicks ?? null;
    return this.#startTicks;
  }

  /** @type {Promise<void>} */
  agentFound = new Promise((resolve) => {
    this.#resolveAgentFound = resolve;
  });

  /** @type {Promise<void>} */
  wentAway = new Promise((resolve) => {
    this.#resolveWentAway = resolve;
  });

  get isAdopted() {
    return this.#process === null;
  }

  get isReachable() {
    return this.#line !== null || this.#process?.connected === true;
  }

  get isInRotation() {
    const isOut = this.exit || this.retirement || this.isGated || this.isParked || this.isAdopted;
    // A worker that called process.disconnect() still accepts connections, but the keeper cannot
    // send a connection to it.
    return this.mode === 'cluster' && !isOut && this.isReachable && this.addresses.length > 0;
  }

  get load() {
    return this.open + this.coming;
  }

  /** @param {OrphanLine | null} line */
  attach(line) {
    this.#line = line;
    this.hasAgent = line !== null;
    if (line) this.#resolveAgentFound();
  }

  /**
   * @param {Address} where
   * @returns {boolean}  false: ADDRESSES_MAX is reached.
   */
  listensOn({ address, port, family }) {
    const isKnown = this.addresses.some((one) => one.address === address && one.port === port);
    if (!isKnown && this.addresses.length >= ADDRESSES_MAX) return false;
    if (!isKnown) this.addresses.push({ address, port, family });
    this.hasListened = true;
    const failure = this.listenFailure;
    if (failure?.port === port && (port > 0 || failure.address === address)) this.listenFailure = null;
    return true;
  }

  /**
   * @param {Claim} claim
   * @param {Pick<ListenFailure, 'code' | 'app' | 'isUdp'>} why
   */
  failedToListen({ address, port, family }, why) {
    this.listenFailure = { address, port, family, ...why };
    return this.listenFailure;
  }

  agentArrived() {
    this.hasAgent = true;
  }

  /**
   * @param {{ act: string, [key: string]: unknown }} message
   * @param {Handle} [handle]
   * @param {() => void} [onSent]  The message is on its way, or can no longer be sent.
   * @returns {boolean}  false when the agent cannot be reached, or cannot get the handle.
   */
  tell(message, handle, onSent = () => {}) {
    // Does not send a handle over the keeper socket, because only an IPC channel carries handles.
    if (this.#line) return handle === undefined && this.#line.send(message);
    if (!this.#process?.connected) return false;
    // Without a callback Node.js would throw the error of a failed write. The keeper ignores this
    // error, because the exit of the process follows.
    const cast = /** @type {SendHandle | undefined} */ (/** @type {unknown} */ (handle));
    this.#process.send({ cmd: AGENT_CMD, ...message }, cast, onSent);
    return true;
  }

  /**
   * @param {Serializable} message
   * @returns {boolean}
   */
  message(message) {
    if (!this.#process?.connected) return false;
    const { length } = JSON.stringify(message);
    this.waitingChars += length;
    this.#process.send(message, () => {
      this.waitingChars -= length;
    });
    return true;
  }

  /**
   * Sends a question to the agent. An app with a blocked event loop answers only after the block.
   * @param {{ act: string, [key: string]: unknown }} message
   * @param {(answer: Record<string, any>) => void} onAnswer
   * @returns {boolean}  false: the agent cannot be reached.
   */
  ask(message, onAnswer) {
    lastSeq += 1;
    if (!this.tell({ ...message, seq: lastSeq })) return false;
    this.#questions.set(lastSeq, onAnswer);
    return true;
  }

  /** @param {Record<string, any>} answer */
  answered(answer) {
    const onAnswer = this.#questions.get(answer.seq);
    this.#questions.delete(answer.seq);
    if (typeof answer.open === 'number') this.open = Math.max(0, answer.open);
    onAnswer?.(answer);
  }

  gone() {
    this.isGone = true;
    this.#resolveWentAway();
  }

  /** @param {Exit} exit */
  ended(exit) {
    if (this.exit) return;
    this.exit = exit;
    this.hasAgent = false;
    this.input?.destroy();
    this.#resolveExited(exit);
  }

  /** @returns {ChildSnapshot} */
  snapshot() {
    const { pipes } = this;
    return {
      instanceId: this.instanceId,
      app: this.app,
      scope: this.scope,
      label: this.label,
      pid: this.pid,
      startTicks: this.startTicks,
      mode: this.mode,
      startedAtMs: this.startedAtMs,
      bootedAtMs: this.bootedAtMs,
      outPipe: pipes ? pathTo(pipes.outPipe, pipes.outFd) : this.outPipe,
      errPipe: pipes ? pathTo(pipes.errPipe, pipes.errFd) : this.errPipe,
      addresses: this.addresses,
      listenFailure: this.listenFailure,
      isReady: this.isReady,
      isRetiring: this.retirement !== null,
      isGated: this.isGated,
      isParked: this.isParked,
      isAdopted: this.isAdopted,
      exit: this.exit,
      isGone: this.isGone,
      ...(this.isGone ? { report: this.report } : {}),
    };
  }
}
