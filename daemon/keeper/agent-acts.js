// What an agent may say: the acts, what each one carries, and how much of it. The process behind a
// channel may be hostile or broken. What does not fit ends here, so that the keeper and control may
// rely on the rest.
import net from 'node:net';

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
 * @param {unknown} handle
 * @returns {Handle | undefined}  What the act takes. Anything else that came with it is to be closed.
 */
export function socketOf(act, handle) {
  const isSocket = /^(TCP|Pipe)$/.test(handle?.constructor?.name ?? '') && !(handle instanceof net.Socket);
  return WITH_SOCKET.has(act) && isSocket ? /** @type {Handle} */ (handle) : undefined;
}

/**
 * An app may send what node:child_process can: a server, a socket, a handle.
 * @param {unknown} handle
 */
export function closeHandle(handle) {
  const { close, destroy } = /** @type {{ close?: () => void, destroy?: () => void }} */ (handle ?? {});
  if (destroy) destroy.call(handle);
  else close?.call(handle);
}
