/** @import { ConfigExport, ConfigFunction } from './config-types.js' */

/**
 * Types a config for editors. Returns its argument.
 * @template {ConfigExport | ConfigFunction} T
 * @param {T} config
 */
export function defineConfig(config) {
  return config;
}
