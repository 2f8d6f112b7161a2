import { areVariables } from '../shared/spec/environment.js';

/** What PM2 puts into the environment of an app besides what the user said. PM2_SERVE_* is what its file server is configured by. */
const OF_PM2 = /^(PM2_(?!SERVE_)|pm_|axm_)|^(unique_id|km_link|NODE_APP_INSTANCE)$/;

/**
 * The variables of an app, in two: those that the shell has which imports it (and so most likely had the one that started it), and those that only the
 * app has. The first are replaced by --update-env, the second stay.
 * @param {Record<string, unknown>} env  `pm2_env.env`.
 * @param {object} o
 * @param {string} o.name  Of the app: PM2 keeps the settings of modules under it.
 * @param {string} o.instanceVar
 * @param {Record<string, string|undefined>} o.shell
 * @returns {{shell: Record<string, string>, own: Record<string, string>, left: string[]}}  `left`: names of those that no environment can hold.
 */
export function splitEnvironment(env, { name, instanceVar, shell }) {
  /** @type {{shell: Record<string, string>, own: Record<string, string>, left: string[]}} */
  const split = { shell: {}, own: {}, left: [] };
  for (const [key, value] of Object.entries(env)) {
    if (value === null || value === undefined || key === '' || key === instanceVar || OF_PM2.test(key)) continue;
    if (key === name && isSettings(value)) continue;
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
    if (areVariables({ [key]: text })) split[shell[key] === undefined ? 'own' : 'shell'][key] = text;
    else split.left.push(key);
  }
  return split;
}

/** @param {unknown} value */
function isSettings(value) {
  return typeof value === 'object' || (typeof value === 'string' && value.startsWith('{'));
}
