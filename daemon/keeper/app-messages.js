// The keeper passes messages of process.send() to control while control subscribes, and keeps
// messages that describe an app. If an app sends too many messages, the keeper drops and counts the
// rest, to limit its memory.

/** @import { Child } from './child.js' */

const MESSAGES_PER_S = 1_000;
const CHARS_PER_S = 1024 * 1024;
const WINDOW_MS = 1_000;
const MESSAGE_MAX_CHARS = 256 * 1024;
/** Characters of one instance that are on their way to control. */
const OWN_FLIGHT_MAX_CHARS = 256 * 1024;
const FLIGHT_MAX_CHARS = 1024 * 1024;
const KEPT_MAX_CHARS = 32 * 1024;

/**
 * For each message type that the keeper keeps: a function that splits the data into named parts.
 * The keeper keeps the newest part of each name.
 * @type {Record<string, (data: any) => [name: unknown, part: unknown][]>}
 */
const KEPT = {
  'axm:action': (data) => [[data.action_name, data]],
  'axm:monitor': (data) => Object.entries(data),
  'axm:option:configuration': (data) => Object.entries(data),
};

/**
 * @typedef {[type: string, name: string, text: string]} Kept  `text` is JSON.
 * @typedef {object} AppTraffic
 * @property {number} endsMono  The end of the counted second.
 * @property {number} messages
 * @property {number} chars
 * @property {number} dropped  Dropped messages that control does not know of yet.
 * @property {NodeJS.Timeout | null} timer
 * @property {Map<string, Kept>} kept
 * @property {number} keptChars
 */

/** @param {(name: string, data: object, onSent: () => void) => void} emit */
export function createAppMessages(emit) {
  let isHeard = false;
  /** Counts from zero for each control, because messages to an earlier control no longer arrive. */
  let flight = newFlight();
  /** @type {WeakMap<Child, AppTraffic>} */
  const talks = new WeakMap();

  /** @param {Child} child */
  const getTalk = (child) => {
    const known = talks.get(child);
    if (known) return known;
    /** @type {AppTraffic} */
    const traffic = { endsMono: 0, messages: 0, chars: 0, dropped: 0, timer: null, kept: new Map(), keptChars: 0 };
    talks.set(child, traffic);
    return traffic;
  };

  /**
   * @param {Child} child
   * @param {AppTraffic} traffic
   */
  const drop = ({ instanceId }, traffic) => {
    traffic.dropped += 1;
    traffic.timer ??= setTimeout(() => {
      traffic.timer = null;
      if (isHeard) emit('app-messages-dropped', { instanceId, count: traffic.dropped }, () => {});
      traffic.dropped = 0;
    }, WINDOW_MS).unref();
  };

  /**
   * @param {Child} child
   * @param {AppTraffic} traffic
   * @param {string} text
   */
  const passOn = (child, traffic, text) => {
    const { own } = flight;
    if (flight.chars >= FLIGHT_MAX_CHARS || (own.get(child) ?? 0) >= OWN_FLIGHT_MAX_CHARS) return drop(child, traffic);
    emit('app-message', { instanceId: child.instanceId, text }, load(flight, child, text.length));
  };

  return {
    /** @param {boolean} isOn */
    hear(isOn) {
      isHeard = isOn;
    },
    hush() {
      isHeard = false;
      flight = newFlight();
    },
    /**
     * @param {Child} child
     * @param {any} message
     */
    receive(child, message) {
      const isKept = typeof message?.type === 'string' && Object.hasOwn(KEPT, message.type);
      if (!isKept && !isHeard) return;
      const traffic = getTalk(child);
      const text = isDue(traffic) ? stringify(message) : null;
      traffic.chars += text?.length ?? 0;
      if (text === null || text.length > MESSAGE_MAX_CHARS) return drop(child, traffic);
      if (!isKept) passOn(child, traffic, text);
      else if (!keep(traffic, message)) drop(child, traffic);
    },
    /** @param {Child} child */
    keptOf(child) {
      return [...(talks.get(child)?.kept.values() ?? [])];
    },
  };
}

/** @typedef {{ chars: number, own: WeakMap<Child, number> }} Flight */

/** @returns {Flight} */
function newFlight() {
  return { chars: 0, own: new WeakMap() };
}

/**
 * @param {Flight} flight
 * @param {Child} child
 * @param {number} chars
 * @returns {() => void}  Call it when the message has arrived.
 */
function load(flight, child, chars) {
  const add = (/** @type {number} */ count) => {
    flight.chars += count;
    flight.own.set(child, (flight.own.get(child) ?? 0) + count);
  };
  add(chars);
  return () => add(-chars);
}

/**
 * @param {AppTraffic} traffic
 * @returns {boolean}
 */
function isDue(traffic) {
  const nowMono = performance.now();
  if (nowMono >= traffic.endsMono) Object.assign(traffic, { endsMono: nowMono + WINDOW_MS, messages: 0, chars: 0 });
  traffic.messages += 1;
  return traffic.messages <= MESSAGES_PER_S && traffic.chars <= CHARS_PER_S;
}

/**
 * @param {unknown} message
 * @returns {string | null}
 */
function stringify(message) {
  try {
    return JSON.stringify(message) ?? null;
  } catch {
    // JSON.stringify() throws if a value is too deep, and JSON.parse() accepts deeper values.
    return null;
  }
}

/**
 * @param {AppTraffic} traffic
 * @param {{ type: string, data?: unknown }} message
 * @returns {boolean}  false: a part did not fit, or the message has no object as data.
 */
function keep(traffic, { type, data }) {
  if (typeof data !== 'object' || data === null) return false;
  let isWhole = true;
  for (const [name, part] of KEPT[type](data)) {
    const text = typeof name === 'string' ? stringify(part) : null;
    if (typeof name !== 'string' || text === null) continue;
    const key = `${type}\n${name}`;
    const chars = traffic.keptChars - measureSize(traffic.kept.get(key)) + measureSize([type, name, text]);
    isWhole &&= chars <= KEPT_MAX_CHARS;
    if (chars > KEPT_MAX_CHARS) continue;
    traffic.kept.set(key, [type, name, text]);
    traffic.keptChars = chars;
  }
  return isWhole;
}

/** @param {Kept} [kept] */
function measureSize(kept) {
  return kept ? kept[0].length + kept[1].length + kept[2].length : 0;
}
