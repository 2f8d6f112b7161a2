import { NclustError } from '../../../lib/shared/errors.js';
import { shellQuote } from '../../../lib/shared/shell-quote.js';
import { changeAllSpecs, findApp, hasSlot } from './desired.js';
import { findSlot } from './registry.js';

/** @import { DesiredApp, Change, Desired } from './desired.js' */
/** @import { Registry } from './registry.js' */

/**
 * If a rollout fails, the app keeps the new name. The sockets stay under the first name. Throws
 * ERR_NCLUST_USAGE if `ids` contains slots of several apps, or only some slots of the app. Throws
 * ERR_NCLUST_APP_EXISTS if another app has the name.
 * @param {Desired} desired  The desired state before any other change.
 * @param {number[]} ids
 * @param {string | undefined} name
 * @returns {(change: Change) => Change}  Has to be the last step of the change.
 */
export function renameApp(desired, ids, name) {
  const asIs = (/** @type {Change} */ change) => change;
  if (name === undefined) return asIs;
  const apps = desired.apps.filter((app) => ids.some((id) => hasSlot(app, id)));
  const [app] = apps;
  if (!app || (apps.length === 1 && app.spec.name === name)) return asIs;
  if (apps.length > 1 || app.slots.some(({ id }) => !ids.includes(id))) throw notOneApp(apps, name);
  if (findApp(desired, name)) throw nameTakenError(app, name);
  return (change) => ({
    ...change,
    desired: {
      ...change.desired,
      apps: change.desired.apps.map((one) => (one.spec.name === app.spec.name ? withName(one, name) : one)),
    },
  });
}

/**
 * @param {DesiredApp} app
 * @param {string} name
 * @returns {DesiredApp}
 */
function withName(app, name) {
  return { ...changeAllSpecs(app, (spec) => ({ ...spec, name })), scope: app.scope ?? app.spec.name };
}

/** @param {Registry} registry */
export function renameRunning(registry) {
  const getName = (/** @type {{ id: number, name: string }} */ { id, name }) =>
    findSlot(registry, id)?.app.spec.name ?? name;
  for (const seat of registry.seats.values()) seat.name = getName(seat);
  for (const instance of registry.instances.values()) {
    const { label, instanceId } = instance;
    const name = getName(label);
    if (instance.isStray || name === label.name) continue;
    instance.label = { ...label, name };
    const sample = registry.samples.get(instanceId);
    if (sample) sample.name = name;
  }
}

/**
 * @param {DesiredApp[]} apps
 * @param {string} name
 */
function notOneApp(apps, name) {
  const names = apps.map(({ spec }) => `"${spec.name}"`).join(', ');
  const what = apps.length > 1 ? `${names} are ${apps.length} apps` : `this is a part of ${names}`;
  return new NclustError(
    'ERR_NCLUST_USAGE',
    `"${name}" can be the name of only one whole app, but ${what}. Nothing was changed.`,
    { hint: `Name one app: nclust restart ${shellQuote(apps[0].spec.name)} --name ${shellQuote(name)}` },
  );
}

/**
 * @param {DesiredApp} app
 * @param {string} name
 */
function nameTakenError({ spec }, name) {
  return new NclustError(
    'ERR_NCLUST_APP_EXISTS',
    `"${spec.name}" cannot be renamed to "${name}": another app has that name. Nothing was changed.`,
    { hint: 'Choose another name, or rename or delete that one first.', data: { name } },
  );
}
