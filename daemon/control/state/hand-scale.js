/** @import { AppWish } from './desired.js' */

/**
 * Remembers what number an app had before somebody scaled it by hand: a config file that still says that one has not been asked for another.
 * @param {AppWish} app
 * @param {number} count  What it is scaled to.
 * @returns {AppWish}
 */
export function scaledByHand(app, count) {
  const before = app.scaledFrom ?? app.slots.length;
  return before === count ? asDeclared(app) : { ...app, scaledFrom: before };
}

/**
 * It has the number that was declared.
 * @param {AppWish} app
 * @returns {AppWish}
 */
export function asDeclared(app) {
  if (app.scaledFrom === undefined) return app;
  const { scaledFrom: _, ...rest } = app;
  return rest;
}

/**
 * @param {AppWish} app
 * @param {number} declared  By a file.
 * @returns {boolean}  Whether the number it was scaled to goes on to count.
 */
export function keepsScale({ scaledFrom, slots }, declared) {
  return scaledFrom === declared && slots.length !== declared;
}
