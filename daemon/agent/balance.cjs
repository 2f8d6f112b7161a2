// A worker with more than its fair share of connections passes new connections to the keeper before
// it reads from them. With sticky scheduling, it passes every connection (docs/balancing.md).
'use strict';

const clock = require('./isolation.cjs');

/** @import { Claim } from './bind.cjs' */
/** @import { Channel } from './channel.cjs' */
/** @import { SocketClaims } from './socket-claims.cjs' */

/** A worker keeps this many connections above its share, because passing them on is not free. */
const SLACK = 2;
/** Like SLACK, but as a part of the share. The largest slack applies. */
const SLACK_PART = 0.2;
const CHURN_SPAN_MS = 100;
/**
 * Maximum of the extra slack for short connections. This slack exists because passing on a short
 * connection costs more than serving it. Without the slack, 4 workers passed on every third
 * connection of a client that opens a connection for each request.
 */
const CHURN_SLACK_MAX = 32;

class Balance {
  #channel;
  #sockets;
  #isSticky;
  #nowMono;
  /**
   * Infinity: this worker keeps all connections, for example because there are no other workers.
   * 0 until the keeper has sent a share.
   */
  #share = 0;
  /** `accepted`: connections since `sinceMono`. `open`: open connections at `sinceMono`. */
  #span = { sinceMono: 0, accepted: 0, open: 0 };
  #churnSlack = 0;
  /** @type {Map<number, { client: any, keep: () => void }>} */
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
    channel.on('placed', ({ seq }) => this.#finish(seq, true));
    channel.on('connection', ({ seq, claim }, handle) => this.#accept(seq, claim, handle));
  }

  get isPassing() {
    return this.#passing.size > 0;
  }

  lost() {
    for (const seq of [...this.#passing.keys()]) this.#finish(seq, false);
  }

  /**
   * @param {any} listening
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

  /** @param {number | null} share */
  #setShare(share) {
    this.#share = share ?? Infinity;
  }

  #isTooMuch() {
    if (this.#share === Infinity || !this.#channel.isOpen()) return false;
    if (this.#isSticky) return true;
    const { open } = this.#sockets.servers;
    this.#measureChurn(open);
    // Lowers an old share that is too high, because the keeper sends a new share only after a
    // worker has passed on a connection.
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
      if (error) this.#finish(seq, false);
    });
  }

  /**
   * @param {number} seq
   * @param {boolean} isPlaced
   */
  #finish(seq, isPlaced) {
    const { client, keep } = this.#passing.get(seq) ?? {};
    this.#passing.delete(seq);
    // Node.js does not close a sent raw handle. The connection of the client ends only when all
    // copies are closed, so close this copy.
    if (isPlaced) client?.close();
    else keep?.();
  }

  /**
   * @param {number} seq
   * @param {Claim} claim
   * @param {any} client
   */
  #accept(seq, claim, client) {
    const listening = this.#sockets.findHandle(claim);
    this.#channel.say({ act: listening ? 'connection-accepted' : 'connection-declined', seq });
    if (!listening) return client?.close();
    // Calls the app in nextTick(), so that an error of the app ends the process, as it would for a
    // connection that the worker accepted.
    process.nextTick(() => listening.accept.call(listening, 0, client));
  }
}

module.exports.Balance = Balance;
