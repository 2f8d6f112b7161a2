import { inRotation, toApps } from './agent-verbs.js';
import { AgentDesk } from './agents.js';
import { createAppMessages } from './app-messages.js';
import { Child, watchForeign } from './child.js';
import { Listeners } from './listeners.js';
import { describeError } from './log.js';
import { openInput } from './pipes.js';
import { createProcessTable } from './processes.js';
import { AGENT_CMD, KeeperError, PROTOCOL } from './protocol.js';
import { retire, sweep } from './retire.js';
import { spawnProcess } from './spawn.js';

/** @import { ChildProcess } from 'node:child_process' */
/** @import { Verb } from './control-link.js' */
/** @import { DoorEvents, OrphanLine } from './keeper-socket.js' */
/** @import { Handle } from './listeners.js' */
/** @import { Log } from './log.js' */
/** @import { Input } from './pipes.js' */
/** @import { AdoptParams, RetireParams, SpawnParams } from './protocol.js' */

/**
 * @typedef {(name: string, data: object, handle?: Handle, onSent?: () => void) => void} Emit
 *   onSent: it is on its way, or cannot be sent.
 */

/**
 * Parent of every app process, holder of every listening socket and log pipe. Knows facts, has no
 * wishes: what should run is control's business, and the verbs control asks for finish by
 * themselves when it is gone.
 */
export class Keeper {
  /** @type {Map<string, Child>} */
  #children = new Map();
  /** @type {Map<string, unknown>} */
  #notes = new Map();
  /**
   * @type {Map<string, OrphanLine>} Agents that found the door before control adopted their
   *   process.
   */
  #orphanLines = new Map();
  /** @type {Map<string, () => void>} */
  #lookAfter = new Map();
  #listeners = new Listeners();
  /** @type {Map<string, Promise<unknown>>} Spawns whose process is not in the table yet. */
  #inFlight = new Map();
  #startedAtMs = Date.now();
  #isTerminating = false;
  #isLeaving = false;
  #desk;
  #messages;
  #tools;
  #pipes;
  #version;
  #emit;
  #log;
  #onEmpty;

  /**
   * @param {object} o
   * @param {ReturnType<typeof import('./pipes.js').createPipePool>} o.pipes
   * @param {string} o.version
   * @param {Emit} o.emit  To control.
   * @param {Log} o.log
   * @param {() => void} o.onEmpty  `leave` was asked for and no process is left.
   */
  constructor({ pipes, version, emit, log, onEmpty }) {
    this.#pipes = pipes;
    this.#version = version;
    this.#emit = emit;
    this.#log = log;
    this.#tools = { processTable: createProcessTable(), log };
    this.#onEmpty = onEmpty;
    this.#messages = createAppMessages((name, data, onSent) => emit(name, data, undefined, onSent));
    this.#desk = new AgentDesk({ listeners: this.#listeners, children: () => this.#children.values(), emit });
  }

  /** @returns {Record<string, Verb>} */
  get verbs() {
    return {
      snapshot: () => this.snapshot(),
      spawn: (params) => this.spawn(params),
      retire: (params) => this.retire(params),
      signal: (params) => this.signal(params),
      forget: ({ instanceId }) => this.forget(instanceId),
      release: ({ app, scope }) => this.release(app, scope),
      note: ({ key, value }) => {
        if (value === null) this.#notes.delete(key);
        else this.#notes.set(key, value);
      },
      adopt: (params) => this.adopt(params),
      inherit: ({ app, scope, claim }, handle) => {
        if (handle) this.#listeners.keep({ app, scope }, claim, handle);
      },
      leave: () => this.leave(),
      ...toApps({
        known: (instanceId) => this.#known(instanceId),
        children: () => this.#children.values(),
        messages: this.#messages,
      }),
      ...inRotation({
        known: (instanceId) => this.#known(instanceId),
        onChanged: (child) => this.#desk.rotationChanged(child),
      }),
    };
  }

  async snapshot() {
    // A control that died while we started a process for it must not leave one that nobody knows.
    await Promise.allSettled(this.#inFlight.values());
    // After the answer: every control keeps a copy of every socket, to hand it to the next keeper
    // should this one be killed.
    setImmediate(() => this.#listeners.all().forEach((one) => this.#desk.announce(one)));
    return {
      version: this.#version,
      protocol: PROTOCOL,
      pid: process.pid,
      startedAtMs: this.#startedAtMs,
      isTerminating: this.#isTerminating,
      children: [...this.#children.values()].map((child) => child.fact()),
      listeners: this.#listeners.all().map(({ key, app, scope, claim, bound }) => ({
        key,
        app,
        scope,
        claim,
        address: bound.address,
        port: bound.port,
      })),
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
    const { instanceId, app, scope = app, label, mode, slot, scheduling, isGated } = params;
    if (this.#isTerminating || this.#isLeaving) throw new KeeperError('ELEAVING', 'the keeper is leaving');
    const pipes = await this.#pipes.acquire();
    /** @type {Input | null} */
    let input = null;
    try {
      if (mode !== 'cluster') input = openInput(await this.#pipes.takeOne());
      const sockets = mode === 'fork' ? this.#listeners.ofScope(scope) : [];
      const started = await spawnProcess(params, pipes, input?.fd ?? null, sockets);
      const pid = started.pid ?? 0;
      const child = new Child({
        instanceId,
        app,
        scope,
        label,
        mode,
        slot,
        scheduling,
        isGated,
        pid,
        startedAtMs: Date.now(),
        outPipe: pipes.outPipe,
        errPipe: pipes.errPipe,
        pipes,
        process: started,
      });
      child.input = input?.given() ?? null;
      this.#children.set(instanceId, child);
      this.#follow(child, started);
      return {
        pid,
        outPipe: pipes.outPipe,
        errPipe: pipes.errPipe,
        startedAtMs: child.startedAtMs,
        bootedAtMs: child.bootedAtMs,
      };
    } catch (error) {
      input?.close();
      this.#pipes.giveBack(pipes);
      throw error;
    }
  }

  /**
   * @param {Child} child
   * @param {ChildProcess} started
   */
  #follow(child, started) {
    started.on('internalMessage', (message, handle) => {
      if (message?.cmd === AGENT_CMD) this.#desk.receive(child, message, handle);
    });
    started.on('message', (message, handle) => {
      // An app that sends us a socket would leave a copy open here.
      if (handle) closeHandle(/** @type {{ close?: () => void, destroy?: () => void }} */ (handle));
      if (message !== 'ready') return this.#messages.receive(child, message);
      if (child.isReady) return;
      child.isReady = true;
      this.#emit('ready', { instanceId: child.instanceId });
    });
    started.once('disconnect', () => this.#desk.disconnected(child));
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
    this.#lookAfter.delete(child.instanceId);
    this.#emit('exited', { instanceId: child.instanceId, ...exit });
    this.#desk.ended(child);
    sweep(child, this.#tools).then(
      () => this.#emit('gone', { instanceId: child.instanceId, report: child.report }),
      (error) => this.#log('sweep-failed', { instanceId: child.instanceId, ...describeError(error) }),
    );
  }

  /** @param {RetireParams} params */
  async retire(params) {
    const child = await this.#known(params.instanceId);
    if (child.exit) return;
    const isDone = retire(child, params, this.#tools);
    this.#desk.rotationChanged(child);
    isDone.catch((error) => this.#log('retire-failed', { instanceId: params.instanceId, ...describeError(error) }));
  }

  /** @param {{ instanceId: string, signal: NodeJS.Signals }} params */
  async signal({ instanceId, signal }) {
    const child = await this.#known(instanceId);
    if (child.exit) throw new KeeperError('ESRCH', `instance ${instanceId} has ended`);
    process.kill(child.pid, signal);
  }

  /** @param {string} instanceId */
  async forget(instanceId) {
    const child = await this.#known(instanceId);
    if (!child.isGone) throw new KeeperError('EBUSY', `instance ${instanceId} is not gone yet`);
    this.#children.delete(instanceId);
    if (child.pipes) this.#pipes.giveBack(child.pipes);
    else this.#pipes.remove([child.outPipe, child.errPipe]);
    if (this.#isLeaving) this.#leaveIfEmpty();
  }

  /**
   * @param {string} app
   * @param {string} [scope]
   */
  release(app, scope) {
    this.#desk.release((one) => one.app === app && (scope === undefined || one.scope === scope));
  }

  /** @param {AdoptParams} params */
  adopt(params) {
    const {
      instanceId,
      app,
      scope = app,
      label,
      mode,
      pid,
      startTicks,
      startedAtMs = Date.now(),
      outPipe,
      errPipe,
    } = params;
    if (this.#children.has(instanceId)) throw new KeeperError('EEXIST', `instance ${instanceId} exists`);
    const child = new Child({
      instanceId,
      app,
      scope,
      label,
      mode,
      pid,
      startTicks,
      startedAtMs,
      outPipe,
      errPipe,
      pipes: null,
      process: null,
    });
    this.#children.set(instanceId, child);
    child.attach(this.#orphanLines.get(instanceId) ?? null);
    this.#lookAfter.set(
      instanceId,
      watchForeign(pid, startTicks, () => this.#onExit(child, null, null)),
    );
  }

  /** @returns {DoorEvents} */
  get doorEvents() {
    return {
      onOrphan: (line) => {
        this.#orphanLines.set(line.instanceId, line);
        this.#children.get(line.instanceId)?.attach(line);
        this.#desk.retryWaiting();
      },
      onOrphanMessage: (instanceId, message) => {
        const child = this.#children.get(instanceId);
        if (child) this.#desk.receive(child, message);
      },
      onOrphanGone: (instanceId) => {
        this.#orphanLines.delete(instanceId);
        this.#children.get(instanceId)?.attach(null);
        this.#lookAfter.get(instanceId)?.();
      },
    };
  }

  /** Control is gone: nobody hears what apps say. */
  hush() {
    this.#messages.hush();
  }

  /**
   * Before it makes way for another keeper: what is being started is there, and connections on
   * their way through us have arrived.
   */
  async settle() {
    await Promise.allSettled(this.#inFlight.values());
    await this.#desk.settle();
  }

  /** Ends the keeper once nothing is left to keep. */
  leave() {
    this.#isLeaving = true;
    this.#leaveIfEmpty();
  }

  /**
   * SIGTERM: control stops everything in order, with the grace of each app, and then asks us to
   * leave.
   */
  terminate() {
    this.#isTerminating = true;
    this.#emit('terminating', {});
  }

  /**
   * What is done when control does not.
   * @param {number} killTimeoutMs
   */
  async retireAll(killTimeoutMs) {
    const alive = [...this.#children.values()].filter((child) => !child.exit);
    for (const { instanceId } of alive)
      void this.retire({ instanceId, killTimeoutMs, signal: null, drain: 'finish', tree: true });
    await Promise.all(alive.map((child) => child.wentAway));
  }

  /** Paths that processes of this keeper write to, or of an earlier one that were adopted. */
  get pipesInUse() {
    return new Set([...this.#children.values()].flatMap(({ outPipe, errPipe }) => [outPipe, errPipe]));
  }

  #leaveIfEmpty() {
    if ([...this.#children.values()].every((child) => child.isGone)) this.#onEmpty();
  }

  /**
   * A request may follow the spawn of its instance closely: it waits until that is through.
   * @param {string} instanceId
   */
  async #known(instanceId) {
    await this.#inFlight.get(instanceId)?.catch(() => {}); // Its failure is the answer to the spawn.
    const child = this.#children.get(instanceId);
    if (!child) throw new KeeperError('ESRCH', `no instance ${instanceId}`);
    return child;
  }
}

/** @param {{ close?: () => void, destroy?: () => void }} handle  A socket or a server. */
function closeHandle(handle) {
  if (handle.destroy) handle.destroy();
  else handle.close?.();
}
