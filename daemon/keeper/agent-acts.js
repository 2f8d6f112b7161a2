// A hostile or broken process may send anything, so the keeper drops messages that are not in
// this table.
import { isIP } from 'node:net';

/** @import { Handle } from './sockets/listeners.js' */

/** PATH_MAX of Linux. */
const PATH_MAX_CHARS = 4_096;
const TEXT_MAX_CHARS = 2_000;
const WORD_MAX_CHARS = 64;
const SIGNALS_MAX = 64;
const REPORT_MAX_CHARS = 16 * 1024;
const STACK_MAX_CHARS = 512 * 1024;

/** @typedef {(value: any) => boolean} Shape */

/** @type {Shape} */
const integer = (value) => Number.isSafeInteger(value);
/** @type {Shape} */
const boolean = (value) => typeof value === 'boolean';
/** @type {Shape} */
const whole = (value) => integer(value) && value >= 0;
/** @type {Shape} */
const notNegative = (value) => Number.isFinite(value) && value >= 0;
/** @type {Shape} */
const port = (value) => whole(value) && value <= 65_535;

/**
 * @param {number} maxChars
 * @returns {Shape}
 */
const text = (maxChars) => (value) => typeof value === 'string' && value.length <= maxChars;

/**
 * @param {Shape} shape
 * @returns {Shape}
 */
const optional = (shape) => (value) => value === undefined || shape(value);

/**
 * @param {Shape} shape
 * @returns {Shape}
 */
const maybe = (shape) => (value) => value === null || optional(shape)(value);

/**
 * @param {Record<string, Shape>} fields
 * @returns {Shape}
 */
const object = (fields) => (value) =>
  typeof value === 'object' && value !== null && Object.entries(fields).every(([name, shape]) => shape(value[name]));

/**
 * @param {number} maxChars
 * @returns {Shape}
 */
const json = (maxChars) => (value) => {
  try {
    return typeof value === 'object' && value !== null && JSON.stringify(value).length <= maxChars;
  } catch {
    // JSON.stringify() throws if a value is too deep, and JSON.parse() accepts deeper values.
    return false;
  }
};

/** @type {Shape} */
const path = (value) => text(PATH_MAX_CHARS)(value) && value.startsWith('/') && !value.includes('\0');
/** @type {Shape} */
const host = (value) => text(PATH_MAX_CHARS)(value) && isIP(value) !== 0;

const CLAIM_FIELDS = object({
  port,
  family: (value) => value === 0 || value === 4 || value === 6,
  flags: (value) => value === 0 || value === 1,
  index: whole,
});
/** @type {Shape} */
const CLAIM = (value) => CLAIM_FIELDS(value) && (value.family === 0 ? path(value.address) : maybe(host)(value.address));

/** @type {Shape} */
const SIGNALS = (value) => Array.isArray(value) && value.length <= SIGNALS_MAX && value.every(text(WORD_MAX_CHARS));

const FAULT = object({ code: maybe(text(WORD_MAX_CHARS)), message: text(TEXT_MAX_CHARS) });

/** Limit for messages per second, for an act whose frequency does not depend on the load. */
const SELDOM = 100;
/** Limit for messages per second, for an act that an agent sends for each listening socket. */
const BY_SOCKET = 2_000;
const BY_CONNECTION = Infinity;
/**
 * Limit for the faults that one process reports, because control logs each fault. An agent has only
 * three parts that can fail.
 */
const FAULTS_EVER = 20;

/**
 * @typedef {object} Rule
 * @property {Record<string, Shape>} fields
 * @property {number} perS
 * @property {number} [ever]  Limit for all messages of one process.
 * @property {boolean} [bringsSocket]  The message needs a handle, of the kind in its claim.
 * @property {number} [controlMs]  CPU time of control, if the act becomes an event for control.
 */

/** @satisfies {Record<string, Rule>} */
const ACTS = {
  hello: { fields: {}, perS: SELDOM },
  booted: { fields: {}, perS: SELDOM },
  listen: { fields: { seq: whole, claim: CLAIM, isMeant: maybe(boolean), boundPort: optional(port) }, perS: BY_SOCKET },
  reached: { fields: { seq: whole, address: host, port }, perS: BY_SOCKET },
  bound: { fields: { claim: CLAIM }, perS: BY_SOCKET, bringsSocket: true },
  'socket-used': { fields: { claim: CLAIM }, perS: BY_SOCKET },
  listening: {
    fields: { address: text(PATH_MAX_CHARS), port, family: text(WORD_MAX_CHARS) },
    perS: BY_SOCKET,
    controlMs: 0.1,
  },
  closed: { fields: { claim: CLAIM }, perS: BY_SOCKET },
  listenFailed: {
    fields: { claim: CLAIM, code: text(WORD_MAX_CHARS), isUdp: maybe(boolean) },
    perS: BY_SOCKET,
    controlMs: 0.2,
  },
  caught: { fields: { caught: SIGNALS }, perS: SELDOM },
  draining: { fields: { caught: SIGNALS, hasWorkers: maybe(boolean) }, perS: SELDOM },
  drained: { fields: { caught: SIGNALS }, perS: SELDOM },
  answer: {
    fields: {
      seq: whole,
      open: maybe(integer),
      refusal: maybe(FAULT),
      url: maybe(text(TEXT_MAX_CHARS)),
      was: maybe(text(TEXT_MAX_CHARS)),
      failure: maybe(FAULT),
      bytes: maybe(whole),
      stack: maybe(json(STACK_MAX_CHARS)),
    },
    perS: BY_CONNECTION,
  },
  overflow: { fields: { seq: whole, claim: CLAIM, open: integer }, perS: BY_CONNECTION, bringsSocket: true },
  'connection-accepted': { fields: { seq: whole }, perS: BY_CONNECTION },
  'connection-declined': { fields: { seq: whole }, perS: BY_CONNECTION },
  vitals: {
    fields: { responses: whole, errors: whole, delayP99Ms: notNegative, connections: integer },
    perS: SELDOM,
    controlMs: 0.3,
  },
  report: { fields: { report: json(REPORT_MAX_CHARS) }, perS: SELDOM },
  fault: { fields: { part: text(WORD_MAX_CHARS), message: text(TEXT_MAX_CHARS) }, perS: SELDOM, ever: FAULTS_EVER },
  'listeners-closed': { fields: {}, perS: SELDOM },
};

/** @typedef {keyof typeof ACTS} Act */

/** @type {Record<Act, Rule>} */
const RULES = ACTS;

/** @param {Act} act */
export const controlMsOf = (act) => RULES[act].controlMs ?? 0;

/**
 * @returns
 *   {(child: object, message: any, handle?: Handle) => { act: Act | null, fault: string | null }}
 */
export function createActCheck() {
  const isInTime = createRates();
  return (child, message, handle) => {
    const act = parseAct(message);
    if (act === null) return { act, fault: 'an unknown act' };
    const field = unfitField(act, message, handle);
    if (field !== null) return { act, fault: `"${act}" with an invalid ${field}` };
    return { act, fault: isInTime(child, act) ? null : `"${act}" too often` };
  };
}

/**
 * @param {any} message
 * @returns {Act | null}
 */
function parseAct(message) {
  const act = message?.act;
  return typeof act === 'string' && Object.hasOwn(ACTS, act) ? /** @type {Act} */ (act) : null;
}

/**
 * @param {Act} act
 * @param {any} message
 * @param {Handle} [handle]
 * @returns {string | null}
 */
function unfitField(act, message, handle) {
  const { fields, bringsSocket } = RULES[act];
  const unfit = Object.entries(fields).find(([name, shape]) => !shape(message[name]));
  if (unfit) return unfit[0];
  const kind = bringsSocket ? (message.claim.family === 0 ? 'Pipe' : 'TCP') : undefined;
  return kind === handle?.constructor.name ? null : 'socket';
}

/**
 * @param {Act} act
 * @param {any} message
 * @param {string} fault
 * @returns {{ act: string, [key: string]: unknown } | null}
 */
export function refuseAct(act, { seq }, fault) {
  if (act === 'listen' && whole(seq)) return { act: 'refused', seq, code: 'EINVAL', message: fault };
  if (act === 'reached' && whole(seq)) return { act: 'reached', seq, isOwn: false };
  // Answers "placed": the sender then closes its copy, and the client sees the end of its
  // connection.
  return act === 'overflow' && whole(seq) ? { act: 'placed', seq } : null;
}

const WINDOW_MS = 1_000;

/** @returns {(child: object, act: Act) => boolean} */
function createRates() {
  /** @typedef {{ endMono: number, inWindow: number, ever: number }} Count */
  /** @type {WeakMap<object, Map<Act, Count>>} */
  const counts = new WeakMap();
  return (child, act) => {
    const { perS, ever = Infinity } = RULES[act];
    if (perS === Infinity) return true;
    const known = counts.get(child) ?? new Map();
    counts.set(child, known);
    const count = known.get(act) ?? { endMono: 0, inWindow: 0, ever: 0 };
    known.set(act, count);
    const nowMono = performance.now();
    if (nowMono >= count.endMono) Object.assign(count, { endMono: nowMono + WINDOW_MS, inWindow: 0 });
    count.inWindow += 1;
    count.ever += 1;
    return count.inWindow <= perS && count.ever <= ever;
  };
}
