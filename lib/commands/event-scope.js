import { NclustError } from '../shared/errors.js';
import { nearWords } from '../shared/did-you-mean.js';
import { namePattern } from '../shared/name-pattern.js';

/** @typedef {import('../shared/event-log.js').LoggedEvent} LoggedEvent */
/** @typedef {Pick<import('../shared/wire/protocol.js').SlotStatus, 'id'|'name'|'namespace'>} Named */

/** An app that is meant, and which of its slots. @typedef {{name: string, ids: number[]|null}} Meant  `ids`: null for all. */

/**
 * The apps that targets mean: those in the list, and those that the log alone still knows.
 * @param {string[]} targets
 * @param {object} o
 * @param {Named[]} o.slots
 * @param {LoggedEvent[]} o.events
 * @returns {Meant[]}  Each app once. Throws ERR_NCLUST_APP_NOT_FOUND and ERR_NCLUST_BAD_SELECTOR.
 */
export function appsMeant(targets, { slots, events }) {
  const known = knownSlots(slots, events);
  /** @type {Map<string, Meant>} */
  const meant = new Map();
  for (const target of targets) {
    const found = meaningOf(target, slots.length > 0 && target === 'all' ? slots : known);
    if (found.length === 0) throw notFound(target, known);
    for (const one of found) {
      const before = meant.get(one.name);
      meant.set(one.name, before?.ids && one.ids ? { name: one.name, ids: [...new Set([...before.ids, ...one.ids])] } : before ? { name: one.name, ids: null } : one);
    }
  }
  return [...meant.values()];
}

/**
 * @param {Named[]} slots
 * @param {LoggedEvent[]} events
 * @returns {Named[]}
 */
function knownSlots(slots, events) {
  const names = new Map(slots.map((slot) => [`${slot.name}\t${slot.id}`, slot]));
  for (const { app, namespace = 'default', id = -1 } of events) {
    if (app !== undefined && !names.has(`${app}\t${id}`)) names.set(`${app}\t${id}`, { name: app, namespace, id });
  }
  return [...names.values()];
}

/**
 * As everywhere: a name, else a namespace, else an id, else a pattern.
 * @param {string} target
 * @param {Named[]} known
 * @returns {Meant[]}
 */
function meaningOf(target, known) {
  const whole = (/** @type {Named[]} */ found) => [...new Set(found.map(({ name }) => name))].map((name) => ({ name, ids: null }));
  if (target === 'all') return whole(known);
  const named = known.filter(({ name }) => name === target);
  if (named.length > 0) return whole(named);
  const inSpace = known.filter(({ namespace }) => namespace === target);
  if (inSpace.length > 0) return whole(inSpace);
  const slot = known.find(({ id }) => String(id) === target);
  if (slot) return [{ name: slot.name, ids: [slot.id] }];
  const pattern = namePattern(target);
  return pattern ? whole(known.filter(({ name }) => pattern.test(name))) : [];
}

/** @param {string} target @param {Named[]} known */
function notFound(target, known) {
  const near = nearWords(target, [...new Set(known.map(({ name }) => name))]);
  const message = target === 'all' ? 'There is no app in the list, and none in the log of events.' : `There is no app, namespace or id "${target}" in the list, nor in the log of events.`;
  return new NclustError('ERR_NCLUST_APP_NOT_FOUND', message, { hint: near.length > 0 ? `Did you mean ${near.slice(0, 5).map((name) => `"${name}"`).join(' or ')}?` : 'See: nclust list', data: { target } });
}

/**
 * @param {Meant[]} meant
 * @returns {(event: LoggedEvent) => boolean}
 */
export function isAbout(meant) {
  const ids = new Map(meant.map((one) => [one.name, one.ids]));
  return ({ app, id }) => app !== undefined && ids.has(app) && (id === undefined || ids.get(app)?.includes(id) !== false);
}
