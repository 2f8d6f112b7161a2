/** @import { ConfigExport, ConfigFunction } from './config-types.js' */

/**
 * Returns its argument. Editors then know the attributes of a config file.
 * @template {ConfigExport | ConfigFunction} T
 * @param {T} config
 */
export function defineConfig(config) {
  return config;
}
