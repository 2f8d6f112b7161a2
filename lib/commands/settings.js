import { renderColumns } from '../render/table.js';
import { toOneLine } from '../render/text.js';
import { NclustError } from '../shared/errors.js';
import { homePaths } from '../shared/paths.js';
import { unservedSentence } from '../shared/settings/listen-address.js';
import {
  checkKey,
  checkSetting,
  describeSettings,
  readSettingsFile,
  selectKey,
  showSetting,
} from '../shared/settings/rules.js';

/** @import { Context } from '../cli/session/context.js' */
/** @import { View } from '../render/list.js' */
/** @import { Cell } from '../render/table.js' */
/** @import { ShownSetting } from '../shared/settings/rules.js' */

/**
 * Does not need a manager.
 * @param {Context} context
 * @param {string[]} words  The key, or nothing.
 * @returns {Promise<{ settings: ShownSetting[], key: string | null }>}
 */
export async function get(context, [key]) {
  if (key !== undefined) checkKey(key);
  const file = homePaths(context.home).settings;
  const { given, problems, broken } = readSettingsFile(file);
  if (broken !== null)
    context.printMessage(`The settings in "${file}" are ignored, because ${broken}; the defaults are used.`);
  for (const problem of problems) context.printMessage(`In the settings "${file}" ${problem}.`);
  const all = describeSettings(given);
  return { settings: key === undefined ? all : selectKey(all, key), key: key ?? null };
}

/**
 * @param {Context} context
 * @param {string[]} words  Key and value.
 * @returns {Promise<{ settings: ShownSetting[] }>}
 */
export async function set(context, [key, value]) {
  checkSetting(key, value); // An invalid value does not start a manager.
  const client = await context.manager();
  // An older manager does not report `unserved`.
  const { settings, unserved = null } = await client.request('set', { key, value });
  context.printUnlessJson(`"${key}" is ${showSetting(key, value)} now.`);
  if (unserved) context.printUnlessJson(unservedSentence(unserved));
  return { settings: selectKey(settings, key) };
}

/**
 * @param {Context} context
 * @param {string[]} words
 * @returns {Promise<{ settings: ShownSetting[] }>}
 */
export async function unset(context, [key]) {
  const client = await context.manager();
  const { settings, wasSet } = await client.request('unset', { key });
  const [shown] = selectKey(settings, key);
  const byDefault = shown ? `; the default is ${shown.value}` : '';
  context.printUnlessJson(`"${key}" ${wasSet ? 'is not set any more' : 'was not set'}${byDefault}.`);
  return { settings: shown ? [shown] : [] };
}

/**
 * Checks all settings before it changes the first.
 * @param {Context} context
 * @param {string[]} words  One text of keys and values.
 * @returns {Promise<{ settings: ShownSetting[] }>}
 */
export async function multiset(context, [text]) {
  const words = text.trim().split(/\s+/);
  if (words.length % 2 === 1)
    throw new NclustError(
      'ERR_NCLUST_USAGE',
      `"${text}" has an odd number of words (${words.length}); accepted: pairs of a key and a value.`,
    );
  const pairs = Array.from({ length: words.length / 2 }, (_, at) => [words[2 * at], words[2 * at + 1]]);
  for (const [key, value] of pairs) checkSetting(key, value);
  const settings = [];
  for (const pair of pairs) settings.push(...(await set(context, pair)).settings);
  return { settings };
}

/**
 * @param {Context} context
 * @param {string[]} words
 * @returns {Promise<Awaited<ReturnType<typeof get>>>}
 */
export async function conf(context, words) {
  if (words.length < 2) return get(context, words);
  return { ...(await set(context, words)), key: words[0] };
}

/**
 * @param {{ settings: ShownSetting[], key: string | null }} data
 * @param {View} view
 * @returns {string}  For one key, only the value.
 */
export function renderSettings({ settings, key }, { paint }) {
  if (key !== null) return settings.map(({ value }) => `${toOneLine(value)}\n`).join('');
  /** @type {Cell[][]} */
  const rows = settings.map((one) => [
    one.key,
    { text: one.value, style: one.isSet ? 'green' : null },
    { text: one.isSet ? one.help : `${one.help} (default)`, style: 'grey' },
  ]);
  return renderColumns(rows, { paint })
    .map((line) => `${line}\n`)
    .join('');
}
