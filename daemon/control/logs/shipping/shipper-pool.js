// Knows: log lines that are sent to syslog or a command, and how many of them were lost.
// Must not: let an app or a log file wait for a target.
// Start at: createShipperPool(), then shipper.js; transports.js has the connections.
import { createLineSplitter } from '../../../../lib/shared/daemon/lines.js';
import { createShipper, createTally } from './shipper.js';
import { PARTING_MS } from './transports.js';

/** @import { User } from '../../../../lib/shared/host/user-path.js' */
/** @import { LogStream, Shipped } from '../../../../lib/shared/wire/protocol.js' */
/** @import { Clock } from '../../host/clock.js' */
/** @import { LogPlace } from '../app-logs.js' */
/** @import { LineSplitter } from '../../../../lib/shared/daemon/lines.js' */
/** @import { ManagerLog } from '../../context.js' */
/** @import { Connect } from './links.js' */
/** @import { Shipper, Tally } from './shipper.js' */

/** After the last instance has left, its lines have this time to reach the target, in ms. */
const DRAIN_MS = 30_000;

/**
 * @typedef {object} Lease  `user`: user of the instance that wrote last. `cancelEnd`: called when
 *   an instance writes to this target again.
 * @property {User | null} user
 * @property {Shipper} shipper
 * @property {Set<string>} holders
 * @property {() => void} cancelEnd
 */

/**
 * One shipper for each app and target, for any number of instances.
 * @typedef {object} ShipperPool
 * @property {(place: LogPlace, stream: LogStream, chunk: Buffer) => void} send
 * @property {(place: LogPlace) => void} retarget  The settings of an instance have changed.
 * @property {(instanceId: string) => void} release
 *   Called when an instance ends. After the last instance of an app, the waiting lines are sent in
 *   the background.
 * @property {(name: string) => Shipped[]} countersOf
 * @property {() => string[]} notices
 * @property {() => Promise<void>} close  Tries to send the waiting lines within a second.
 */

/**
 * @param {object} o
 * @param {Clock} o.clock
 * @param {ManagerLog} o.managerLog
 * @param {(name: string) => string[]} [o.targetsOf]  Targets of an app, even of a stopped app.
 * @param {(target: string, name: string) => Connect} [o.connectorTo]
 * @returns {ShipperPool}
 */
export function createShipperPool({ clock, managerLog, targetsOf = () => [], connectorTo }) {
  /** @type {Map<string, Lease>} */
  const leases = new Map();
  /** @type {Map<string, { place: LogPlace, splitters: Map<LogStream, LineSplitter> }>} */
  const senders = new Map();
  /**
   * Counters by app and target. Includes the counters of shippers that have ended.
   * @type {Map<string, { tally: Tally, name: string, target: string }>}
   */
  const tallies = new Map();
  /** Shippers that are closing in the background. @type {Set<Shipper>} */
  const parting = new Set();

  /**
   * @param {LogPlace} place
   * @param {string} target
   */
  function takeLease({ name, instanceId, user }, target) {
    const key = getKey(name, target);
    const lease = leases.get(key) ?? createLease(key, { name, user, target });
    lease.user = user;
    lease.cancelEnd();
    lease.holders.add(instanceId);
    return lease;
  }

  /**
   * @param {string} key
   * @param {{ name: string, user: User | null, target: string }} o
   */
  function createLease(key, { name, user, target }) {
    const { tally } = tallies.get(key) ?? { tally: createTally(target, name, clock.nowMs) };
    tallies.set(key, { tally, name, target });
    /** @type {Lease} */
    const lease = {
      user,
      shipper: createShipper(target, {
        name,
        userNow: () => lease.user,
        clock,
        managerLog,
        tally,
        connect: connectorTo?.(target, name),
      }),
      holders: new Set(),
      cancelEnd: () => {},
    };
    leases.set(key, lease);
    return lease;
  }

  /**
   * @param {LogPlace} place
   * @param {LogStream} stream
   * @param {string[]} lines
   */
  function send(place, stream, lines) {
    if (lines.length === 0) return;
    for (const target of place.ship) takeLease(place, target).shipper.send(stream, lines, clock.nowMs(), place.id);
  }

  /**
   * @param {string} key
   * @param {string} instanceId
   */
  function leave(key, instanceId) {
    const lease = leases.get(key);
    if (!lease?.holders.delete(instanceId) || lease.holders.size > 0) return;
    const endMs = clock.nowMs() + DRAIN_MS;
    const cancelTimer = clock.after(DRAIN_MS, () => end(key, lease, 0));
    lease.cancelEnd = () => {
      cancelTimer();
      lease.shipper.onceIdle(() => {});
      lease.cancelEnd = () => {};
    };
    lease.shipper.onceIdle(() => end(key, lease, endMs - clock.nowMs()));
  }

  /**
   * @param {string} key
   * @param {Lease} lease
   * @param {number} leftMs
   */
  function end(key, lease, leftMs) {
    lease.cancelEnd();
    leases.delete(key);
    void part(lease.shipper, Math.max(leftMs, PARTING_MS));
  }

  /**
   * @param {Shipper} shipper
   * @param {number} graceMs
   */
  async function part(shipper, graceMs) {
    parting.add(shipper);
    await shipper.close(graceMs);
    parting.delete(shipper);
    forget();
  }

  /** Drops counters of gone apps and former targets, unless their losses are still reported. */
  function forget() {
    for (const [key, { tally, name, target }] of tallies) {
      if (!leases.has(key) && tally.notice() === null && !targetsOf(name).includes(target)) tallies.delete(key);
    }
  }

  return {
    send(place, stream, chunk) {
      if (place.ship.length === 0) return;
      const sender = senders.get(place.instanceId) ?? { place, splitters: new Map() };
      senders.set(place.instanceId, sender);
      const splitter = sender.splitters.get(stream) ?? createLineSplitter();
      sender.splitters.set(stream, splitter);
      send(place, stream, splitter.push(chunk));
    },
    retarget(place) {
      const { instanceId, name, ship } = place;
      const sender = senders.get(instanceId);
      if (sender) sender.place = place;
      const kept = new Set(ship.map((target) => getKey(name, target)));
      for (const key of [...leases.keys()]) if (!kept.has(key)) leave(key, instanceId);
    },
    release(instanceId) {
      const sender = senders.get(instanceId);
      for (const [stream, splitter] of sender?.splitters ?? [])
        send(/** @type {LogPlace} */ (sender?.place), stream, splitter.end());
      senders.delete(instanceId);
      for (const key of [...leases.keys()]) leave(key, instanceId);
    },
    countersOf(name) {
      forget();
      return [...tallies.values()].filter((one) => one.name === name).map(({ tally }) => tally.counters());
    },
    notices() {
      forget();
      return [...tallies.values()].flatMap(({ tally }) => tally.notice() ?? []);
    },
    async close() {
      const hurried = [...parting].map((shipper) => shipper.hurry());
      await Promise.all([...hurried, ...[...leases.values()].map(({ shipper }) => shipper.close())]);
    },
  };
}

/**
 * @param {string} name
 * @param {string} target
 */
function getKey(name, target) {
  return `${name}\n${target}`;
}
