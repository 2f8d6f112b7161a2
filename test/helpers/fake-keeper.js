import { EventEmitter } from 'node:events';

/** @import { Clock } from '../../daemon/control/host/clock.js' */
/** @import { ChildSnapshot, Port } from '../../daemon/control/keeper-link/link.js' */

/**
 * Times in ms after the start. An event without a time or a default does not happen.
 * @typedef {object} Behaviour
 * @property {string} [refuses]  The spawn fails with this error code.
 * @property {number} [spawnsAfterMs]  Then the keeper knows the instance. Default: at once.
 * @property {number} [bootsAfterMs]  Until then, the event loop of the instance is blocked.
 *   Infinity: the loop is not blocked, but the instance never reports a boot. Default: at once.
 * @property {number} [listensAfterMs]
 * @property {number} [readyAfterMs]
 * @property {number} [exitsAfterMs]
 * @property {number} [code]
 * @property {string} [signal]
 * @property {number} [stopsAfterMs]  After a retire. Default 5.
 * @property {number} [goneAfterMs]  After the exit. Default 1.
 * @property {number[]} [ports]  Default: 3000.
 * @property {boolean} [isHung]
 */

/** @typedef {Port & { cut: () => void, isCut: boolean }} FakePort */

/**
 * @typedef {object} FakeFact
 * @property {string} scope
 * @property {string} startTicks
 * @property {Behaviour} behaviour
 * @property {Record<string, string>} env
 * @property {(() => void)[]} timers
 */

/** @typedef {ChildSnapshot & FakeFact} FakeChild */

/**
 * @typedef {object} ProfileAnswer
 * @property {{ code: string, message: string } | null} failure
 * @property {number} bytes
 * @property {any} stack
 */

/** Messages arrive a microtask after they were sent, in order. */
export class FakeKeeper {
  /** @type {Map<string, FakeChild>} */
  children = new Map();
  /** @type {Map<string, unknown>} */
  notes = new Map();
  /** @type {{ verb: string, params: any }[]} */
  requests = [];
  /** @type {Set<string>} */
  released = new Set();
  /** @type {Map<string, number>} Interval of each one's samples, in ms. */
  watched = new Map();
  isHeard = false;
  /** @type {Map<string, [type: string, name: string, text: string][]>} */
  metadata = new Map();
  /** @type {Map<string, object>} */
  reports = new Map();
  /** @type {{ instanceId: string, message?: unknown, text?: string, token?: string }[]} */
  sent = [];
  /** Returns an error code to refuse a message. @type {(params: any) => string | void} */
  takes = () => {};
  /** @type {(instanceId: string, question: any) => ProfileAnswer} */
  profiles = () => ({ failure: null, bytes: 7, stack: null });
  /** Each function ends one profile. @type {(() => void)[]} */
  profileEnds = [];
  /** Verbs that this version does not know. @type {Set<string>} */
  lacks = new Set();
  /** False: no reports of boots, as in an earlier version of the keeper. */
  knowsBoots = true;
  isTerminating = false;
  hasLeft = false;
  digest = 'fake';
  /** The installation that the keeper starts control from. */
  root = '/fake';
  /** An installation whose control failed, so the keeper left it. @type {string | null} */
  refusedRoot = null;
  /** @type {'unready' | 'crashed' | 'silent' | null} */
  refusedWhy = null;
  /** The keeper dies when it receives this verb, before it acts. @type {string | null} */
  diesAt = null;
  /** False: this request waits for ever. @type {(verb: string) => boolean} */
  answers = () => true;
  /** @type {(params: any) => Behaviour} */
  behave = () => ({ listensAfterMs: 10 });
  /** @type {(verb: string, params: any) => void} */
  onDone = () => {};
  #clock;
  #nextPid;
  /** @type {FakePort | null} */
  #port = null;
  /** @type {Map<string, Behaviour>} */
  #behaviours = new Map();
  #spawning = 0;
  /** @type {(() => void)[]} Snapshots that wait for them. */
  #afterSpawning = [];

  /**
   * @param {Clock} clock
   * @param {{ firstPid?: number }} [o]
   */
  constructor(clock, { firstPid = 1000 } = {}) {
    this.#clock = clock;
    this.#nextPid = firstPid;
  }

  get alive() {
    return [...this.children.values()].filter((child) => !child.exit);
  }

  /**
   * @param {object} [o]
   * @param {(message: any) => boolean} [o.mayPass]  Called for each message of control. If it
   *   returns false, control is dead from then on.
   */
  connect({ mayPass = () => true } = {}) {
    this.#port?.cut();
    this.isHeard = false;
    const emitter = new EventEmitter();
    /** @type {FakePort} */
    const port = {
      isCut: false,
      cut() {
        port.isCut = true;
      },
      send: (message, _handle, _options, onSent) => {
        if (!port.isCut && !mayPass(message)) port.cut();
        if (port.isCut) return;
        queueMicrotask(() => {
          this.#receive(/** @type {any} */ (message), port);
          onSent?.(null);
        });
      },
      on: (event, listener) => emitter.on(event, (...args) => !port.isCut && listener(...args)),
      off: (event) => emitter.removeAllListeners(event),
    };
    Object.assign(port, { emitter });
    this.#port = port;
    return port;
  }

  /** The keeper dies, but its processes continue to run. */
  die() {
    const port = /** @type {any} */ (this.#port);
    this.#port = null;
    for (const child of this.children.values()) for (const cancel of child.timers) cancel();
    port?.emitter.emit('disconnect');
  }

  /**
   * @param {string} instanceId
   * @param {{ code?: number | null, signal?: string | null }} [how]
   */
  exit(instanceId, { code = null, signal = null } = {}) {
    const child = this.children.get(instanceId);
    if (!child || child.exit) return;
    for (const cancel of child.timers) cancel();
    child.exit = { code, signal, atMs: this.#clock.nowMs() };
    this.#emit('exited', { instanceId, ...child.exit });
    this.#later(child, child.behaviour.goneAfterMs ?? 1, () => {
      child.isGone = true;
      this.#emit('gone', { instanceId, report: this.reports.get(instanceId) ?? null });
    });
  }

  /**
   * @param {string} instanceId
   * @param {number} [port]
   */
  listen(instanceId, port = 3000) {
    const child = this.children.get(instanceId);
    if (!child || child.exit) return;
    const address = { address: '::', port, family: 'IPv6' };
    child.addresses.push(address);
    if (this.knowsBoots) child.bootedAtMs ??= this.#clock.nowMs();
    this.#emit('listening', { instanceId, ...address });
  }

  /** @param {string} instanceId */
  boot(instanceId) {
    const child = this.children.get(instanceId);
    if (!child || child.exit || child.bootedAtMs !== null) return;
    child.bootedAtMs = this.#clock.nowMs();
    this.#emit('booted', { instanceId, atMs: child.bootedAtMs });
  }

  /** @param {string} instanceId */
  ready(instanceId) {
    const child = this.children.get(instanceId);
    if (!child || child.exit) return;
    child.isReady = true;
    this.#emit('ready', { instanceId });
  }

  /**
   * @param {string} instanceId
   * @param {{ responses?: number, errors?: number, delayP99Ms?: number, connections?: number }} vitals
   */
  tellVitals(instanceId, { responses = 0, errors = 0, delayP99Ms = 1, connections = 0 }) {
    if (!this.watched.get(instanceId)) throw new Error(`nobody watches ${instanceId}`);
    this.#emit('vitals', { instanceId, responses, errors, delayP99Ms, connections });
  }

  /**
   * @param {string} instanceId
   * @param {unknown} message
   */
  say(instanceId, message) {
    if (this.isHeard) this.#emit('app-message', { instanceId, text: JSON.stringify(message) });
  }

  /**
   * @param {string} instanceId
   * @param {number} count
   */
  miss(instanceId, count) {
    if (this.isHeard) this.#emit('app-messages-dropped', { instanceId, count });
  }

  ask() {
    this.#emit('ping', {});
  }

  terminate() {
    this.isTerminating = true;
    this.#emit('terminating', {});
  }

  /**
   * @param {any} message
   * @param {FakePort} port
   */
  #receive(message, port) {
    const { verb, params } = message;
    this.requests.push({ verb, params });
    if (verb === this.diesAt) return this.die();
    if (!this.answers(verb)) return;
    if (verb === 'snapshot' && this.#spawning > 0)
      return void this.#afterSpawning.push(() => this.#respond(message, port));
    const heldUpMs = verb === 'ping' ? this.#heldUpMs(params.instanceId) : 0;
    if (heldUpMs > params.timeoutMs)
      return void this.#clock.after(params.timeoutMs, () => this.#refuse(message, port, 'ETIMEDOUT'));
    if (heldUpMs > 0) return void this.#clock.after(heldUpMs, () => this.#respond(message, port));
    if (verb === 'profile' && params.question.step === 'end')
      return void this.profileEnds.push(() => this.#respond(message, port));
    const spawnMs = verb === 'spawn' ? (this.#behaviourOf(params).spawnsAfterMs ?? 0) : 0;
    if (spawnMs === 0) return this.#respond(message, port);
    this.#spawning += 1;
    this.#clock.after(spawnMs, () => {
      this.#respond(message, port);
      this.#spawning -= 1;
      if (this.#spawning === 0) for (const respond of this.#afterSpawning.splice(0)) respond();
    });
  }

  /** @param {string} instanceId */
  #heldUpMs(instanceId) {
    const { behaviour, bootedAtMs = null, startedAtMs = 0 } = this.children.get(instanceId) ?? {};
    if (behaviour?.isHung) return Infinity;
    const { bootsAfterMs = 0 } = behaviour ?? {};
    return bootedAtMs === null && Number.isFinite(bootsAfterMs)
      ? Math.max(0, startedAtMs + bootsAfterMs - this.#clock.nowMs())
      : 0;
  }

  /**
   * @param {any} message
   * @param {FakePort} port
   * @param {string} code
   */
  #refuse({ id }, port, code) {
    if (this.#port === port)
      queueMicrotask(() =>
        /** @type {any} */ (port).emitter.emit('message', {
          v: 1,
          id,
          error: { code, message: `refused with ${code}` },
        }),
      );
  }

  /** @param {any} params */
  #behaviourOf(params) {
    const known = this.#behaviours.get(params.instanceId) ?? this.behave(params);
    this.#behaviours.set(params.instanceId, known);
    return known;
  }

  /**
   * @param {any} message
   * @param {FakePort} port
   */
  #respond({ id, verb, params }, port) {
    const answer = (/** @type {object} */ result) =>
      this.#port === port &&
      queueMicrotask(() => /** @type {any} */ (port).emitter.emit('message', { v: 1, id, ...result }));
    try {
      answer({ ok: structuredClone(this.#answer(verb, structuredClone(params))) ?? {} });
      this.onDone(verb, params);
    } catch (error) {
      answer({
        error: { code: /** @type {any} */ (error).code ?? 'EFAILED', message: /** @type {Error} */ (error).message },
      });
    }
  }

  /**
   * @param {string} verb
   * @param {any} params
   * @returns {any}
   */
  #answer(verb, params) {
    if (this.lacks.has(verb)) throw refusal('ENOSYS');
    switch (verb) {
      case 'snapshot':
        return this.#snapshot();
      case 'spawn':
        return this.#spawn(params);
      case 'retire':
        return this.#retire(this.#known(params.instanceId));
      case 'signal':
        return this.exit(params.instanceId, { signal: params.signal });
      case 'forget': {
        if (!this.#known(params.instanceId).isGone) throw refusal('EBUSY');
        return void this.children.delete(params.instanceId);
      }
      case 'release':
        return void this.released.add(params.scope ?? params.app);
      case 'note':
        return void (params.value === null ? this.notes.delete(params.key) : this.notes.set(params.key, params.value));
      case 'adopt':
        return void this.children.set(params.instanceId, {
          ...this.#newChild(params, { stopsAfterMs: 5 }),
          ...params,
          isAdopted: true,
        });
      case 'leave':
        this.hasLeft = true;
        return {};
      case 'ping':
        return void this.#living(params.instanceId);
      case 'admit':
        return void (this.#living(params.instanceId).isGated = false);
      case 'park':
        return void (this.#living(params.instanceId).isParked = true);
      case 'unpark':
        return void (this.#living(params.instanceId).isParked = false);
      case 'sample':
        return void this.watched.set(this.#living(params.instanceId).instanceId, params.everyMs);
      case 'subscribe-messages':
        this.isHeard = params.isOn;
        return {};
      case 'app-metadata':
        return { metadata: Object.fromEntries(this.metadata) };
      case 'reports':
        return { reports: Object.fromEntries(this.reports) };
      case 'send-message':
      case 'write':
        return this.#take(params);
      case 'profile':
        return this.profiles(this.#living(params.instanceId).instanceId, params.question);
      case 'inspect':
        this.#living(params.instanceId);
        return { url: params.isOn ? 'ws://127.0.0.1:1/x' : null, was: null };
      case 'use-installation':
        this.root = params.root;
        this.refusedRoot = null;
        return {};
      case 'abdicate':
        return this.die();
      case 'control-ready':
      case 'pong':
      case 'inherit':
        return {};
      default:
        throw refusal('ENOSYS');
    }
  }

  /** @param {any} params */
  #take(params) {
    this.#living(params.instanceId);
    const code = this.takes(params);
    if (code) throw refusal(code);
    if (
      params.token &&
      this.sent.some(({ instanceId, token }) => instanceId === params.instanceId && token === params.token)
    )
      return { isRepeated: true };
    this.sent.push(params);
    return { isRepeated: false };
  }

  #snapshot() {
    const children = [...this.children.values()].map(({ behaviour: _b, env: _e, timers: _t, ...fact }) =>
      fact.isGone ? { ...fact, report: this.reports.get(fact.instanceId) ?? null } : fact,
    );
    return {
      version: '0.0.0',
      protocol: 1,
      pid: 1,
      startedAtMs: 0,
      digest: this.digest,
      root: this.root,
      refusedRoot: this.refusedRoot,
      refusedWhy: this.refusedWhy,
      isTerminating: this.isTerminating,
      children,
      listeners: [],
      notes: Object.fromEntries(this.notes),
    };
  }

  /** @param {any} params */
  #spawn(params) {
    const behaviour = this.#behaviourOf(params);
    if (behaviour.refuses) throw refusal(behaviour.refuses);
    if (this.isTerminating) throw refusal('ELEAVING');
    const child = this.#newChild(params, behaviour);
    this.children.set(params.instanceId, child);
    const { instanceId } = params;
    if (Number.isFinite(behaviour.bootsAfterMs))
      this.#later(child, behaviour.bootsAfterMs, () => this.boot(instanceId));
    this.#later(child, behaviour.listensAfterMs, () =>
      (behaviour.ports ?? [3000]).forEach((port) => this.listen(instanceId, port)),
    );
    this.#later(child, behaviour.readyAfterMs, () => this.ready(instanceId));
    this.#later(child, behaviour.exitsAfterMs, () =>
      this.exit(instanceId, {
        code: behaviour.signal ? null : (behaviour.code ?? 1),
        signal: behaviour.signal ?? null,
      }),
    );
    return {
      pid: child.pid,
      outPipe: child.outPipe,
      errPipe: child.errPipe,
      startedAtMs: child.startedAtMs,
      bootedAtMs: child.bootedAtMs,
    };
  }

  /**
   * @param {any} params
   * @param {Behaviour} behaviour
   * @returns {FakeChild}
   */
  #newChild({ instanceId, app, scope = app, label, mode, env = {}, isGated = false }, behaviour) {
    const pid = this.#nextPid++;
    return {
      instanceId,
      app,
      scope,
      label,
      mode,
      env,
      pid,
      startTicks: String(pid),
      startedAtMs: this.#clock.nowMs(),
      bootedAtMs: this.knowsBoots ? (behaviour.bootsAfterMs === undefined ? this.#clock.nowMs() : null) : undefined,
      outPipe: null,
      errPipe: null,
      addresses: [],
      listenFailure: null,
      isReady: false,
      isRetiring: false,
      isAdopted: false,
      isGated,
      isParked: false,
      exit: null,
      isGone: false,
      behaviour,
      timers: [],
    };
  }

  /** @param {FakeChild} child */
  #retire(child) {
    if (child.exit || child.isRetiring) return;
    child.isRetiring = true;
    this.#later(child, child.behaviour.stopsAfterMs ?? 5, () => this.exit(child.instanceId, { signal: 'SIGINT' }));
  }

  /**
   * @param {FakeChild} child
   * @param {number | undefined} ms
   * @param {() => void} act
   */
  #later(child, ms, act) {
    if (ms !== undefined) child.timers.push(this.#clock.after(ms, act));
  }

  /** @param {string} instanceId */
  #known(instanceId) {
    const child = this.children.get(instanceId);
    if (!child) throw refusal('ESRCH');
    return child;
  }

  /** @param {string} instanceId */
  #living(instanceId) {
    const child = this.#known(instanceId);
    if (child.exit) throw refusal('ESRCH');
    return child;
  }

  /**
   * @param {string} event
   * @param {object} data
   */
  #emit(event, data) {
    const port = /** @type {any} */ (this.#port);
    if (port) queueMicrotask(() => port.emitter.emit('message', { v: 1, event, data: structuredClone(data) }));
  }
}

/** @param {string} code */
function refusal(code) {
  return Object.assign(new Error(`refused with ${code}`), { code });
}

/**
 * Waits until every message that is on its way has arrived.
 * @returns {Promise<void>}
 */
export function settle() {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
