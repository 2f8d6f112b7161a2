import { faultAt } from './faults.js';
import { findAttribute, TOP_LEVEL } from './options/schema.js';

/** @typedef {import('./faults.js').Fault} Fault */

/**
 * What a config file holds, taken apart.
 * @typedef {object} Shape
 * @property {{keyPath: string, entry: unknown}[]} apps
 * @property {{keyPath: string, entry: unknown}[]} sites  Entries of `static`.
 * @property {Record<string, unknown>|null} deploy
 * @property {string[]} unknown  Keys beside them that mean nothing.
 * @property {Fault[]} faults
 */

/** Where a JSON file names its JSON Schema. */
export const FOR_EDITORS = '$schema';

const SHAPES = 'an app, a list of apps, or an object with a list "apps"';

/**
 * People write a list of apps in several ways.
 * @param {unknown} value  What the file holds or exports.
 * @param {string} [keyPath]
 * @returns {Shape}
 */
export function shapeOf(value, keyPath = '') {
  if (Array.isArray(value)) return shape({ apps: listed(value, keyPath) });
  if (!isRecord(value)) return shape({ faults: [faultAt(keyPath, holds(value), SHAPES)] });
  if (!TOP_LEVEL.some((key) => key in value)) return isApp(value) ? shape({ apps: [{ keyPath, entry: value }] }) : shape({ faults: [faultAt(keyPath, 'holds no apps', SHAPES)] });
  const inner = ['nclust', 'pm2'].find((key) => value[key] !== undefined);
  if (inner) return shapeOf(value[inner], within(keyPath, inner));
  const { apps = [], static: sites = [], deploy = null, ...others } = value;
  return shape({
    apps: Array.isArray(apps) ? listed(apps, within(keyPath, 'apps')) : [{ keyPath: within(keyPath, 'apps'), entry: apps }],
    sites: Array.isArray(sites) ? listed(sites, within(keyPath, 'static')) : [{ keyPath: within(keyPath, 'static'), entry: sites }],
    deploy: isRecord(deploy) ? deploy : null,
    unknown: Object.keys(others).filter((key) => key !== FOR_EDITORS).map((key) => within(keyPath, key)),
    faults: deploy === null || isRecord(deploy) ? [] : [faultAt(within(keyPath, 'deploy'), holds(deploy), 'an object')],
  });
}

/**
 * @param {string} keyPath
 * @param {string} key
 */
export function within(keyPath, key) {
  return keyPath === '' ? key : `${keyPath}.${key}`;
}

/**
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
export function isRecord(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @param {unknown} value */
export function holds(value) {
  return value === undefined || value === null ? 'holds nothing' : `is ${JSON.stringify(value)?.slice(0, 80)}`;
}

/** @param {Partial<Shape>} given @returns {Shape} */
function shape(given) {
  return { apps: [], sites: [], deploy: null, unknown: [], faults: [], ...given };
}

/**
 * @param {unknown[]} entries
 * @param {string} keyPath
 */
function listed(entries, keyPath) {
  return entries.map((entry, at) => ({ keyPath: `${keyPath}[${at}]`, entry }));
}

/** @param {Record<string, unknown>} value */
function isApp(value) {
  return Object.keys(value).some((key) => findAttribute(key)?.name === 'script' || key === 'name');
}
