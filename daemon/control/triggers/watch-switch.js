/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */

/**
 * `restart --watch`: what is watched is not any more, and the other way round. Of an app that has never watched anything it is where it runs.
 * @param {AppSpec} spec
 * @returns {AppSpec}
 */
export function toggleWatch(spec) {
  return spec.watch.length === 0 ? { ...spec, watch: ['.'], watchOff: false } : { ...spec, watchOff: !spec.watchOff };
}

/**
 * `stop --watch`
 * @param {AppSpec} spec
 * @returns {AppSpec}
 */
export function stopWatching(spec) {
  return { ...spec, watchOff: spec.watch.length > 0 };
}

/**
 * Whoever says what to watch wants it watched.
 * @param {Partial<AppSpec>} fields  That are set.
 * @returns {Partial<AppSpec>}
 */
export function asSwitched(fields) {
  return fields.watch === undefined || fields.watchOff !== undefined ? fields : { ...fields, watchOff: false };
}
