import { renderColumns } from '../render/table.js';
import { oneLine } from '../render/text.js';

/** @typedef {import('../shared/settings/settings.js').ShownSetting} ShownSetting */

/**
 * @param {{settings: ShownSetting[], key: string|null}} data
 * @param {import('../render/list.js').View} view
 * @returns {string}  Of one key the bare value, for scripts.
 */
export function renderSettings({ settings, key }, { paint }) {
  if (key !== null) return settings.map(({ value }) => `${oneLine(value)}\n`).join('');
  /** @type {import('../render/table.js').Cell[][]} */
  const rows = settings.map((one) => [one.key, { text: one.value, style: one.isSet ? 'green' : null }, { text: one.isSet ? one.help : `${one.help} (default)`, style: 'grey' }]);
  return renderColumns(rows, { paint }).map((line) => `${line}\n`).join('');
}
