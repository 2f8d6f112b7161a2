/** @import { ConfigExport, ConfigFunction } from './config-types.js' */

/**
 * Says what a config file exports, so that an editor knows its attributes. It returns what it is
 * given.
 * @template {ConfigExport | ConfigFunction} T
 * @param {T} config
 */
export function defineConfig(config) {
  return config;
}
