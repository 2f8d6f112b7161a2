import { readFileSync } from 'node:fs';

/**
 * The version of this installation, from its package.json. Read on demand, because most commands
 * never show it.
 * @returns {string}
 */
export function readVersion() {
  const file = new URL('../../package.json', import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')).version;
}
