import { uidOf } from '../../lib/shared/daemon/home-processes.js';
import { createAppVerbs } from './agent-verbs.js';
import { Agents } from './agents.js';
import { Balancer } from './balancer.js';
import { createAppMessages } from './app-messages.js';
import { openEnds } from './channel-ends.js';
import { createDropLog, filterChannel } from './channel-filter.js';
import { Child } from './child.js';
import { HeldSockets } from './sockets/held.js';
import { describeListener, Listeners } from './sockets/listeners.js';
import { describeError } from './host/log.js';
import { createOrphans } from './orphans.js';
import { readOwner } from './host/owner.js';
import { openInput } from './pipes.js';
import { createProcessTable } from './host/processes.js';
import { AGENT_CMD, KeeperError, PROTOCOL } from './protocol.js';
import { retire, sweep } from './retire.js';
import { spawnProcess } from './spawn.js';

/** @import { ChildProcess } from 'node:child_process' */
/** @import { Verb } from './control-link.js' */
/** @import { Handle } from './sockets/listeners.js' */
/** @import { Log } from './host/log.js' */
/** @import { ChannelEnds } from './channel-ends.js' */
/** @import { Ours } from './host/processes.js' */
/** @import { OneWay } from './pipes.js' */
/** @import { AdoptParams, RetireParams, SpawnParams } from './protocol.js' */

/**
 * @typedef {(name: string, data: object, handle?: Handle, onSent?: () => void) => void} Emit
 *   onSent: called when the event is on its way, or cannot be sent.
 */

/**
 * The parent of every app process. It decides nothing about apps. It completes every request of
 * control, even if control dies.
 */
export class Keeper {
  /** @type {Map<string, Child>} */
  #children = new Map();
  /** @type {Map<string, unknown>} */
  #notes = new Map();
  #sockets;
  #listeners;
  #balancer;
  /** Spawns whose process is not in #children yet. @type {Map<string, Promise<unknown>>} */
  #inFlight = new Map();
  #startedAtMs = Date.now();
  #isTerminating = false;
  /** @type {(() => void) | null} */
  #onEmpty = null;
  #agents;
  #orphans;
  #messages;
  #tools;
  #pipes;
  #version;
  #emit;
  #log;
  #onDropped;

  /**
   * @param {object} o
   * @param {ReturnType<typeof import('./pipes.js').createPipePool>} o.pipes
   * @param {string} o.version
   * @param {Emit} o.emit
   * @param {Log} o.log
   */
  constructor({ pipes, version, emit, log }) {
    this.#pipes = pipes;
    this.#version = version;
    this.#emit = emit;
    this.#log = log;
    this.#tools = { processTable: createProcessTable(() => this.#listOurs()), log };
    this.#messages = createAppMessages((name, data, onSent) => emit(name, data, undefined, onSent));
    this.#onDropped = createDropLog(log);
    const children = () => this.#children.values();
    const listeners = new Listeners();
    const balancer = new Balancer({ listeners, children });
    this.#listeners = listeners;
    this.#balancer = balancer;
    this.#sockets = new HeldSockets({
      listeners,
      children,
      emit,
      onDropped: this.#onDropped,
      onReleased: (scope, isOfSocket) => balancer.onReleased(scope, isOfSocket),
    });
    this.#agents = new Agents({ sockets: this.#sockets, balancer, emit, onDropped: this.#onDropped });
    this.#orphans = createOrphans({ childOf: (instanceId) => this.#children.get(instanceId), agents: this.#agents });
  }

  /** @returns {Ours} */
  #listOurs() {
    const children = [...this.#children.values()];
    const uids = children.flatMap(({ pid, owner, retirement }) => [
      owner?.uid,
      // An app may have changed its user itself.
      uidOf(pid),
      ...(retirement?.relatives ?? []).map(({ uid }) => uid),
    ]);
    return {
      uids: new Set([process.geteuid?.(), ...uids].filter((uid) => typeof uid === 'number')),
      pids: new Set(children.map(({ pid }) => pid)),
    };
  }

  /** @returns {Record<string, Verb>} */
  get verbs() {
    return {
      snapshot: () => this.snapshot(),
      spawn: (params) => this.spawn(params),
      retire: (params) => this.retire(params),
      signal: (params) => this.signal(params),
      forget: ({ instanceId }) => this.forget(instanceId),
      sockets: () => ({
        sockets: this.#listeners
          .all()
          .map(({ app, scope, bound, users }) => ({ app, scope, ...bound, users: [...users] })),
      }),
      release: (params) => this.#sockets.unwant(params),
      note: ({ key, value }) => {
        if (value === null) this.#notes.delete(key);
        else this.#notes.set(key, value);
      },
      adopt: (params) => this.adopt(params),
      inherit: ({ app, scope, owner = null, claim }, handle) => {
        if (handle) this.#sockets.inherit({ app, scope, owner }, claim, handle);
      },
      ...createAppVerbs({
        findChild: (instanceId) => this.#findChild(instanceId),
        children: () => this.#children.values(),
        messages: this.#messages,
        onRotationChanged: ({ scope }) => this.#balancer.onRotationChanged(scope),
      }),
    };
  }

  async snapshot() {
    // Waits for unfinished spawns, because an earlier control may have requested them, and this
    // control needs the pids of the new processes.
    await Promise.allSettled(this.#inFlight.values());
    // Sends copies of the sockets. If this keeper is killed, control gives them to the next keeper.
    setImmediate(() => this.#listeners.all().forEach((one) => this.#sockets.announce(one)));
    return {
      version: this.#version,
      protocol: PROTOCOL,
      pid: process.pid,
      startedAtMs: this.#startedAtMs,
      isTerminating: this.#isTerminating,
      children: [...this.#children.values()].map((child) => child.snapshot()),
      listeners: this.#listeners.all().map(describeListener),
      notes: Object.fromEntries(this.#notes),
    };
  }

  /** @param {SpawnParams} params */
  async spawn(params) {
    const { instanceId } = params;
    if (this.#children.has(instanceId) || this.#inFlight.has(instanceId))
      throw new KeeperError('EEXIST', `instance ${instanceId} exists`);
    const spawning = this.#spawn(params);
    this.#inFlight.set(instanceId, spawning);
    try {
      return await spawning;
    } finally {
      this.#inFlight.delete(instanceId);
    }
  }

  /** @param {SpawnParams} params */
  async #spawn(params) {
    if (this.#isTerminating || this.#onEmpty) throw new KeeperError('ELEAVING', 'the keeper is exiting');
    const { instanceId, app, scope = app, mode } = params;
    const owner = readOwner(params);
    this.#sockets.want(scope, app);
    const pipes = await this.#pipes.acquire(owner);
    /** @type {OneWay | null} */
    let input = null;
    /** @type {ChannelEnds | null} */
    let ends = null;
    try {
      if (mode !== 'cluster') input = openInput(await this.#pipes.takeOne(), owner);
      ends = await openEnds(params, this.#pipes, owner);
      // An app that cannot send handles cannot pass connections on.
      const its = ends ? { ...params, scheduling: /** @type {const} */ ('os') } : params;
      const sockets = mode === 'fork' ? this.#listeners.ofScope(scope) : [];
      const started = await spawnProcess(its, { ...pipes, in: input?.fd ?? 'ignore' }, ends, sockets);
      const { outPipe, errPipe } = pipes;
      const { pid = 0 } = started;
      const child = new Child({ ...its, pid, startedAtMs: Date.now(), outPipe, errPipe, pipes, process: started });
      child.input = input?.given() ?? null;
      this.#children.set(instanceId, child);
      this.#follow(child, started, { sendsHandles: ends === null });
      return { pid, outPipe, errPipe, startedAtMs: child.startedAtMs, bootedAtMs: child.bootedAtMs };
    } catch (error) {
      input?.close();
      ends?.close();
      this.#pipes.giveBack(pipes);
      throw error;
    }
  }

  /**
   * @param {Child} child
   * @param {ChildProcess} started
   * @param {{ sendsHandles: boolean }} o
   */
  #follow(child, started, { sendsHandles }) {
    const o = { budget: child.budget, sendsHandles };
    filterChannel(started, child.scope, o, (what) => this.#onDropped(child, what));
    started.on('internalMessage', (message, handle) => {
      if (message?.cmd === AGENT_CMD) this.#agents.receive(child, message, handle);
    });
    started.on('message', (message) => {
      if (message !== 'ready') return this.#messages.receive(child, message);
      if (child.isReady) return;
      child.isReady = true;
      this.#emit('ready', { instanceId: child.instanceId });
    });
    started.once('disconnect', () => this.#agents.onDisconnect(child));
    started.on('error', (error) => this.#log('child-error', { instanceId: child.instanceId, ...describeError(error) }));
    if (started.exitCode !== null || started.signalCode !== null)
      this.#onExit(child, started.exitCode, started.signalCode);
    else started.once('exit', (code, signal) => this.#onExit(child, code, signal));
  }

  /**
   * @param {Child} child
   * @param {number | null} code
   * @param {string | null} signal
   */
  #onExit(child, code, signal) {
    if (child.exit) return;
    const exit = { code, signal, atMs: Date.now() };
    child.ended(exit);
    this.#orphans.forget(child.instanceId);
    this.#emit('exited', { instanceId: child.instanceId, ...exit });
    try {
      this.#agents.onExit(child);
    } catch (error) {
      // Only logs the error, because sweep() has to run in any case.
      this.#log('exit-failed', { instanceId: child.instanceId, ...describeError(error) });
    }
    sweep(child, this.#tools).then(
      () => this.#emit('gone', { instanceId: child.instanceId, report: child.report }),
      (error) => this.#log('sweep-failed', { instanceId: child.instanceId, ...describeError(error) }),
    );
  }

  /** @param {RetireParams} params */
  async retire(params) {
    const child = await this.#findChild(params.instanceId);
    if (child.exit) return;
    if (!child.retirement) this.#sockets.restorePaths(child);
    const isDone = retire(child, params, this.#tools);
    this.#balancer.onRotationChanged(child.scope);
    isDone.catch((error) => this.#log('retire-failed', { instanceId: params.instanceId, ...describeError(error) }));
  }

  /** @param {{ instanceId: string, signal: NodeJS.Signals }} params */
  async signal({ instanceId, signal }) {
    const child = await this.#findChild(instanceId);
    if (child.exit) throw new KeeperError('ESRCH', `instance ${instanceId} has exited`);
    process.kill(child.pid, signal);
  }

  /** @param {string} instanceId */
  async forget(instanceId) {
    const child = await this.#findChild(instanceId);
    if (!child.isGone) throw new KeeperError('EBUSY', `instance ${instanceId} is not gone yet`);
    this.#children.delete(instanceId);
    if (child.pipes) this.#pipes.giveBack(child.pipes);
    else this.#pipes.remove([child.outPipe, child.errPipe]);
    this.#leaveIfEmpty();
  }

  /** @param {AdoptParams} params */
  adopt(params) {
    const { instanceId, startTicks, startedAtMs = Date.now() } = params;
    if (this.#children.has(instanceId)) throw new KeeperError('EEXIST', `instance ${instanceId} exists`);
    const child = new Child({ ...params, startedAtMs, isGated: false, pipes: null, process: null });
    this.#children.set(instanceId, child);
    this.#orphans.follow(child, startTicks, () => this.#onExit(child, null, null));
  }

  get keeperSocketEvents() {
    return this.#orphans.keeperSocketEvents;
  }

  /** Sends no more messages of apps. The next control subscribes again. */
  onControlEnded() {
    this.#messages.hush();
  }

  /**
   * Resolves when all spawns have finished, and the workers have received the connections that were
   * on their way. Waits for these connections for at most a second.
   * @returns {Promise<void>}
   */
  async close() {
    await Promise.allSettled(this.#inFlight.values());
    await this.#balancer.close();
  }

  /** @param {() => void} onEmpty */
  leave(onEmpty) {
    this.#onEmpty = onEmpty;
    this.#leaveIfEmpty();
  }

  /**
   * Asks control to end nclust. Control stops every app within the kill timeout of the app, and
   * then lets the keeper leave.
   */
  terminate() {
    this.#isTerminating = true;
    this.#emit('terminating', {});
  }

  /** @param {number} killTimeoutMs */
  async retireAll(killTimeoutMs) {
    const alive = [...this.#children.values()].filter((child) => !child.exit);
    for (const { instanceId } of alive)
      void this.retire({ instanceId, killTimeoutMs, signal: null, drain: 'finish', tree: true });
    await Promise.all(alive.map((child) => child.wentAway));
  }

  get pipesInUse() {
    return new Set([...this.#children.values()].flatMap(({ outPipe, errPipe }) => [outPipe, errPipe]));
  }

  #leaveIfEmpty() {
    if ([...this.#children.values()].every((child) => child.isGone)) this.#onEmpty?.();
  }

  /** @param {string} instanceId */
  async #findChild(instanceId) {
    await this.#inFlight.get(instanceId)?.catch(() => {}); // The spawn request reports this error.
    const child = this.#children.get(instanceId);
    if (!child) throw new KeeperError('ESRCH', `no instance ${instanceId}`);
    return child;
  }
}
