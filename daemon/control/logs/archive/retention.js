import { compareAge } from './segments.js';

/** @import { LogLimits } from '../../context.js' */
/** @import { Segment } from './segments.js' */

/**
 * @typedef {object} RetainedFile
 * @property {string} app
 * @property {number} activeBytes
 * @property {boolean} isInHome  Counts for the limit of the home.
 * @property {Limits | null} limits  Null: no process writes to the file, so only the home's limit
 *   applies.
 * @property {Segment[]} segments
 */

/**
 * `Infinity`: no limit.
 * @typedef {Pick<LogLimits, 'maxFiles' | 'maxAgeMs' | 'maxTotalBytes'>} Limits
 */

/**
 * Returns the segments that have to be removed. Active files stay.
 * @param {RetainedFile[]} files
 * @param {{ homeMaxTotalBytes: number, nowMs: number }} o
 */
export function planRetention(files, { homeMaxTotalBytes, nowMs }) {
  /** @type {Set<Segment>} */
  const going = new Set();
  for (const { segments, limits } of files)
    if (limits) for (const segment of surplus(segments, limits, nowMs)) going.add(segment);
  for (const [limitBytes, group] of byApp(files))
    for (const segment of overTotal(group, limitBytes, going)) going.add(segment);
  const inHome = files.filter(({ isInHome }) => isInHome);
  for (const segment of overTotal(inHome, homeMaxTotalBytes, going)) going.add(segment);
  return [...going];
}

/**
 * @param {Segment[]} segments
 * @param {Limits} limits
 * @param {number} nowMs
 */
function surplus(segments, { maxFiles, maxAgeMs }, nowMs) {
  const newestFirst = [...segments].sort(compareAge).reverse();
  return newestFirst.filter(({ endedAtMs }, at) => at >= maxFiles || nowMs - endedAtMs > maxAgeMs);
}

/**
 * @param {RetainedFile[]} files
 * @returns {[number, RetainedFile[]][]}  For each app: its strictest limit on the total size,
 *   and its files that have limits.
 */
function byApp(files) {
  /** @type {Map<string, RetainedFile[]>} */
  const apps = new Map();
  for (const file of files) {
    if (!file.limits) continue;
    const group = apps.get(file.app);
    if (group) group.push(file);
    else apps.set(file.app, [file]);
  }
  return [...apps.values()].map((group) => [
    Math.min(...group.map(({ limits }) => limits?.maxTotalBytes ?? Infinity)),
    group,
  ]);
}

/**
 * @param {RetainedFile[]} files
 * @param {number} limitBytes
 * @param {Set<Segment>} going  Segments that are already chosen for removal.
 * @returns {Segment[]}  The oldest segments: as many as it takes until the other segments and the
 *   active files are within the limit. All segments if the active files alone exceed the limit.
 */
function overTotal(files, limitBytes, going) {
  if (limitBytes === Infinity) return [];
  const staying = files
    .flatMap(({ segments }) => segments)
    .filter((segment) => !going.has(segment))
    .sort(compareAge);
  const active = files.reduce((sum, { activeBytes }) => sum + activeBytes, 0);
  let total = staying.reduce((sum, { sizeBytes }) => sum + sizeBytes, active);
  const oldest = [];
  for (const segment of staying) {
    if (total <= limitBytes) break;
    oldest.push(segment);
    total -= segment.sizeBytes;
  }
  return oldest;
}
