/** @import { Control } from '../control.js' */

/**
 * The same control for somebody else: what is changed through it is put down to them, in events and in records of deaths.
 * @param {Control} control
 * @param {string} who
 * @returns {Control}
 */
export function askedBy(control, who) {
  /** @type {Control['mutate']} */
  const mutate = (method, token, change) => control.mutate(method, token, (desired) => {
    const changed = change(desired);
    const before = new Set(desired.apps);
    return { ...changed, desired: { ...changed.desired, apps: changed.desired.apps.map((app) => (before.has(app) ? app : { ...app, by: who })) } };
  });
  // Private fields are those of the object itself.
  return new Proxy(control, {
    get(target, key) {
      if (key === 'mutate') return mutate;
      const value = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
