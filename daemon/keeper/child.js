import { ownerOf } from './host/owner.js';
import { readStat } from './host/processes.js';
import { AGENT_CMD } from './protocol.js';

/** @import { ChildProcess, SendHandle, Serializable } from 'node:child_process' */
/** @import { Socket } from 'node:net' */
/** @import { OrphanLine } from './keeper-socket.js' */
/** @import { Claim, Handle } from './sockets/listeners.js' */
/** @import { Pipes } from './pipes.js' */
/** @import { Address, ChildFact, Exit, ListenFailure, Mode, Scheduling } from './protocol.js' */
/** @import { Retirement } from './retire.js' */

/** Addresses of one instance that control knows. */
export const ADDRESSES_MAX = 256;

/** Numbers the questions to agents. */
let lastSeq = 0;

/** One process that the keeper started or adopted, and the facts about it. Decides nothing. */
export class Child {
  /** @type {ChildProcess | null} null for an adopted one. */
  #process;
  /** @type {OrphanLine | null} How an adopted one is reached, once its agent has found the door. */
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
  /** Whether it ever listened. */
  hasListened = false;
  /** The last listen() that failed, until the process listens there. @type {ListenFailure | null} */
  listenFailure = null;
  hasAgent = false;
  /**
   * When its main module had been evaluated or it listened; of what has no agent to say so, when it
   * was started.
   * @type {number | null}
   */
  bootedAtMs;
  isReady = false;
  isGone = false;
  /** Out of rotation, because its gate is shut or because it is parked. */
  isGated;
  isParked = false;
  /** Connections that it has open, by its last report, and those that are on their way to it. */
  open = 0;
  coming = 0;
  /** Since when the balancer waits for such a report. @type {number | null} */
  askedMono = null;
  /**
   * The fair share that the balancer last sent it; null while it is alone.
   * @type {number | null | undefined}
   */
  share;
  /** What its agent last said of what it has done; opaque. @type {unknown} */
  report = null;
  /** Its standard input; null where it has none of ours. @type {Socket | null} */
  input = null;
  /** Of messages to the app that it has not read yet, as JSON. */
  waitingChars = 0;
  /**
   * Questions that its agent has not answered.
   * @type {Map<number, (message: Record<string, any>) => void>}
   */
  #questions = new Map();
  /** Of an orphan: it was asked to stop listening, and it has. */
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
   * @param {string} [o.scope]  Default: `app`.
   * @param {unknown} o.label
   * @param {Mode} o.mode
   * @param {number} o.pid
   * @param {string | null} [o.startTicks]  Of an adopted one.
   * @param {number} o.startedAtMs
   * @param {string | null} o.outPipe
   * @param {string | null} o.errPipe
   * @param {number} [o.uid]
   * @param {number} [o.gid]
   * @param {number} [o.slot]
   * @param {Scheduling} [o.scheduling]
   * @param {boolean} [o.isGated]
   * @param {Pipes | null} o.pipes  null for an adopted one, whose pipes another keeper opened.
   * @param {ChildProcess | null} o.process
   */
  constructor(o) {
    this.instanceId = o.instanceId;
    this.app = o.app;
    this.scope = o.scope ?? o.app;
    this.label = o.label;
    this.mode = o.mode;
    this.pid = o.pid;
    this.#startTicks = o.startTicks ?? null;
    this.startedAtMs = o.startedAtMs;
    this.bootedAtMs = o.mode === 'exec' || o.process === null ? o.startedAtMs : null;
    this.outPipe = o.outPipe;
    this.errPipe = o.errPipe;
    /** The user that it runs as; null: ours. An adopted one can claim no socket. */
    this.owner = ownerOf(o);
    this.slot = o.slot ?? 0;
    this.scheduling = o.scheduling ?? 'os';
    this.isGated = o.isGated ?? false;
    this.pipes = o.pipes;
    this.#process = o.process;
    /** Resolves when the main process has ended. Never rejects. @type {Promise<Exit>} */
    this.exited = new Promise((resolve) => {
      this.#resolveExited = resolve;
    });
  }

  /** Field 22 of /proc/PID/stat. Read when somebody asks: a start should not wait for it. */
  get startTicks() {
    if (!this.exit) this.#startTicks ??= readStat(this.pid)?.startTicks ?? null;
    return this.#startTicks;
  }

  /** Resolves when the agent of an adopted process has found the door. @type {Promise<void>} */
  agentFound = new Promise((resolve) => {
    this.#resolveAgentFound = resolve;
  });

  /** Resolves when the last process of the tree is gone. Never rejects. @type {Promise<void>} */
  wentAway = new Promise((resolve) => {
    this.#resolveWentAway = resolve;
  });

  get isAdopted() {
    return this.#process === null;
  }

  /** Whether a word to the agent would arrive. */
  get isReachable() {
    return this.#line !== null || this.#process?.connected === true;
  }

  /** Whether connections go to it. */
  get isInRotation() {
    const isOut = this.exit || this.retirement || this.isGated || this.isParked || this.isAdopted;
    // A worker that called process.disconnect() accepts, but no connection can be sent to it.
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
   * @returns {boolean}  false: it listens on more than can be remembered.
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

  /** The agent in the process has said its first word. */
  agentArrived() {
    this.hasAgent = true;
  }

  /**
   * Says something to the agent in the process.
   * @param {{ act: string, [key: string]: unknown }} message
   * @param {Handle} [handle]
   * @param {() => void} [onSent]  Called when it is on its way, or cannot be sent any more.
   * @returns {boolean}  false when there is no way to reach it.
   */
  tell(message, handle, onSent = () => {}) {
    if (this.#line) return handle === undefined && this.#line.send(message); // Only an IPC channel carries handles.
    if (!this.#process?.connected) return false;
    // A failed write means that the process is ending, which its exit reports; without a callback
    // Node would throw it at us.
    const cast = /** @type {SendHandle | undefined} */ (/** @type {unknown} */ (handle));
    this.#process.send({ cmd: AGENT_CMD, ...message }, cast, onSent);
    return true;
  }

  /**
   * Says something to the app itself.
   * @param {Serializable} message
   * @returns {boolean}  false when there is no way to reach it.
   */
  message(message) {
    if (!this.#process?.connected) return false;
    const { length } = JSON.stringify(message);
    this.waitingChars += length;
    this.#process.send(message, () => {
      this.waitingChars -= length;
    }); // As above.
    return true;
  }

  /**
   * Asks the agent something that it answers from its event loop.
   * @param {{ act: string, [key: string]: unknown }} message
   * @param {(answer: Record<string, any>) => void} onAnswer
   * @returns {boolean}  false when there is no way to reach it.
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

  /** The last process of the tree is gone. */
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

  /** @returns {ChildFact} */
  fact() {
    const {
      instanceId,
      app,
      scope,
      label,
      pid,
      startTicks,
      mode,
      startedAtMs,
      bootedAtMs,
      outPipe,
      errPipe,
      addresses,
      listenFailure,
      isReady,
      isGated,
      isParked,
      isAdopted,
      exit,
      isGone,
    } = this;
    const last = isGone ? { report: this.report } : {};
    return {
      instanceId,
      app,
      scope,
      label,
      pid,
      startTicks,
      mode,
      startedAtMs,
      bootedAtMs,
      outPipe,
      errPipe,
      addresses,
      listenFailure,
      isReady,
      isRetiring: this.retirement !== null,
      isGated,
      isParked,
      isAdopted,
      exit,
      isGone,
      ...last,
    };
  }
}
