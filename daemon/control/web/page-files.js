import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What a browser is told about a file. @typedef {{type: string, bytes: Buffer, etag: string}} PageFile */

export const PAGE_FOLDER = fileURLToPath(new URL('./page', import.meta.url));

/** @type {Record<string, string>} */
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

/**
 * What the command line and the page say in the same words: files of ours without imports of the system, by the path they have in the installation. A module of
 * the page imports them as if it lay on the disk; a browser goes no higher than "/".
 */
const SHARED = [
  'lib/render/death.js', 'lib/render/event-text.js', 'lib/render/time.js', 'lib/render/log-text.js', 'lib/render/why-answer.js', 'lib/render/why-fold.js', 'lib/shared/units.js',
];

const ROOT = new URL('../../../', import.meta.url);

/** Of the package that draws the charts. @type {Record<string, string>} */
const OF_PACKAGES = { '/uplot.js': 'uplot/dist/uPlot.esm.js', '/uplot.css': 'uplot/dist/uPlot.min.css' };

/**
 * Everything there is, by the path it is asked for with: what is not in this table is not served, whatever is asked. It is read once, so that an update of the
 * installation cannot mix two versions of the page.
 * @param {string} [folder]
 * @returns {Map<string, PageFile>}  Throws what the file system says.
 */
export function readPageFiles(folder = PAGE_FOLDER) {
  const { resolve } = createRequire(import.meta.url);
  const own = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && Object.hasOwn(TYPES, extname(entry.name)))
    .map(({ name }) => /** @type {const} */ ([name === 'index.html' ? '/' : `/${name}`, readPageFile(join(folder, name))]));
  const borrowed = Object.entries(OF_PACKAGES).map(([path, name]) => /** @type {const} */ ([path, readPageFile(resolve(name))]));
  const shared = SHARED.map((path) => /** @type {const} */ ([`/${path}`, readPageFile(fileURLToPath(new URL(path, ROOT)))]));
  return new Map([...own, ...borrowed, ...shared]);
}

/** @param {string} file @returns {PageFile} */
function readPageFile(file) {
  const bytes = readFileSync(file);
  return { type: TYPES[extname(file)], bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 27)}"` };
}
