import { rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseSegmentName, sizeOf, UNFINISHED } from './segments.js';

/** @import { SegmentName } from './segments.js' */
/** @import { Stock } from './inventory.js' */

/** Names that are read in one turn of the loop, and files that are looked at. */
const NAMES_AT_ONCE = 500;
const FILES_AT_ONCE = 4;

/**
 * Looks at every log file and segment there is, a few in each turn, and remembers what is there. What a death left unfinished is removed.
 * @param {Stock} stock
 * @param {string} logsFolder  Everything in it counts; elsewhere, what belongs to files that are remembered.
 * @param {() => string|null} compressing  The plain path of what is being compressed.
 * @returns {Promise<void>}  Rejects with what the file system says when something unfinished cannot be removed.
 */
export async function takeStock(stock, logsFolder, compressing) {
  const takeTurns = createTurns(FILES_AT_ONCE);
  const seen = new Set();
  for (const folder of new Set([logsFolder, ...stock.files().map(({ path }) => dirname(path))])) {
    const names = await readdir(folder).catch(() => /** @type {string[]} */ ([])); // Not made yet, or closed to us: there is nothing to keep.
    const isOurs = (/** @type {string} */ owner) => folder === logsFolder || stock.has(join(folder, owner));
    const { owners, others } = await sorted(names);
    for (const [owner, listed] of owners) {
      if (!isOurs(owner)) continue;
      seen.add(join(folder, owner));
      stock.refresh(join(folder, owner), listed);
      await takeTurns();
    }
    for (const name of others) {
      const unfinished = unfinishedOf(name);
      if (unfinished && isOurs(unfinished.owner)) {
        if (compressing() !== join(folder, unfinished.plainName)) rmSync(join(folder, name), { force: true });
      } else if (isOurs(name)) {
        const sizeBytes = sizeOf(join(folder, name));
        if (sizeBytes !== null) stock.setActive(join(folder, name), sizeBytes);
        if (sizeBytes !== null) seen.add(join(folder, name));
      }
      await takeTurns();
    }
  }
  for (const { path, limits } of stock.files()) if (limits === null && !seen.has(path)) stock.forget(path);
}

/** @param {string} name */
function unfinishedOf(name) {
  return name.endsWith(UNFINISHED) ? parseSegmentName(name.slice(0, -UNFINISHED.length)) : null;
}

/**
 * @param {string[]} names
 * @returns {Promise<{owners: Map<string, SegmentName[]>, others: string[]}>}  Segments by the name of their active file, and what is none.
 */
async function sorted(names) {
  const takeTurns = createTurns(NAMES_AT_ONCE);
  /** @type {Map<string, SegmentName[]>} */
  const owners = new Map();
  const others = [];
  for (const name of names) {
    const segment = parseSegmentName(name);
    const list = segment && owners.get(segment.owner);
    if (list) list.push(segment);
    else if (segment) owners.set(segment.owner, [segment]);
    else others.push(name);
    await takeTurns();
  }
  return { owners, others };
}

/**
 * @param {number} atOnce
 * @returns {() => Promise<void>|null}  Lets others have a turn now and then.
 */
function createTurns(atOnce) {
  let done = 0;
  return () => {
    done += 1;
    return done % atOnce === 0 ? new Promise((resolve) => void setImmediate(resolve)) : null;
  };
}
