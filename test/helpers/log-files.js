import { existsSync, readFileSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { readSegments } from '../../daemon/control/logs/archive/segments.js';

/** @import { Segment } from '../../daemon/control/logs/archive/segments.js' */

/** @param {string} path */
export function wholeLog(path) {
  // Reads the active file first. After a rotation between the two reads, lines then appear twice,
  // but no line is missing.
  const active = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  return Buffer.concat([...readSegments(path).map(contentOf), active]).toString('utf8');
}

/**
 * @param {Segment} segment
 * @returns {Buffer}
 */
function contentOf({ path, compression }) {
  if (compression === 'gzip') return gunzipSync(readFileSync(path));
  // The manager may have compressed the file since it was listed.
  return existsSync(path) ? readFileSync(path) : gunzipSync(readFileSync(`${path}.gz`));
}

/** @param {string} path */
export function wholeLogLines(path) {
  return wholeLog(path).split('\n').slice(0, -1);
}

/**
 * The log may be rotated before the next write.
 * @param {string} path
 * @returns {Promise<void>}
 */
export function nextWrite(path) {
  return new Promise((resolve, reject) => {
    const watcher = watch(dirname(path), (event, name) => {
      if (event !== 'change' || name !== basename(path)) return;
      watcher.close();
      resolve();
    });
    watcher.once('error', reject);
  });
}
