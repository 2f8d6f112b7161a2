import { basename, extname } from 'node:path';
import { parseDuration } from '../shared/units.js';

const YEAR_S = 31_536_000;

const PAGES = new Set(['.html', '.htm', '.xhtml']);

/** What bundlers put a hash into the name of. */
const ASSETS = new Set(['.js', '.mjs', '.css', '.map', '.wasm', '.woff', '.woff2', '.ttf', '.otf', '.eot', '.svg', '.png', '.jpg', '.jpeg', '.gif', '.webp', '.avif', '.ico', '.mp3', '.mp4', '.webm', '.json', '.txt']);

/**
 * @param {object} o
 * @param {string} o.cache  "" for the rules below, "none", or how long a file that is neither a page nor hashed is kept.
 * @param {boolean} o.isPrivate  Behind a password: not for caches that are shared.
 * @returns {(file: string) => string}  The Cache-Control header of a file.
 */
export function createCacheControl({ cache, isPrivate }) {
  const who = isPrivate ? 'private' : 'public';
  const maxAgeS = Math.floor((parseDuration(cache) ?? 0) / 1_000);
  return (file) => {
    if (cache === 'none') return 'no-store';
    if (PAGES.has(extname(file).toLowerCase())) return isPrivate ? 'private, no-cache' : 'no-cache';
    if (isHashed(file)) return `${who}, max-age=${YEAR_S}, immutable`;
    return maxAgeS === 0 ? `${who}, no-cache` : `${who}, max-age=${maxAgeS}`;
  };
}

/**
 * Whether the name has a hash of its content in it, as bundlers write it: app.3f2a9c1b.js, index-BfX2aZ9k.js, chunk-5QZ3ABCD.css. A word or a date is none:
 * a file that is taken for hashed would not be asked for again for a year.
 * @param {string} file
 * @returns {boolean}
 */
export function isHashed(file) {
  const name = basename(file);
  if (!ASSETS.has(extname(name).toLowerCase())) return false;
  return name.split('.').slice(0, -1).some((part) => HASHES.some((hash) => hash.test(part)));
}

const HASHES = [
  /(?:^|[-_])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,64}$/, // webpack, parcel
  /-(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z2-7]{8}$/, // esbuild
  /-(?=[\w-]*\d)(?=[\w-]*[a-z])(?=[\w-]*[A-Z])[\w-]{8}$/, // rollup, vite
];
