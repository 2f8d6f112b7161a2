import { existsSync, readFileSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { readSegments } from '../../daemon/control/logs/archive/segments.js';

/** @import { Segment } from '../../daemon/control/logs/archive/segments.js' */

/** @param {string} path */
export function wholeLog(path) {
  // Reads the active file first. If the log is rotated between the two reads, some lines appear
  // twice, but no line is missing.
  const active = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  return Buffer.concat([...readSegments(path).map(contentOf), active]).toString('utf8');
}

/**
 * @param {Segment} segment
 * @returns {Buffer}
 */
function contentOf({ path, compression }) {
  if (compression === 'gzip') return gunzipSync(readFileSync(path));
  // The manager may have compressed the file after readSegments() found it.
  return existsSync(path) ? readFileSync(path) : gunzipSync(readFileSync(`${path}.gz`));
}

/** @param {string} path */
export function wholeLogLines(path) {
  return wholeLog(path).split('\n').slice(0, -1);
}

/**
 * Resolves at the next write to the log, even if the log is rotated before that write.
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
