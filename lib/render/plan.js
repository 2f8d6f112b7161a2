import { formatDuration } from '../shared/units.js';
import { renderColumns } from './table.js';
import { toOneLine } from './text.js';

/** @import { SpecChange } from '../app-spec/diff.js' */
/** @import { PlanItem } from '../shared/wire/protocol.js' */
/** @import { Paint, Style } from './paint.js' */
/** @import { Cell } from './table.js' */

/** @type {Record<PlanItem['action'], [sign: string, style: Style]>} */
const SIGNS = {
  start: ['+', 'green'],
  none: [' ', 'dim'],
  live: ['~', 'cyan'],
  scale: ['~', 'cyan'],
  rollout: ['~', 'yellow'],
  replace: ['~', 'red'],
  delete: ['-', 'red'],
};

const VALUE_MAX = 200;

/**
 * @param {{ plan: PlanItem[], left: string[], shown: string }} asked
 * @param {{ paint: Paint, isWhole: boolean }} o  `isWhole`: show old and new values.
 */
export function renderPlan({ plan, left, shown }, { paint, isWhole: isDetailed }) {
  const pending = plan.filter(({ action }) => action !== 'none');
  const same = plan.length - pending.length;
  const heads = renderColumns(
    pending.map((item) => formatHead(item, isDetailed)),
    { paint },
  );
  const lines = [
    ...(pending.length > 0 ? [`Plan for ${toOneLine(shown)}:`] : []),
    ...pending.flatMap(({ changes }, at) => [
      `  ${heads[at]}`,
      ...(isDetailed ? changes.map((change) => `      ${changeWords(change, paint)}`) : []),
    ]),
    ...(same > 0 ? [`${pending.length > 0 ? '  ' : ''}${sameWords(same, pending.length === 0)}`] : []),
    ...(plan.length === 0 ? ['There is nothing to do.'] : []),
    ...(left.length > 0 ? [leftWords(left)] : []),
  ];
  return `${lines.join('\n')}\n`;
}

/**
 * @param {PlanItem} item
 * @param {boolean} isWhole
 * @returns {Cell[]}
 */
function formatHead({ name, action, changes }, isWhole) {
  const [sign, style] = SIGNS[action];
  return [
    { text: `${sign} ${name}`, style },
    { text: action, style },
    isWhole ? '' : changes.map(({ attribute }) => attribute).join(', '),
  ];
}

/**
 * @param {SpecChange} change
 * @param {Paint} paint
 */
function changeWords({ field, attribute, before, after }, paint) {
  const words = (/** @type {unknown} */ value) => valueWords(field, value);
  return `${toOneLine(attribute)}: ${paint('red', words(before))} → ${paint('green', words(after))}`;
}

/**
 * @param {string} field
 * @param {unknown} value
 */
function valueWords(field, value) {
  const isKeyed = /env$/i.test(field) || field === 'secrets';
  if (value === null) return isKeyed ? '(not set)' : 'default';
  if (value === '') return isKeyed ? '""' : 'default';
  if (typeof value === 'number' && field.endsWith('Ms')) return formatDuration(value);
  if (typeof value === 'number' && field.endsWith('Bytes')) return sizeWords(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const shown = toOneLine(text);
  return shown.length > VALUE_MAX ? `${shown.slice(0, VALUE_MAX)}…` : shown;
}

/**
 * Uses a unit that a config file accepts.
 * @param {number} bytes
 */
function sizeWords(bytes) {
  const [unit, size] = /** @type {[string, number][]} */ ([
    ['G', 1024 ** 3],
    ['M', 1024 ** 2],
    ['K', 1024],
  ]).find(([, one]) => bytes >= one && bytes % one === 0) ?? ['', 1];
  return `${bytes / size}${unit}`;
}

/**
 * @param {number} count
 * @param {boolean} isAll
 */
function sameWords(count, isAll) {
  const those = count === 1 ? '1 app matches' : `${count} apps match`;
  return isAll ? `Nothing to do: ${those} the file.` : `${those} the file.`;
}

/** @param {string[]} names */
function leftWords(names) {
  const quoted = names.map((name) => `"${toOneLine(name)}"`).join(', ');
  return (
    `${quoted} came from this file, but ` +
    `${names.length === 1 ? 'is no longer in it; it stays' : 'are no longer in it; they stay'}. --prune deletes ` +
    `such apps.`
  );
}
