import { isRecord } from '../shared/is-record.js';
import { parseRepeat, REPEAT_FORMS } from '../shared/settings/notify-keys.js';
import { parseReceiver, RECEIVER_FORMS, shortReceiver } from '../shared/settings/receiver.js';
import { DURATION_FORMS, parseDuration } from '../shared/units.js';
import { isFigure, isText, isWhole } from './kinds.js';
import { badKind, badOption } from './values.js';
import { inGroup, row } from './row.js';

/** @import { NotifyOptions } from '../shared/settings/notify-keys.js' */
/** @import { Kind } from './kinds.js' */
/** @import { FieldRow } from './table.js' */

const RECEIVERS_MAX = 8;

const LEVELS = ['bad', 'warn'];

const OBJECT_FORMS = '{ to, level, after, repeat }';

const TEXT = { type: 'string' };
const TIME = { type: ['number', 'string'] };
const OBJECT = {
  type: 'object',
  required: ['to'],
  additionalProperties: false,
  properties: { to: TEXT, level: { enum: LEVELS }, after: TIME, repeat: TIME },
};

/** @type {Kind} */
const RECEIVERS = {
  read: asReceivers,
  accepted: `a receiver, ${OBJECT_FORMS}, or a list of at most ${RECEIVERS_MAX}`,
  schema: { anyOf: [TEXT, OBJECT, { type: 'array', items: { anyOf: [TEXT, OBJECT] } }] },
  accepts: areReceivers,
  stored: `a list of at most ${RECEIVERS_MAX} objects { to, level, afterMs, repeatMs }`,
  type: "{ to: string; level: 'bad' | 'warn'; afterMs: number; repeatMs: number }[]",
};

/** The receivers of the troubles of an app. @type {FieldRow[]} */
export const NOTIFY = inGroup('Notifications:', [
  row('notify', RECEIVERS, [], {
    flags: '--notify <receiver>',
    isRepeatable: true,
    isPrivate: true,
    help:
      'notify this receiver when a trouble of the app begins and ends: https://..., slack:, discord:, teams:, ' +
      'exec:, mail:; may be given several times; "none" to disable',
    meaning: 'receivers that nclust notifies when a trouble of the app begins and ends (docs/notify.md)',
  }),
]);

/**
 * @param {unknown} value
 * @param {string} where
 * @returns {NotifyOptions[]}
 */
function asReceivers(value, where) {
  const given = [value].flat();
  if (given.length === 1 && (given[0] === 'none' || given[0] === false)) return [];
  if (given.length > RECEIVERS_MAX) throw badKind(where, given, `at most ${RECEIVERS_MAX} receivers`);
  const read = given.map((one, at) =>
    asReceiver(one, Array.isArray(value) && given.length > 1 ? `${where}[${at}]` : where),
  );
  return read.filter(({ to }, at) => read.findIndex((other) => other.to === to) === at);
}

/**
 * @param {unknown} value
 * @param {string} where
 * @returns {NotifyOptions}
 */
function asReceiver(value, where) {
  const { to, level = 'warn', after = 0, repeat = 0, ...others } = isRecord(value) ? value : { to: value };
  if (typeof to !== 'string' || parseReceiver(to) === null)
    throw badKind(isRecord(value) ? `${where}.to` : where, to, RECEIVER_FORMS);
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw badKind(`${where}.${unknown}`, others[unknown], OBJECT_FORMS);
  if (level !== 'bad' && level !== 'warn') throw badOption(`${where}.level`, level, LEVELS.join(', '));
  const afterMs = isFigure(after) ? parseDuration(after) : null;
  if (afterMs === null) throw badOption(`${where}.after`, after, DURATION_FORMS);
  const repeatMs = isFigure(repeat) ? parseRepeat(String(repeat)) : null;
  if (repeatMs === null) throw badOption(`${where}.repeat`, repeat, REPEAT_FORMS);
  return { to, level, afterMs, repeatMs };
}

/**
 * @param {unknown} value  Of the field `notify`.
 * @returns {NotifyOptions[] | null}  Without secret parts.
 */
export function showReceivers(value) {
  return areReceivers(value)
    ? /** @type {NotifyOptions[]} */ (value).map((one) => ({ ...one, to: shortReceiver(one.to) }))
    : null;
}

/** @param {unknown} value */
function areReceivers(value) {
  return Array.isArray(value) && value.length <= RECEIVERS_MAX && value.every(isStored);
}

/** @param {unknown} one */
function isStored(one) {
  return (
    isRecord(one) &&
    isText(one.to) &&
    parseReceiver(one.to) !== null &&
    LEVELS.includes(String(one.level)) &&
    isWhole(one.afterMs) &&
    isWhole(one.repeatMs)
  );
}
