import { NclustError } from '../../../lib/shared/errors.js';
import { nearWords } from '../../../lib/shared/did-you-mean.js';
import { namePattern } from '../../../lib/shared/name-pattern.js';

/** @import { DesiredApp, Desired, DesiredSlot } from './desired.js' */

/** @typedef {{ app: DesiredApp, slot: DesiredSlot }} Selected */

/**
 * A target can be `all`, a name or script path, a namespace, an id, or a /regex/. The first of
 * these meanings that matches counts.
 * @param {Desired} desired
 * @param {string[]} targets
 * @returns {Selected[]}  Throws ERR_NCLUST_APP_NOT_FOUND, ERR_NCLUST_BAD_SELECTOR.
 */
export function select(desired, targets) {
  const all = everySlot(desired);
  const chosen = new Set(targets.flatMap((target) => selectOne(all, target).map(({ slot }) => slot.id)));
  return all.filter(({ slot }) => chosen.has(slot.id));
}

/**
 * Matches log lines, even if the app is not in the list yet.
 * @param {string[]} targets
 * @returns {(desired: Desired, slot: { id: number, name: string }) => boolean}
 */
export function matcher(targets) {
  return (desired, slot) => {
    if (targets.length === 0 || targets.includes('all') || targets.includes(slot.name)) return true;
    const all = everySlot(desired);
    return targets.some((target) => matches(all, target).some((one) => one.slot.id === slot.id));
  };
}

/**
 * @param {Desired} desired
 * @returns {Selected[]}
 */
function everySlot(desired) {
  return desired.apps.flatMap((app) => app.slots.map((slot) => ({ app, slot })));
}

/**
 * @param {Selected[]} all
 * @param {string} target
 */
function selectOne(all, target) {
  const found = matches(all, target);
  if (found.length > 0) return found;
  const message =
    target === 'all'
      ? 'There is no app in the list.'
      : `There is no app, namespace, script or id "${target}" in the list.`;
  throw new NclustError('ERR_NCLUST_APP_NOT_FOUND', message, { hint: nearMisses(all, target), data: { target } });
}

/**
 * @param {Selected[]} all
 * @param {string} target
 */
function matches(all, target) {
  if (target === 'all') return all;
  const meanings = /** @type {((one: Selected) => boolean)[]} */ ([
    ({ app }) => app.spec.name === target || app.spec.script === target,
    ({ app }) => app.spec.namespace === target,
    ({ slot }) => String(slot.id) === target,
  ]);
  const meant = meanings.find((meaning) => all.some(meaning));
  if (meant) return all.filter(meant);
  const pattern = namePattern(target);
  return pattern ? all.filter(({ app }) => pattern.test(app.spec.name)) : [];
}

/**
 * @param {Selected[]} all
 * @param {string} target
 */
function nearMisses(all, target) {
  const names = [...new Set(all.flatMap(({ app }) => [app.spec.name, app.spec.namespace]))];
  const near = nearWords(target, names);
  return near.length > 0
    ? `Did you mean ${near
        .slice(0, 5)
        .map((name) => `"${name}"`)
        .join(' or ')}?`
    : 'nclust list';
}
