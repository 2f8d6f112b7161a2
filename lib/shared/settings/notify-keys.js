import { DURATION_FORMS, parseDuration } from '../units.js';
import { parseReceiver, RECEIVER_FORMS, shortReceiver } from './receiver.js';

/** @import { Level } from '../troubles.js' */
/** @import { SettingRule } from './rules.js' */

/**
 * The messages that a receiver gets.
 * @typedef {object} NotifyOptions
 * @property {string} to  The receiver, as the user wrote it.
 * @property {Level} level  warn: both levels.
 * @property {number} afterMs  The trouble must have lasted this long.
 * @property {number} repeatMs  0: no reminders.
 */

/** @typedef {NotifyOptions & { name: string, apps: string[] }} NotifySetting  `apps` empty: all. */

/**
 * Without the secret parts of the receiver.
 * @typedef {object} ShownReceiver
 * @property {string} receiver
 * @property {string[]} names  Of settings and apps.
 * @property {(Omit<NotifyOptions, 'to'> & { source: string, isOfApp: boolean, apps: string[] })[]} rules
 *   `apps` empty: all.
 * @property {number} waiting  Messages.
 * @property {number | null} waitingSinceMs  The time of the oldest one.
 * @property {number} dropped  Messages that were given up since the last one that was sent.
 * @property {number | null} sentMs  When the last one was sent. Null: none.
 * @property {string | null} problem  Why the last attempt failed. Null: it did not.
 */

/** @typedef {{ receiver: string, names: string[], problem: string | null }} NotifyResult */

const KEY = /^notify\.([a-z0-9-]{1,60})(?:\.(level|apps|after|repeat))?$/;

export const NOTIFY_KEYS = [
  'notify.<name>',
  ...['level', 'apps', 'after', 'repeat'].map((one) => `notify.<name>.${one}`),
];

/** A reminder more often than this would be an alarm that people turn off. */
const REPEAT_MIN_MS = 60_000;

export const REPEAT_FORMS = `0 (off), or from 1m: ${DURATION_FORMS}`;

/** @type {Record<string, SettingRule>} */
const RULES = {
  to: {
    parse: parseReceiver,
    accepted: RECEIVER_FORMS,
    fallback: 'none',
    help: 'a receiver of troubles',
    show: shortReceiver,
  },
  level: {
    parse: (text) => (['bad', 'warn'].includes(text) ? text : null),
    accepted: 'bad, or warn for both levels',
    fallback: 'warn',
    help: 'the troubles that it gets',
  },
  apps: {
    parse: splitNames,
    accepted: 'names of apps with commas between them; * stands for any characters',
    fallback: 'all',
    help: 'the apps whose troubles it gets',
  },
  after: { parse: parseDuration, accepted: DURATION_FORMS, fallback: '0', help: 'how long a trouble must have lasted' },
  repeat: { parse: parseRepeat, accepted: REPEAT_FORMS, fallback: '0', help: 'how often it is reminded' },
};

/**
 * @param {string} key
 * @returns {SettingRule | null}  Null: not a key of a receiver.
 */
export function findNotifyRule(key) {
  const [, name, option = 'to'] = KEY.exec(key) ?? [];
  return name === undefined ? null : RULES[option];
}

/**
 * @param {Record<string, string>} given  All settings.
 * @returns {NotifySetting[]}  Without those that cannot be used.
 */
export function readNotifySettings(given) {
  return Object.entries(given).flatMap(([key, to]) => {
    const [, name, option] = KEY.exec(key) ?? [];
    if (name === undefined || option !== undefined || parseReceiver(to) === null) return [];
    const read = (/** @type {string} */ one) => RULES[one].parse(given[`notify.${name}.${one}`] ?? RULES[one].fallback);
    const [level, apps, afterMs, repeatMs] = ['level', 'apps', 'after', 'repeat'].map(read);
    return {
      ...{ name, to },
      level: level === 'bad' ? 'bad' : 'warn',
      apps: /** @type {string[] | null} */ (apps) ?? [],
      afterMs: Number(afterMs ?? 0),
      repeatMs: Number(repeatMs ?? 0),
    };
  });
}

/**
 * @param {string} text
 * @returns {string[] | null}  Empty: all apps.
 */
function splitNames(text) {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  if (names.length === 0) return null;
  return names.includes('all') || names.includes('*') ? [] : names;
}

/** @param {string} text */
export function parseRepeat(text) {
  const ms = parseDuration(text);
  return ms === 0 || (ms ?? 0) >= REPEAT_MIN_MS ? ms : null;
}
