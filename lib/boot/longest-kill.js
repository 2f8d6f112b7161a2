import { readFileSync } from 'node:fs';
import { homePaths } from '../shared/paths.js';

/**
 * @param {string} home
 * @returns {number}  The longest kill_timeout of the apps that are kept there.
 */
export function longestKillMs(home) {
  try {
    const { apps } = JSON.parse(readFileSync(homePaths(home).state, 'utf8'));
    return Math.max(0, ...apps.map((/** @type {{spec: {killTimeoutMs?: number}}} */ { spec }) => spec.killTimeoutMs ?? 0));
  } catch {
    return 0; // No state, no apps.
  }
}
