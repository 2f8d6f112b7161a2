import { toOneLine } from './text.js';

/** @typedef {{ name: string }} Named */

const NAMED_MAX = 5;

/** Above this number of apps, a notice shows how to select one. */
const MANY = 20;

export const WAITING =
  'The manager went away; waiting for it to come back. What is written meanwhile will be shown then.';

export const FOLLOWED_TO_THE_END = 'The manager has ended.';

/**
 * @param {number} lines
 * @param {Record<string, number>} [of]  Lines of each app, if the manager reports them.
 */
export function sayMissed(lines, of = {}) {
  const apps = Object.entries(of).sort(([, a], [, b]) => b - a);
  const whose = apps.length === 1 ? ` of ${quoted(apps[0][0])}` : '';
  const each = apps.length > 1 ? ` (${some(apps.map(([name, count]) => `${count} of ${quoted(name)}`))})` : '';
  return (
    `${lines} ${lines === 1 ? 'line' : 'lines'}${whose} ${lines === 1 ? 'was' : 'were'} left ` +
    `out${each}: this terminal reads too slowly.`
  );
}

/** @param {string[]} [names]  Of apps, if the manager reports them. */
export function sayGap(names = []) {
  const whose = names.length === 0 ? '' : ` of ${some(names.map(quoted))}`;
  return `Some lines${whose} that were written meanwhile are in no file any more and cannot be shown.`;
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
 * Returns the notice before the first line.
 * @param {Named[]} slots
 * @param {{ follow: boolean, isChosen: boolean }} o  isChosen: the user named the slots.
 */
export function sayBefore(slots, { follow, isChosen }) {
  if (slots.length === 0)
    return follow
      ? 'There is no app in the list yet; what the first one writes will be shown here. Ctrl-C ends this.'
      : 'There is no app in the list.';
  const apps = namesOf(slots).length;
  return apps > MANY && !isChosen
    ? `These are the lines of all ${apps} apps; for those of one: nclust logs <name>`
    : null;
}

/**
 * @param {Named[]} slots
 * @param {{ follow: boolean, isFiltered: boolean }} o
 */
export function sayNothing(slots, { follow, isFiltered }) {
  const names = namesOf(slots);
  const who = names.length === 1 ? `"${names[0]}"` : `the ${names.length} apps`;
  const what = isFiltered ? `No line of ${who} is like that` : `There is no line of ${who}`;
  return follow ? `${what} yet; waiting for the next. Ctrl-C ends this.` : `${what}.`;
}

/** @param {Named[]} slots */
function namesOf(slots) {
  return [...new Set(slots.map(({ name }) => name))];
}
