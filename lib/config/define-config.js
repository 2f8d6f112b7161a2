/**
 * Says what a config file exports, so that an editor knows its attributes. It returns what it is given.
 * @template {import('./config-types.js').ConfigExport|import('./config-types.js').ConfigFunction} T
 * @param {T} config
 * @returns {T}
 */
export function defineConfig(config) {
  return config;
}
