import { diffSpecs } from '../../../lib/app-spec/diff.js';

/** @import { LoggedEvent } from '../../../lib/shared/event-log.js' */
/** @import { LoopContext } from '../context.js' */
/** @import { DesiredApp, Desired } from '../state/desired.js' */
/** @import { Registry } from '../state/registry.js' */

/** @typedef {Omit<LoggedEvent, 'at'>} Untimed */

const ATTRIBUTES_MAX = 40;

/**
 * Call this while the registry still has the desired state from before the change. Events contain
 * names of attributes and variables, but never their values.
 * @param {LoopContext} context
 * @param {Desired} after
 * @param {string} method
 */
export function publishChanges({ journal, registry }, after, method) {
  const before = registry.desired;
  for (const record of [...changeEvents(before, after, method), ...leftSlots(registry, after)]) journal.publish(record);
}

/**
 * Skips slots that have a seat, because their step publishes the same when the seat ends.
 * @param {Registry} registry
 * @param {Desired} after
 */
function leftSlots({ desired, seats }, after) {
  const kept = new Set([...after.apps.flatMap(({ slots }) => slots), ...seats.values()].map(({ id }) => id));
  return desired.apps.flatMap(({ spec, slots }) =>
    slots
      .filter(({ id }) => !kept.has(id))
      .map(({ id, slot, generation }) => ({ type: 'left', app: spec.name, id, slot, generation, cause: 'delete' })),
  );
}

/**
 * @param {Desired} before
 * @param {Desired} after
 * @param {string} method
 * @returns {Untimed[]}
 */
function changeEvents(before, after, method) {
  const old = new Map(before.apps.map((app) => [app.spec.name, app]));
  const ids = new Set(after.apps.flatMap((app) => app.slots.map(({ id }) => id)));
  const changed = after.apps.flatMap((app) => {
    const was = old.get(app.spec.name) ?? getRenamed(before, app);
    if (was === app) return [];
    return was
      ? listChanges(was, app)
      : [{ type: 'added', ...describePlace(app), by: app.by, instances: app.slots.length }];
  });
  const kept = new Set(after.apps.map((app) => app.spec.name));
  const gone = before.apps.filter((app) => !kept.has(app.spec.name) && !app.slots.some(({ id }) => ids.has(id)));
  return [...changed, ...gone.map((app) => ({ type: 'deleted', ...describePlace(app), by: method }))];
}

/**
 * @param {Desired} before
 * @param {DesiredApp} app
 */
function getRenamed({ apps }, { slots }) {
  return apps.find((one) => one.slots.some(({ id }) => slots.some((slot) => slot.id === id)));
}

/**
 * @param {DesiredApp} app
 * @returns {Pick<LoggedEvent, 'app' | 'namespace' | 'generation'>}
 */
function describePlace({ spec, generation }) {
  return { app: spec.name, namespace: spec.namespace, generation };
}

/**
 * @param {DesiredApp} before
 * @param {DesiredApp} after
 * @returns {Untimed[]}
 */
function listChanges(before, after) {
  const { by } = after;
  const place = describePlace(after);
  const attributes =
    before.spec === after.spec
      ? []
      : [...new Set(diffSpecs(before.spec, after.spec).changes.map(({ attribute }) => attribute))];
  const stopped = after.slots.filter(
    (slot) =>
      slot.want === 'down' && !slot.isDone && before.slots.some(({ id, want }) => id === slot.id && want === 'up'),
  );
  return [
    ...(attributes.length > 0
      ? [{ type: 'config', ...place, by, attributes: attributes.slice(0, ATTRIBUTES_MAX) }]
      : []),
    ...(before.slots.length === after.slots.length
      ? []
      : [{ type: 'scaled', ...place, by, from: before.slots.length, to: after.slots.length }]),
    ...(after.generation > before.generation ? [noteRolloutBegun(after)] : []),
    ...(stopped.length > 0 ? [{ type: 'stop', ...place, by, slots: stopped.map(({ slot }) => slot) }] : []),
  ];
}

/**
 * @param {DesiredApp} app
 * @returns {Untimed}
 */
export function noteRolloutBegun(app) {
  const slots = app.slots.filter((slot) => slot.generation === app.generation);
  return {
    type: 'rollout:began',
    ...describePlace(app),
    by: app.by,
    cause: app.rollout.cause,
    isGuarded: app.rollout.isGuarded === true,
    instances: slots.length,
  };
}
