// What an agent may say: the acts, what each one carries, and how much of it. The process behind a
// channel may be hostile or broken. What does not fit ends here, so that the keeper and control may
// rely on the rest.
/** @import { Handle } from './listeners.js' */

/** Of a path; Unix allows 4096 bytes. */
const PATH_MAX_CHARS = 4_096;
const TEXT_MAX_CHARS = 2_000;
const WORD_MAX_CHARS = 64;
const SIGNALS_MAX = 64;
/** Of what is not looked at further, in characters of its JSON. */
const REPORT_MAX_CHARS = 16 * 1024;
const STACK_MAX_CHARS = 512 * 1024;

/** @typedef {(value: any) => boolean} Shape */

/** @type {Shape} */
const whole = (value) => Number.isSafeInteger(value) && value >= 0;
/** @type {Shape} */
const positive = (value) => Number.isFinite(value) && value >= 0;
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
const maybe = (shape) => (value) => value === undefined || value === null || shape(value);

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
    return false; // A RangeError: JSON.parse() goes deeper than JSON.stringify() does.
  }
};

const CLAIM = object({
  address: maybe(text(PATH_MAX_CHARS)),
  port,
  family: (value) => value === 0 || value === 4 || value === 6,
  flags: whole,
  index: whole,
});

/** @type {Shape} */
const SIGNALS = (value) =>
  Array.isArray(value) && value.length <= SIGNALS_MAX && value.every((one) => text(WORD_MAX_CHARS)(one));

const FAULT = object({ code: text(WORD_MAX_CHARS), message: text(TEXT_MAX_CHARS) });

/** By act: its fields. @type {Record<string, Record<string, Shape>>} */
const ACTS = {
  hello: {},
  booted: {},
  listen: { seq: whole, claim: CLAIM },
  bound: { claim: CLAIM },
  taken: { claim: CLAIM },
  listening: { address: text(PATH_MAX_CHARS), port, family: text(WORD_MAX_CHARS) },
  closed: { claim: CLAIM },
  draining: { caught: SIGNALS },
  drained: { caught: SIGNALS },
  answer: {
    seq: whole,
    open: maybe(whole),
    refusal: maybe(FAULT),
    url: maybe(text(TEXT_MAX_CHARS)),
    was: maybe(text(TEXT_MAX_CHARS)),
    failure: maybe(FAULT),
    bytes: maybe(whole),
    stack: maybe(json(STACK_MAX_CHARS)),
  },
  overflow: { seq: whole, claim: CLAIM, open: whole },
  took: { seq: whole },
  declined: { seq: whole },
  vitals: { responses: whole, errors: whole, delayP99Ms: positive, connections: whole },
  report: { report: json(REPORT_MAX_CHARS) },
  fault: { part: text(WORD_MAX_CHARS), message: text(TEXT_MAX_CHARS) },
  unlistened: {},
};

/** Acts that bring a socket, as a handle of libuv. */
const WITH_SOCKET = new Set(['bound', 'overflow']);

/**
 * @param {any} message
 * @returns {string | null}  The act; null when it is none, or a field of it is not as it should be.
 */
export function actOf(message) {
  const act = message?.act;
  if (typeof act !== 'string' || !Object.hasOwn(ACTS, act)) return null;
  return object(ACTS[act])(message) ? act : null;
}

/**
 * @param {string} act
 * @param {Handle} [handle]
 * @returns {Handle | undefined}  What the act takes. Anything else that came with it is to be closed.
 */
export function socketOf(act, handle) {
  return WITH_SOCKET.has(act) && /^(TCP|Pipe)$/.test(handle?.constructor.name ?? '') ? handle : undefined;
}

/** A connection is on its way: they are as many as there are connections. */
const ANY_NUMBER = new Set(['overflow', 'took', 'declined', 'answer']);
const PER_S = 1_000;
/** Which control writes into its log. */
const FAULTS_MAX = 20;
const WINDOW_MS = 1_000;

/** @returns {(child: object, act: string) => boolean}  False: it says that too often. */
export function createRates() {
  /** @type {WeakMap<object, { endMono: number, count: number, faults: number }>} */
  const windows = new WeakMap();
  return (child, act) => {
    if (ANY_NUMBER.has(act)) return true;
    const known = windows.get(child) ?? { endMono: 0, count: 0, faults: 0 };
    windows.set(child, known);
    const nowMono = performance.now();
    if (nowMono >= known.endMono) Object.assign(known, { endMono: nowMono + WINDOW_MS, count: 0 });
    known.count += 1;
    if (act === 'fault') known.faults += 1;
    return known.count <= PER_S && (act !== 'fault' || known.faults <= FAULTS_MAX);
  };
}
