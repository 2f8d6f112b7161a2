/** @import { GivenKind, StoredKind } from './kinds.js' */
/** @import { OwnRow, FieldRow } from './table.js' */

/** In place of a default: the spec must have the field. */
export const REQUIRED = undefined;
/** The default of an object. checkSpec() copies it. */
export const EMPTY = {};

/**
 * An attribute with a field of its own. By default, a change of the field needs no new process.
 * @param {string} name
 * @param {GivenKind & StoredKind} kind
 * @param {unknown} fallback  The default of the field.
 * @param {OwnRow} more
 * @returns {FieldRow}
 */
export function row(name, kind, fallback, more) {
  return { name, needs: 'live', ...kind, default: fallback, ...more };
}

/**
 * An attribute without a field of its own.
 * @param {string} name
 * @param {GivenKind} kind
 * @param {OwnRow} more
 * @returns {FieldRow}
 */
export function setting(name, kind, more) {
  return { name, field: null, needs: undefined, ...kind, ...more };
}

/**
 * One more option for a field.
 * @param {string} flags
 * @param {string | null} field
 * @param {GivenKind} kind
 * @param {OwnRow} more
 * @returns {FieldRow}
 */
export function option(flags, field, kind, more) {
  return { flags, field, needs: undefined, ...kind, ...more };
}

/**
 * A field that only nclust fills. By default, a change needs no new process.
 * @param {string} field
 * @param {StoredKind} kind
 * @param {unknown} fallback
 * @param {OwnRow} more
 * @returns {FieldRow}
 */
export function internal(field, kind, fallback, more) {
  return { field, needs: 'live', ...kind, read: undefined, default: fallback, ...more };
}

/**
 * @param {string} group  The heading in the help.
 * @param {FieldRow[]} rows
 */
export function inGroup(group, rows) {
  return rows.map((one) => ({ group, ...one }));
}
