import { toOneLine } from './text.js';

/** @typedef {{ name: string }} Named */

const NAMED_MAX = 5;

/** Above this number of apps, a notice shows how to select one. */
const MANY = 20;

export const WAITING =
  'The connection to the manager was lost; waiting for it. Lines written until then will be shown afterwards.';

export const FOLLOWED_TO_THE_END = 'The manager has exited.';

/**
 * @param {number} lines
 * @param {Record<string, number>} [of]  Number of missed lines by app, if the manager reports it.
 */
export function reportMissed(lines, of = {}) {
  const apps = Object.entries(of).sort(([, a], [, b]) => b - a);
  const whose = apps.length === 1 ? ` of ${quoted(apps[0][0])}` : '';
  const each = apps.length > 1 ? ` (${some(apps.map(([name, count]) => `${count} of ${quoted(name)}`))})` : '';
  return (
    `${lines} ${lines === 1 ? 'line' : 'lines'}${whose} ${lines === 1 ? 'was' : 'were'} left ` +
    `out${each}: this terminal reads too slowly.`
  );
}

/** @param {string[]} [names]  The apps that lost lines, if the manager reports them. */
export function describeGap(names = []) {
  const whose = names.length === 0 ? '' : ` of ${some(names.map(quoted))}`;
  return `Some lines${whose} cannot be shown, because their log file was deleted before the manager was back.`;
}

/** @param {string} name */
function quoted(name) {
  return `"${toOneLine(name)}"`;
}

/** @param {string[]} items */
function some(items) {
  return items.length > NAMED_MAX
    ? `${items.slice(0, NAMED_MAX).join(', ')} and ${items.length - NAMED_MAX} more`
    : items.join(', ');
}

/**
 * @param {Named[]} slots
 * @param {{ follow: boolean, isChosen: boolean }} o  isChosen: the user named the slots.
 */
export function noticeBeforeLines(slots, { follow, isChosen }) {
  if (slots.length === 0)
    return follow
      ? 'There is no app in the list yet; the lines of the first one will be shown here. Press Ctrl-C to quit.'
      : 'There is no app in the list.';
  const apps = formatNames(slots).length;
  return apps > MANY && !isChosen ? `These are the lines of all ${apps} apps; for one app: nclust logs <name>` : null;
}

/**
 * @param {Named[]} slots
 * @param {{ follow: boolean, isFiltered: boolean }} o
 */
export function noticeWithoutLines(slots, { follow, isFiltered }) {
  const names = formatNames(slots);
  const who = names.length === 1 ? `"${names[0]}"` : `the ${names.length} apps`;
  const what = isFiltered ? `No line of ${who} matches` : `There is no line of ${who}`;
  return follow ? `${what} yet; waiting for the next. Press Ctrl-C to quit.` : `${what}.`;
}

/** @param {Named[]} slots */
function formatNames(slots) {
  return [...new Set(slots.map(({ name }) => name))];
}
