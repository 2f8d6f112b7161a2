// Who gets a connection that a worker has too many of. Workers accept for themselves
// (daemon/agent/balance.cjs); only what is above the fair share of one comes here, so that the
// keeper is not in the way of the rest. No message is sent as long as nobody overflows:
//
//   overflow ----> queue -> ask the others how many they have
//                (50 ms; one that is blocked does not answer, and gets nothing until it does)
//     -> who answers and has less than the mean gets it -> "took": close our copy
//
// The sender closes its copy when it hears that the connection is on its way to somebody
// ("placed"): should we be killed, it keeps what we had.

import { stickyTarget } from './sticky.js';

/** @import { Child } from './child.js' */
/** @import { Claim, Handle, Listeners } from './listeners.js' */

/** One that has not answered for this long is blocked, and nobody waits for it any more. */
const BLOCKED_MS = 50;
const CHANNEL_LOOK_MS = 5;
/**
 * How long a keeper that makes way waits for connections to arrive. One that a blocked worker has
 * to take may take longer.
 */
const SETTLE_MS = 1_000;

/**
 * @typedef {object} Waiting  A connection without a worker.
 * @property {string} scope
 * @property {Claim} claim
 * @property {Handle} handle
 * @property {boolean} isSticky
 * @property {() => void} placed  Tells the sender, once.
 *
 * @typedef {{ answered: Set<Child>, missing: Set<Child>, timer: NodeJS.Timeout }} Round
 */

export class Rotation {
  #children;
  #listeners;
  /** @type {Waiting[]} */
  #queue = [];
  /**
   * Given, and not yet taken: our copy lives until it is.
   * @type {Map<number, Waiting & { to: Child }>}
   */
  #given = new Map();
  #lastSeq = 0;
  /** By scope, while connections wait for somebody to answer. @type {Map<string, Round>} */
  #rounds = new Map();
  /** Questions that are open, and since when. @type {Map<Child, number>} */
  #asked = new Map();
  #isClosing = false;

  /**
   * @param {object} o
   * @param {Listeners} o.listeners
   * @param {() => Iterable<Child>} o.children
   */
  constructor({ listeners, children }) {
    this.#listeners = listeners;
    this.#children = children;
  }

  /**
   * @param {Child} child
   * @param {{ seq: number, claim: Claim, open: number }} message
   * @param {Handle} handle
   */
  overflow(child, { seq, claim, open }, handle) {
    child.open = open;
    child.share = undefined; // It may have forgotten what it was told, and did not know better.
    const { scope, scheduling } = child;
    const placed = once(() => void child.tell({ act: 'placed', seq }));
    this.#place(
      { scope, claim, handle, isSticky: scheduling === 'sticky', placed },
      isInRotation(child) ? child : null,
    );
  }

  /** @param {number} seq */
  took(seq) {
    const given = this.#arrived(seq);
    given?.handle.close();
    if (given) given.to.open += 1;
  }

  /**
   * It left the rotation while the connection was on its way.
   * @param {number} seq
   */
  declined(seq) {
    const given = this.#arrived(seq);
    if (given) this.#place(given, null);
  }

  /** @param {number} seq */
  #arrived(seq) {
    const given = this.#given.get(seq);
    this.#given.delete(seq);
    if (given) given.to.coming -= 1;
    return given;
  }

  /**
   * Who is in rotation may have changed.
   * @param {string} scope
   */
  changed(scope) {
    const members = this.#members(scope);
    this.#tellShare(members, members.length > 1 ? 0 : null);
    const waiting = this.#queue.filter((one) => one.scope === scope);
    this.#queue = this.#queue.filter((one) => one.scope !== scope);
    for (const one of waiting) this.#place(one, null);
  }

  /**
   * From now on every worker keeps what it accepts.
   * @returns {Promise<void>}  Resolves when what is here has found one.
   */
  async settle() {
    this.#isClosing = true;
    this.#tellShare(
      [...this.#children()].filter((one) => one.mode === 'cluster' && isInRotation(one)),
      null,
    );
    const endMono = performance.now() + SETTLE_MS;
    while (this.#queue.length + this.#given.size > 0 && performance.now() < endMono) {
      await new Promise((resolve) => {
        setTimeout(resolve, CHANNEL_LOOK_MS);
      });
    }
  }

  /** @param {Child} child  It has ended. */
  ended(child) {
    this.#asked.delete(child);
    this.#heard(child);
    this.changed(child.scope);
    // What it said before its end may not be read yet: who has taken a connection has perhaps
    // answered it. Its channel may close without a word.
    const look = () => {
      const lost = [...this.#given].filter(([, { to }]) => to === child).map(([seq]) => seq);
      if (lost.length > 0 && child.isReachable) return void setTimeout(look, CHANNEL_LOOK_MS);
      for (const seq of lost) this.declined(seq);
    };
    look();
  }

  /**
   * Nobody listens there any more.
   * @param {string} scope
   * @param {(claim: Claim) => boolean} isMeant
   */
  released(scope, isMeant) {
    const isGone = (/** @type {Waiting} */ one) => one.scope === scope && isMeant(one.claim);
    for (const one of this.#queue.filter(isGone)) drop(one);
    this.#queue = this.#queue.filter((one) => !isGone(one));
  }

  /**
   * @param {string} scope
   * @returns {Child[]}  Those that accept connections.
   */
  #members(scope) {
    return [...this.#children()].filter((one) => one.scope === scope && one.mode === 'cluster' && isInRotation(one));
  }

  /**
   * @param {Waiting} waiting
   * @param {Child | null} sender  Who has it, and answers: it has just spoken.
   */
  #place(waiting, sender) {
    const { scope, claim, handle, isSticky } = waiting;
    if (!this.#listeners.get(scope, claim)) return drop(waiting); // Released: as if it had come a moment later.
    if (isSticky) return this.#hand(stickyTarget(this.#able(this.#members(scope), waiting), handle), waiting);
    this.#queue.push(waiting);
    const round = this.#rounds.get(scope) ?? this.#begin(scope);
    if (sender) this.#note(round, sender);
    this.#askOthers(scope, round);
    this.#settle(scope, round);
  }

  /**
   * @param {string} scope
   * @returns {Round}
   */
  #begin(scope) {
    const round = { answered: new Set(), missing: new Set(), timer: setTimeout(() => this.#giveUp(scope), BLOCKED_MS) };
    this.#rounds.set(scope, round);
    return round;
  }

  /**
   * Those that have entered the rotation since the round began, too.
   * @param {string} scope
   * @param {Round} round
   */
  #askOthers(scope, round) {
    const others = this.#members(scope).filter(
      (one) => !round.answered.has(one) && !round.missing.has(one) && this.#ask(one),
    );
    for (const one of others) round.missing.add(one);
    if (others.length > 0) round.timer.refresh();
  }

  /**
   * @param {Child} child
   * @returns {boolean}  Whether its answer may come soon.
   */
  #ask(child) {
    const sinceMono = this.#asked.get(child);
    if (sinceMono !== undefined) return performance.now() - sinceMono < BLOCKED_MS;
    this.#asked.set(child, performance.now());
    return child.ask({ act: 'ask' }, () => {
      this.#asked.delete(child);
      const round = this.#rounds.get(child.scope);
      if (!round) return;
      this.#note(round, child);
      this.#settle(child.scope, round);
    });
  }

  /**
   * @param {Round} round
   * @param {Child} child
   */
  #note(round, child) {
    round.answered.add(child);
    round.missing.delete(child);
  }

  /** @param {Child} child  It will not answer any more. */
  #heard(child) {
    const round = this.#rounds.get(child.scope);
    if (!round) return;
    round.answered.delete(child);
    round.missing.delete(child);
    this.#settle(child.scope, round);
  }

  /**
   * Those that have not answered are blocked.
   * @param {string} scope
   */
  #giveUp(scope) {
    const round = this.#rounds.get(scope);
    if (!round) return;
    round.missing.clear();
    this.#settle(scope, round);
  }

  /**
   * Gives away what can be given now: to one that has less than the mean, or, when nobody is left
   * to wait for, to the least loaded.
   * @param {string} scope
   * @param {Round} round
   */
  #settle(scope, round) {
    const members = this.#members(scope);
    const mine = this.#queue.filter((one) => one.scope === scope);
    const mean = (members.reduce((sum, one) => sum + loadOf(one), 0) + mine.length) / members.length;
    const given = new Set();
    for (const waiting of mine) {
      const target = leastLoaded(this.#able([...round.answered], waiting));
      if (!target || (round.missing.size > 0 && loadOf(target) >= mean)) break;
      // Taken out first: what cannot be handed over is put back.
      this.#queue = this.#queue.filter((one) => one !== waiting);
      given.add(waiting);
      this.#hand(target, waiting);
    }
    // Whom nobody can take waits for the next one to enter the rotation, or for a blocked one to
    // answer.
    if (given.size < mine.length && (round.missing.size > 0 || members.some((one) => this.#asked.has(one)))) return;
    clearTimeout(round.timer);
    this.#rounds.delete(scope);
    if (members.length > 1)
      this.#tellShare(members, members.reduce((sum, one) => sum + loadOf(one), 0) / members.length);
  }

  /**
   * @param {Child[]} children
   * @param {Waiting} waiting
   */
  #able(children, { scope, claim }) {
    const users = this.#listeners.get(scope, claim)?.users;
    return children.filter((one) => isInRotation(one) && users?.has(one.instanceId));
  }

  /**
   * @param {Child | null} target
   * @param {Waiting} waiting
   */
  #hand(target, waiting) {
    const seq = (this.#lastSeq += 1);
    if (!target?.tell({ act: 'connection', seq, claim: waiting.claim }, waiting.handle, waiting.placed))
      return void this.#queue.push(waiting);
    target.coming += 1;
    this.#given.set(seq, { ...waiting, to: target });
  }

  /**
   * @param {Child[]} members
   * @param {number | null} mean  Of their connections; null for one that is alone.
   */
  #tellShare(members, mean) {
    const share = mean === null || this.#isClosing ? null : Math.ceil(mean);
    for (const one of members) {
      if (one.share === share || one.scheduling === 'os') continue;
      one.share = share;
      one.tell({ act: 'share', share });
    }
  }
}

/** @param {Child} child */
function isInRotation({ exit, retirement, isGated, isParked, addresses, isAdopted, isReachable }) {
  // One that called process.disconnect() accepts, but nothing can be given to it.
  return !exit && !retirement && !isGated && !isParked && !isAdopted && isReachable && addresses.length > 0;
}

/** @param {Waiting} waiting */
function drop({ handle, placed }) {
  handle.close();
  placed();
}

/** @param {() => void} action */
function once(action) {
  let isDone = false;
  return () => {
    if (!isDone) action();
    isDone = true;
  };
}

/**
 * Connections that it has, and those on their way to it.
 * @param {Child} child
 */
function loadOf({ open, coming }) {
  return open + coming;
}

/** @param {Child[]} children */
function leastLoaded(children) {
  return children.reduce(
    (/** @type {Child | null} */ least, one) => (least === null || loadOf(one) < loadOf(least) ? one : least),
    null,
  );
}
