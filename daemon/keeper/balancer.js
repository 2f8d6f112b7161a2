// Workers accept connections and pass on only the connections above their fair share
// (daemon/agent/balance.cjs). The keeper finds other workers for these connections:
//
//   overflow ----> queue -> request the load of the other workers, and wait up to 50 ms: a blocked
//                           worker does not answer, and gets no offer until it answers
//                        -> offer the connection to a worker with less than the mean load
//                        -> accepted: close the copy of the keeper
//
// The sender closes its copy when the keeper reports that the connection is on its way to a worker
// ("placed"). If the keeper is killed before that, the sender keeps the connection.
import { leastLoaded, meanLoad, stickyTarget } from './schedules.js';

/** @import { Child } from './child.js' */
/** @import { Claim, Handle, Listeners } from './sockets/listeners.js' */

const BLOCKED_MS = 50;
const CHANNEL_POLL_MS = 5;
/**
 * Limit of the waiting connections of one scope. Each connection takes a descriptor, and a hostile
 * worker may accept nothing.
 */
const WAITING_MAX = 8_192;
const CLOSE_MS = 1_000;

/**
 * @typedef {object} Waiting
 * @property {string} scope
 * @property {Claim} claim
 * @property {Handle} handle
 * @property {boolean} isSticky
 * @property {() => void} reportPlaced
 *
 * @typedef {object} Round  One request for the loads of all workers, while connections wait.
 * @property {string} scope
 * @property {Set<Child>} answered  In the order of the answers, which decides between equal loads.
 * @property {Set<Child>} awaited
 * @property {NodeJS.Timeout} timer
 */

export class Balancer {
  #children;
  #listeners;
  /** @type {Waiting[]} */
  #queue = [];
  /**
   * By seq: the connections that the keeper has offered to a worker. The keeper holds its copy of a
   * connection until the worker accepts the connection.
   * @type {Map<number, Waiting & { worker: Child }>}
   */
  #offers = new Map();
  #lastSeq = 0;
  /** Number of queued and offered connections, by scope. @type {Map<string, number>} */
  #waitingCounts = new Map();
  /** @type {Map<string, Round>} */
  #rounds = new Map();
  #isClosing = false;

  /** @param {{ listeners: Listeners, children: () => Iterable<Child> }} o */
  constructor({ listeners, children }) {
    this.#listeners = listeners;
    this.#children = children;
  }

  /**
   * @param {Child} child
   * @param {{ seq: number, claim: Claim, open: number }} message
   * @param {Handle} handle
   * @returns {boolean}  false: too many connections wait, so the keeper closed this connection.
   */
  onOverflow(child, { seq, claim, open }, handle) {
    child.open = Math.max(0, open);
    child.share = undefined; // The agent may have changed its share, so send the next share in any case.
    let isReported = false;
    const reportPlaced = () => {
      if (!isReported) child.tell({ act: 'placed', seq });
      isReported = true;
    };
    const { scope, scheduling, isInRotation } = child;
    const waiting = { scope, claim, handle, isSticky: scheduling === 'sticky', reportPlaced };
    const count = (this.#waitingCounts.get(scope) ?? 0) + 1;
    this.#waitingCounts.set(scope, count);
    if (count <= WAITING_MAX) this.#findWorker(waiting, isInRotation ? child : null);
    else this.#drop(waiting);
    return count <= WAITING_MAX;
  }

  /**
   * @param {Child} child
   * @param {number} seq
   */
  onAccepted(child, seq) {
    const offer = this.#endOffer(child, seq);
    if (!offer) return;
    this.#letGo(offer);
    child.open += 1;
  }

  /**
   * Called if the worker left the rotation, or exited, before it accepted the connection.
   * @param {Child} child
   * @param {number} seq
   */
  onDeclined(child, seq) {
    const offer = this.#endOffer(child, seq);
    if (offer) this.#findWorker(offer, null);
  }

  /** @param {string} scope */
  onRotationChanged(scope) {
    const workers = this.#workersOf(scope);
    this.#sendShare(workers, workers.length > 1 ? 0 : null);
    for (const waiting of this.#dequeue((one) => one.scope === scope)) this.#findWorker(waiting, null);
  }

  /** @param {Child} child */
  onExit(child) {
    child.askedMono = null;
    const round = this.#rounds.get(child.scope);
    round?.answered.delete(child);
    round?.awaited.delete(child);
    if (round) this.#assign(round);
    this.onRotationChanged(child.scope);
    this.#takeBackOffers(child);
  }

  /**
   * @param {string} scope
   * @param {(claim: Claim) => boolean} isReleased
   */
  onReleased(scope, isReleased) {
    this.#dequeue((one) => one.scope === scope && isReleased(one.claim)).forEach((one) => this.#drop(one));
  }

  /**
   * From now on, workers keep all connections that they accept. Resolves when all passed-on
   * connections have arrived, or after CLOSE_MS.
   * @returns {Promise<void>}
   */
  async close() {
    this.#isClosing = true;
    const workers = [...this.#children()].filter((one) => one.isInRotation);
    this.#sendShare(workers, null);
    const endMono = performance.now() + CLOSE_MS;
    while (this.#queue.length + this.#offers.size > 0 && performance.now() < endMono)
      await new Promise((resolve) => setTimeout(resolve, CHANNEL_POLL_MS));
  }

  /**
   * @param {Waiting} waiting
   * @param {Child | null} sender  A worker in rotation. Its load came with the connection.
   */
  #findWorker(waiting, sender) {
    const { scope, claim, handle, isSticky } = waiting;
    if (!this.#listeners.get(scope, claim)) return this.#drop(waiting);
    if (isSticky) return this.#offer(stickyTarget(this.#eligible(this.#workersOf(scope), waiting), handle), waiting);
    this.#queue.push(waiting);
    const round = this.#rounds.get(scope) ?? this.#startRound(scope);
    if (sender) {
      round.answered.add(sender);
      round.awaited.delete(sender);
    }
    this.#askForLoads(round);
    this.#assign(round);
  }

  /**
   * @param {string} scope
   * @returns {Round}
   */
  #startRound(scope) {
    const giveUpOnBlocked = () => {
      round.awaited.clear();
      this.#assign(round);
    };
    const timer = setTimeout(giveUpOnBlocked, BLOCKED_MS);
    const round = { scope, answered: new Set(), awaited: new Set(), timer };
    this.#rounds.set(scope, round);
    return round;
  }

  /** @param {Round} round */
  #askForLoads({ scope, answered, awaited, timer }) {
    for (const one of this.#workersOf(scope)) {
      if (answered.has(one) || awaited.has(one) || !this.#askForLoad(one)) continue;
      awaited.add(one);
      timer.refresh();
    }
  }

  /**
   * @param {Child} child
   * @returns {boolean}
   */
  #askForLoad(child) {
    if (child.askedMono !== null) return performance.now() - child.askedMono < BLOCKED_MS;
    child.askedMono = performance.now();
    return child.ask({ act: 'ping' }, () => {
      child.askedMono = null;
      const round = this.#rounds.get(child.scope);
      round?.answered.add(child);
      round?.awaited.delete(child);
      if (round) this.#assign(round);
    });
  }

  /**
   * While answers are awaited, offers connections only to workers below the mean load. After that,
   * offers connections to the least loaded worker.
   * @param {Round} round
   */
  #assign({ scope, answered, awaited, timer }) {
    const workers = this.#workersOf(scope);
    const queue = this.#queue.filter((one) => one.scope === scope);
    const mean = meanLoad(workers, queue.length);
    let assigned = 0;
    for (const waiting of queue) {
      const worker = leastLoaded(this.#eligible([...answered], waiting));
      if (!worker || (awaited.size > 0 && worker.load >= mean)) break;
      assigned += 1;
      this.#queue.splice(this.#queue.indexOf(waiting), 1);
      this.#offer(worker, waiting);
    }
    // A connection without a worker waits until a blocked worker answers, or the rotation changes.
    if (assigned < queue.length && (awaited.size > 0 || workers.some(({ askedMono }) => askedMono !== null))) return;
    clearTimeout(timer);
    this.#rounds.delete(scope);
    if (workers.length > 1) this.#sendShare(workers, meanLoad(workers));
  }

  /**
   * @param {Child | null} worker  If null or not reachable, the connection waits until the rotation
   *   changes.
   * @param {Waiting} waiting
   */
  #offer(worker, waiting) {
    const seq = (this.#lastSeq += 1);
    if (!worker?.tell({ act: 'connection', seq, claim: waiting.claim }, waiting.handle, waiting.reportPlaced))
      return void this.#queue.push(waiting);
    worker.coming += 1;
    this.#offers.set(seq, { ...waiting, worker });
  }

  /**
   * @param {Child} child
   * @param {number} seq
   */
  #endOffer(child, seq) {
    const offer = this.#offers.get(seq);
    if (offer?.worker !== child) return undefined;
    this.#offers.delete(seq);
    child.coming -= 1;
    return offer;
  }

  /**
   * @param {Child} child  Has exited. The keeper may not have read yet that the child accepted a
   *   connection.
   */
  #takeBackOffers(child) {
    const lost = [...this.#offers].filter(([, { worker }]) => worker === child).map(([seq]) => seq);
    if (lost.length > 0 && child.isReachable)
      return void setTimeout(() => this.#takeBackOffers(child), CHANNEL_POLL_MS);
    for (const seq of lost) this.onDeclined(child, seq);
  }

  /**
   * @param {(waiting: Waiting) => boolean} isMeant
   * @returns {Waiting[]}
   */
  #dequeue(isMeant) {
    const taken = this.#queue.filter(isMeant);
    this.#queue = this.#queue.filter((one) => !isMeant(one));
    return taken;
  }

  /** @param {string} scope */
  #workersOf(scope) {
    return [...this.#children()].filter((one) => one.scope === scope && one.isInRotation);
  }

  /**
   * @param {Child[]} children
   * @param {Waiting} waiting
   */
  #eligible(children, { scope, claim }) {
    const users = this.#listeners.get(scope, claim)?.users;
    return children.filter((one) => one.isInRotation && users?.has(one.instanceId));
  }

  /**
   * @param {Child[]} workers
   * @param {number | null} mean  null: workers keep all connections.
   */
  #sendShare(workers, mean) {
    const share = mean === null || this.#isClosing ? null : Math.ceil(mean);
    for (const one of workers) {
      if (one.share === share || one.scheduling === 'os') continue;
      one.share = share;
      one.tell({ act: 'share', share });
    }
  }

  /** @param {Waiting} waiting */
  #drop(waiting) {
    this.#letGo(waiting);
    waiting.reportPlaced();
  }

  /** @param {Waiting} waiting */
  #letGo({ scope, handle }) {
    handle.close();
    const left = (this.#waitingCounts.get(scope) ?? 1) - 1;
    if (left > 0) this.#waitingCounts.set(scope, left);
    else this.#waitingCounts.delete(scope);
  }
}
