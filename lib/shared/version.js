import { readFileSync } from 'node:fs';

/**
 * Reads package.json on demand, because most commands never show the version.
 * @returns {string}
 */
export function readVersion() {
  const file = new URL('../../package.json', import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')).version;
}
