import { oneLine } from './text.cjs';

/**
 * @param {{env: Record<string, string>}} data
 * @param {import('./list.js').View} view
 * @returns {string}  "KEY: value", as PM2 prints it.
 */
export function renderEnv({ env }, { paint }) {
  return Object.entries(env).map(([key, value]) => `${oneLine(key)}: ${paint('green', oneLine(value))}\n`).join('');
}
