// What `nclust logs` says to the person, beside the lines.

/** @typedef {{name: string}} Named */

/** More apps than somebody reads at once. */
const MANY = 20;

export const WAITING = 'The manager went away; waiting for it to come back. What is written meanwhile will be shown then.';

export const FOLLOWED_TO_THE_END = 'The manager has ended.';

/** @param {number} lines */
export function sayMissed(lines) {
  return `${lines} ${lines === 1 ? 'line was' : 'lines were'} left out: this terminal reads too slowly.`;
}

/** @returns {string} */
export function sayGap() {
  return 'Some lines that were written meanwhile are in no file any more and cannot be shown.';
}

/**
 * @param {Named[]} slots  Whose lines were asked for.
 * @param {{follow: boolean, isChosen: boolean}} o  isChosen: the person named them.
 * @returns {string|null}  Null when there is nothing to say before the first line.
 */
export function sayBefore(slots, { follow, isChosen }) {
  if (slots.length === 0) return follow ? 'There is no app in the list yet; what the first one writes will be shown here. Ctrl-C ends this.' : 'There is no app in the list.';
  const apps = namesOf(slots).length;
  return apps > MANY && !isChosen ? `These are the lines of all ${apps} apps; for those of one: nclust logs <name>` : null;
}

/**
 * When what is kept holds no line.
 * @param {Named[]} slots
 * @param {{follow: boolean, isFiltered: boolean}} o
 * @returns {string}
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
