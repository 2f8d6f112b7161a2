// Connections go to the worker that can take them. Workers accept for themselves; one that has more
// than its share passes the connection it has just accepted, and not read, to the keeper, who gives
// it to the least loaded. (docs/balancing.md)
'use strict';

const clock = require('./isolation.cjs');

/** @import { Claim } from './bind.cjs' */
/** @import { Channel } from './channel.cjs' */
/** @import { SocketClaims } from './socket-claims.cjs' */

/**
 * Above the fair share: at least so many, and this part of the share. Passing on costs more than a
 * small difference.
 */
const SLACK = 2;
const SLACK_PART = 0.2;
/**
 * Connections that end at once need no balance, and passing one on costs more than serving it: who
 * has closed many lately may have more. With a client that opens a connection for each request, 4
 * workers passed on every third.
 */
const CHURN_SPAN_MS = 100;
const CHURN_SLACK_MAX = 32;

/** One worker's view. */
class Balance {
  #channel;
  #sockets;
  #isSticky;
  #nowMono;
  /**
   * The fair share, Infinity for one that is alone. Until the keeper has said so, nobody knows that
   * there are no others.
   */
  #share = 0;
  /**
   * Connections accepted in the span that began then, and those that were open at its beginning.
   */
  #span = { sinceMono: 0, accepted: 0, open: 0 };
  #churnSlack = 0;
  /**
   * Connections on their way to another worker, by number, and how to keep them after all.
   * @type {Map<number, { client: any, keep: () => void }>}
   */
  #passing = new Map();
  #lastSeq = 0;

  /**
   * @param {Channel} channel
   * @param {SocketClaims} sockets
   * @param {string} scheduling
   * @param {() => number} [nowMono]
   */
  constructor(channel, sockets, scheduling, nowMono = clock.nowMono) {
    this.#nowMono = nowMono;
    this.#channel = channel;
    this.#sockets = sockets;
    this.#isSticky = scheduling === 'sticky';
    channel.on('share', ({ share }) => this.#setShare(share));
    channel.on('placed', ({ seq }) => this.#settle(seq, true));
    channel.on('connection', ({ seq, claim }, handle) => this.#take(seq, claim, handle));
  }

  /** Whether a connection is on its way to another worker. */
  get isPassing() {
    return this.#passing.size > 0;
  }

  /**
   * The keeper has died, and what it had not placed was closed with it: but our copies are open.
   */
  lost() {
    for (const seq of [...this.#passing.keys()]) this.#settle(seq, false);
  }

  /**
   * @param {any} listening  The handle of a server.
   * @param {Claim} claim
   */
  wrap(listening, claim) {
    const accept = listening.onconnection;
    const balance = this;
    /**
     * @this {any}
     * @param {number} status
     * @param {any} [client]
     */
    function onconnection(status, client) {
      if (client && balance.#isTooMuch()) balance.#passOn(client, claim, () => accept.call(this, 0, client));
      else accept.call(this, status, client);
    }
    listening.accept = accept;
    listening.onconnection = onconnection;
  }

  /** @param {number | null} share  null: there is nobody to share with. */
  #setShare(share) {
    this.#share = share ?? Infinity;
  }

  #isTooMuch() {
    if (this.#share === Infinity || !this.#channel.isOpen()) return false;
    if (this.#isSticky) return true;
    const { open } = this.#sockets.servers;
    this.#measureChurn(open);
    // Its connections have ended; nobody tells what the share is now until somebody has too many.
    if (open < this.#share / 2) this.#share = open;
    return open >= this.#share + Math.max(SLACK, Math.floor(this.#share * SLACK_PART), this.#churnSlack);
  }

  /** @param {number} open */
  #measureChurn(open) {
    const span = this.#span;
    span.accepted += 1;
    const nowMono = this.#nowMono();
    if (nowMono - span.sinceMono < CHURN_SPAN_MS) return;
    const closed = span.accepted - (open - span.open);
    this.#churnSlack =
      nowMono - span.sinceMono < 2 * CHURN_SPAN_MS ? Math.min(CHURN_SLACK_MAX, Math.floor(closed / 2)) : 0;
    this.#span = { sinceMono: nowMono, accepted: 0, open };
  }

  /**
   * @param {any} client
   * @param {Claim} claim
   * @param {() => void} keep
   */
  #passOn(client, claim, keep) {
    this.#span.accepted -= 1;
    const seq = (this.#lastSeq += 1);
    this.#passing.set(seq, { client, keep });
    const { open } = this.#sockets.servers;
    this.#channel.say({ act: 'overflow', seq, claim, open }, client, (error) => {
      if (error) this.#settle(seq, false);
    });
  }

  /**
   * @param {number} seq
   * @param {boolean} isPlaced
   */
  #settle(seq, isPlaced) {
    const { client, keep } = this.#passing.get(seq) ?? {};
    this.#passing.delete(seq);
    // Node does not close raw handles that it has sent, and a client waits as long as one copy is
    // open.
    if (isPlaced) client?.close();
    else keep?.();
  }

  /**
   * @param {number} seq
   * @param {Claim} claim
   * @param {any} client
   */
  #take(seq, claim, client) {
    const listening = this.#sockets.findHandle(claim);
    this.#channel.say({ act: listening ? 'took' : 'declined', seq });
    if (!listening) return client?.close();
    // What the app throws is the app's, as with a connection that it has accepted itself.
    process.nextTick(() => listening.accept.call(listening, 0, client));
  }
}

module.exports.Balance = Balance;
