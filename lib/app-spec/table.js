// Knows: the one table of the settings of an app, with a row for each field.
// Must not: read a file, or know commands.
// Start at: Row, then lifecycle-fields.js for its rows. check.js checks a whole spec.
import { ENVIRONMENT } from './environment-fields.js';
import { LIFECYCLE } from './lifecycle-fields.js';
import { LOGS } from './logs-fields.js';
import { NOTIFY } from './notify-fields.js';
import { DERIVED, UNNEEDED } from './others-fields.js';
import { PROGRAM } from './program-fields.js';
import { TRIGGERS } from './triggers-fields.js';
import { isUnset } from './values.js';
import { words } from './kinds.js';

/** @import { GivenKind, StoredKind } from './kinds.js' */

/**
 * @typedef {'nothing' | 'live' | 'along' | 'scale' | 'rollout' | 'replace'} Needs  The effect of a
 *   changed field on a running app. If several fields change, the effect that is last in this order
 *   applies. nothing: the field only describes the app. live: the change needs no new process.
 *   along: the change waits for the next rollout. rollout: new instances replace the old instances
 *   without losing a request. replace: the old instances exit and their sockets close before new
 *   instances start.
 */

/**
 * A setting of an app: an attribute of a config file, an option of commands, a field of the spec,
 * or several of them. Options, validation, defaults, help, docs/config.md, types, JSON Schema and
 * the effect of a change come from its row.
 * @typedef {object} OwnRow
 * @property {string} [name]  The attribute, as in PM2. A file may also use camelCase. Missing: a
 *   config file does not have this attribute.
 * @property {string[]} [aliases]  Of the attribute.
 * @property {string} [flags]  The option, in the syntax of commander. Missing: no command has it.
 * @property {boolean} [isRepeatable]  The value of the option is a list.
 * @property {string | null} [field]  The field of the spec. Null: none. Default: the attribute in
 *   camelCase, with the unit of its kind.
 * @property {boolean} [isBuilt]  spec/build.js calculates the field from several attributes.
 * @property {Needs} [needs]  Missing: another row describes the field, or row.js gives it.
 * @property {unknown} [default]  Of the field. Missing: the field is required.
 * @property {string} [defaultText]  Describes the default, if `default` does not.
 * @property {string} [unit]  The unit of a number without a unit.
 * @property {string} [empty]  The value that '' stands for in a config file. Default: not set.
 * @property {string} [group]  The heading in the help. Default: "Used most:" or "This command:".
 * @property {string} [help]
 * @property {string} [meaning]  Describes the attribute, if `help` fits only the option.
 * @property {string} [note]  About the stored value, for types.d.ts.
 * @property {string} [unneeded]  Why nclust accepts the attribute but ignores it.
 * @property {string} [shownAs]  The name in a list of changes. Default: the attribute.
 * @property {boolean} [isDerived]  A list of changes has the field only if no other field changes.
 * @property {boolean} [isForNew]  Only for a new app: `restart` and `reload` do not take the option.
 * @property {boolean} [isNotRestart]  `restart` has another option of this name.
 * @property {boolean} [isPrivate]  Errors do not quote the value, because people put passwords there.
 * @property {boolean} [isPublic]  Pages of the dashboard get the field.
 * @property {boolean} [isPm2]  PM2 stores the attribute unchanged, and only if the user has set it.
 *
 * @typedef {OwnRow & Partial<GivenKind & StoredKind>} FieldRow
 * @typedef {OwnRow & GivenKind & { key: string, help: string, flags?: string }} Setting  `key`: of
 *   the value in the options of commander.
 * @typedef {Setting & { name: string }} Attribute
 * @typedef {OwnRow & StoredKind & { field: string, needs: Needs, shownAs: string, stored: string }}
 *   Field
 */

/** In the order of the documentation. */
export const ROWS = [
  ...PROGRAM,
  ...LIFECYCLE,
  ...ENVIRONMENT,
  ...LOGS,
  ...NOTIFY,
  ...TRIGGERS,
  ...UNNEEDED,
  ...DERIVED,
];

/** By the suffix of a kind. @type {Record<string, string>} */
const UNIT_OF = { Ms: 'ms', Bytes: 'bytes' };

/** @param {FieldRow[]} rows */
export function createTable(rows) {
  const complete = rows.map(completeRow);
  const settings = /** @type {Setting[]} */ (complete.filter(({ read }) => read !== undefined));
  const options = settings.filter(({ flags }) => flags !== undefined);
  const changing = options.filter(({ isForNew }) => !isForNew);
  return {
    settings,
    attributes: /** @type {Attribute[]} */ (settings.filter(({ name }) => name !== undefined)),
    fields: /** @type {Record<string, Field>} */ (
      Object.fromEntries(complete.filter(({ needs }) => needs !== undefined).map((row) => [row.field, row]))
    ),
    optionsOf: {
      start: options,
      reload: changing,
      restart: changing.filter(({ isNotRestart }) => !isNotRestart),
      none: /** @type {Setting[]} */ ([]),
    },
  };
}

export const { settings: SETTINGS, attributes: ATTRIBUTES, fields: FIELDS, optionsOf: OPTIONS_OF } = createTable(ROWS);

/** @param {FieldRow} row */
function completeRow(row) {
  const { name = '', flags, suffix = '', shownAs = name, help = '' } = row;
  const field = row.field === undefined ? `${camelCase(name)}${suffix}` : row.field;
  return {
    ...row,
    field,
    shownAs,
    stored: row.stored ?? row.accepted,
    key: camelCase(
      flags === undefined
        ? name
        : longFlag(flags)
            .replace(/^--(no-)?/, '')
            .replaceAll('-', '_'),
    ),
    unit: row.unit ?? UNIT_OF[suffix],
    defaultText: row.defaultText ?? toText(row.default),
    help: `${help}${defaultForHelp(row)}`,
    meaning: (row.meaning ?? help).replace(/ \(default(: [^)]*)?\)|; may be given several times/g, ''),
  };
}

/** @param {FieldRow} row */
function defaultForHelp({ flags = '', help = '', default: value, defaultText, show = String }) {
  if (!/[<[]/.test(flags) || help.includes('(default')) return '';
  if (defaultText !== undefined && defaultText !== 'false') return ` (default: ${defaultText})`;
  return typeof value === 'number' || (typeof value === 'string' && value !== '') ? ` (default: ${show(value)})` : '';
}

/** @param {unknown} value  The default of a field. */
function toText(value) {
  if (value === undefined) return undefined;
  return typeof value === 'object' || value === '' ? 'none' : String(value);
}

/**
 * @param {string} flags
 * @returns {string}  "--stop-signal". Throws without a long option.
 */
export function longFlag(flags) {
  return /** @type {RegExpExecArray} */ (/--[a-z-]+/.exec(flags))[0];
}

/** `env_<name>` contains the variables of the environment that `--env <name>` chooses. */
export const ENVIRONMENT_PREFIX = 'env_';

/** Top-level keys of a config file, unless the file itself is an app or a list of apps. */
export const TOP_LEVEL = ['apps', 'static', 'deploy', 'pm2', 'nclust'];

/** @type {Map<string, Attribute> | null} */
let byWord = null;

/** @param {string} name  Name or alias, in snake_case or camelCase. */
export function findAttribute(name) {
  byWord ??= new Map(ATTRIBUTES.flatMap((row) => listSpellings(row).map((one) => [one, row])));
  return byWord.get(name) ?? null;
}

/**
 * @param {Attribute} row
 * @returns {string[]}  All accepted names, the main one first.
 */
export function listSpellings({ name, aliases = [] }) {
  return [...new Set([name, ...aliases].flatMap((one) => [one, camelCase(one), snakeCase(one)]))];
}

/**
 * @param {Attribute} row
 * @param {'array' | 'boolean'} type
 */
export function takes({ schema }, type) {
  return [schema.type].flat().includes(type);
}

/**
 * Leaves out of a list what is not set, as in `watch: ['src', isDev && 'test']`.
 * @param {Attribute} row
 * @param {unknown} value
 * @returns {unknown}
 */
export function leaveOutUnset(row, value) {
  if (!Array.isArray(value) || !takes(row, 'array')) return value;
  // An argument may be empty, or the word "false".
  const isWords = row.read === words.read;
  return value.filter((one) => (isWords ? one !== undefined && one !== null : !isUnset(one)));
}

/** @param {string} name */
function camelCase(name) {
  return name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}

/** @param {string} name */
function snakeCase(name) {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
