import { cpSync, existsSync, readdirSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FIXTURES = fileURLToPath(new URL('../fixtures', import.meta.url));

/** @param {string} fixture  A file name with or without extension. */
export function fixturePath(fixture) {
  if (existsSync(join(FIXTURES, fixture))) return join(FIXTURES, fixture);
  const found = readdirSync(FIXTURES).find((entry) => basename(entry, extname(entry)) === fixture);
  if (!found) throw new Error(`There is no fixture "${fixture}" in ${FIXTURES}.`);
  return join(FIXTURES, found);
}

/**
 * Copies the fixture out of the project, because our package.json would change how it runs.
 * @param {string} fixture
 * @param {string} folder
 * @param {string} [as]
 * @returns {string}
 */
export function placeFixture(fixture, folder, as) {
  const from = fixturePath(fixture);
  const to = join(folder, as ?? basename(from));
  cpSync(from, to, { recursive: true });
  return to;
}
