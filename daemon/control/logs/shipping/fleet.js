import { createLineSplitter } from '../line-splitter.js';
import { createShipper } from './shipper.js';

/** @import { LogStream, Shipped } from '../../../../lib/shared/protocol.js' */
/** @import { LineSplitter } from '../line-splitter.js' */
/** @import { LogPlace } from '../log-keeper.js' */
/** @import { Shipper } from './shipper.js' */

/**
 * All shippers: one for each app and target, whatever the number of its instances.
 * @typedef {object} Fleet
 * @property {(place: LogPlace, stream: LogStream, chunk: Buffer) => void} take
 * @property {(place: LogPlace) => void} retarget  An instance writes under other settings from now on.
 * @property {(instanceId: string) => void} letGo  It will not write any more.
 * @property {(name: string) => Shipped[]} countersOf  Of an app.
 * @property {() => string[]} notices
 * @property {() => Promise<void>} close  Sends what it has, for a second at most.
 */

/**
 * @param {object} o
 * @param {import('../../clock.js').Clock} o.clock
 * @param {import('../../journal.js').Journal} o.journal
 * @returns {Fleet}
 */
export function createFleet({ clock, journal }) {
  /** @type {Map<string, {shipper: Shipper, name: string, holders: Set<string>}>} */
  const berths = new Map();
  /** @type {Map<string, {place: LogPlace, splitters: Map<LogStream, LineSplitter>}>} */
  const senders = new Map();

  /** @param {LogPlace} place @param {string} target */
  function berthOf({ name, id, instanceId }, target) {
    const key = keyOf(name, target);
    const berth = berths.get(key) ?? { shipper: createShipper(target, { name, id, clock, journal }), name, holders: new Set() };
    berth.holders.add(instanceId);
    berths.set(key, berth);
    return berth;
  }

  /** @param {LogPlace} place @param {LogStream} stream @param {string[]} lines */
  function send(place, stream, lines) {
    if (lines.length === 0) return;
    for (const target of place.ship) berthOf(place, target).shipper.take(stream, lines, clock.nowMs(), place.id);
  }

  /** @param {string} key @param {string} instanceId */
  function leave(key, instanceId) {
    const berth = berths.get(key);
    if (!berth?.holders.delete(instanceId) || berth.holders.size > 0) return;
    berths.delete(key);
    void berth.shipper.close();
  }

  return {
    take(place, stream, chunk) {
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
      const kept = new Set(ship.map((target) => keyOf(name, target)));
      for (const key of [...berths.keys()]) if (!kept.has(key)) leave(key, instanceId);
    },
    letGo(instanceId) {
      const sender = senders.get(instanceId);
      for (const [stream, splitter] of sender?.splitters ?? []) send(/** @type {LogPlace} */ (sender?.place), stream, splitter.end());
      senders.delete(instanceId);
      for (const key of [...berths.keys()]) leave(key, instanceId);
    },
    countersOf: (name) => [...berths.values()].filter((berth) => berth.name === name).map(({ shipper }) => shipper.counters()),
    notices: () => [...berths.values()].flatMap(({ shipper }) => shipper.notice() ?? []),
    async close() {
      await Promise.all([...berths.values()].map(({ shipper }) => shipper.close()));
    },
  };
}

/**
 * @param {string} name  Of the app.
 * @param {string} target
 */
function keyOf(name, target) {
  return `${name}\n${target}`;
}
