import { oneLine, padEnd } from './text.cjs';

/** @typedef {import('../shared/settings.js').ShownSetting} ShownSetting */

/**
 * @param {{settings: ShownSetting[], key: string|null}} data
 * @param {import('./list.js').View} view
 * @returns {string}  Of one key the bare value, for scripts.
 */
export function renderSettings({ settings, key }, { paint }) {
  if (key !== null) return settings.map(({ value }) => `${oneLine(value)}\n`).join('');
  const rows = settings.map((one) => ({ ...one, value: oneLine(one.value) }));
  const widths = { key: Math.max(...rows.map((row) => row.key.length)), value: Math.max(...rows.map(({ value }) => value.length)) };
  const shown = (/** @type {ShownSetting} */ { value, isSet }) => (isSet ? paint('green', padEnd(value, widths.value)) : padEnd(value, widths.value));
  return rows.map((row) => `${padEnd(row.key, widths.key)}  ${shown(row)}  ${paint('grey', row.isSet ? row.help : `${row.help} (default)`)}\n`).join('');
}
