import { stripVTControlCharacters } from 'node:util';

/** @import { ErrorLines } from '../../../lib/shared/metrics.js' */

const [NEWLINE, TAB, SPACE] = Buffer.from('\n\t ');

/** In a flood, the lines at the beginning of a chunk stand for the rest. */
const COUNTED_BYTES = 1024;
/** `perS` is the average of this many seconds. */
const RECENT_S = 10;
/** `usualPerS` is the median of this many minutes. It is not known before USUAL_MIN of them. */
const MINUTES = 60;
const USUAL_MIN = 10;
/** Texts of lines are compared in windows of this length. Two windows cover the last minute. */
const WINDOW_S = 30;
const TEXTS_MAX = 16;
/** Only this many lines of an app are read in a second. All others are only counted. */
const LOOKS_PER_S = 50;
const LINE_MAX_BYTES = 800;
const TEXT_MAX_CHARS = 200;

/** @type {Readonly<ErrorLines>} */
const NONE = Object.freeze({ perS: 0, usualPerS: 0, line: null, share: null, total: 0 });
/** @type {Readonly<ErrorLines>} */
const NONE_YET = Object.freeze({ ...NONE, usualPerS: null });

/** UUIDs, hexadecimal ids and numbers. A word of hexadecimal letters alone is not an id. */
const VARYING = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|\b0x[0-9a-f]+|\b(?=[a-f]*\d)[0-9a-f]{6,}\b|\d+/gi;

/**
 * Counts the lines on stderr of each app.
 * @typedef {object} ErrorCounts
 * @property {(app: string, chunk: Buffer) => void} take  Copies what it keeps.
 * @property {(app: string) => ErrorLines | null} of  Null: the app is not known yet.
 * @property {(apps: string[]) => void} keep  Begins to count for new apps. Forgets all others.
 */

/**
 * @param {() => number} [nowMono]
 * @returns {ErrorCounts}
 */
export function createErrorCounts(nowMono = () => performance.now()) {
  /** @type {Map<string, ReturnType<typeof createAppCount>>} */
  const counts = new Map();
  const getCount = (/** @type {string} */ app) => {
    const count = counts.get(app) ?? createAppCount(nowMono());
    counts.set(app, count);
    return count;
  };
  return {
    take: (app, chunk) => getCount(app).take(chunk, nowMono()),
    of: (app) => counts.get(app)?.read(nowMono()) ?? null,
    keep(apps) {
      const kept = new Set(apps);
      for (const app of counts.keys()) if (!kept.has(app)) counts.delete(app);
      for (const app of kept) getCount(app);
    },
  };
}

/** @param {number} bornMono */
function createAppCount(bornMono) {
  let total = 0;
  let second = 0;
  /** Lines of each of the last seconds, the current one first. */
  let seconds = [0];
  /** Lines of each complete minute. */
  let minutes = /** @type {number[]} */ ([]);
  let minuteBeganAt = 0;
  /** Of `minutes`. @type {number | null} */
  let usualPerS = null;
  let looks = 0;
  let texts = createTextCount();
  let earlierTexts = createTextCount();

  /** @param {number} atMono */
  function advance(atMono) {
    const now = Math.floor((atMono - bornMono) / 1000);
    if (now === second) return;
    seconds = [...new Array(Math.min(now - second, RECENT_S)).fill(0), ...seconds].slice(0, RECENT_S);
    const passedMinutes = Math.floor(now / 60) - Math.floor(second / 60);
    if (passedMinutes > 0) {
      const quiet = new Array(Math.min(passedMinutes - 1, MINUTES)).fill(0);
      minutes = [...minutes, total - minuteBeganAt, ...quiet].slice(-MINUTES);
      minuteBeganAt = total;
      usualPerS = computeUsual(minutes);
    }
    const passedWindows = Math.floor(now / WINDOW_S) - Math.floor(second / WINDOW_S);
    if (passedWindows > 0) {
      earlierTexts = passedWindows === 1 ? texts : createTextCount();
      texts = createTextCount();
    }
    second = now;
    looks = 0;
  }

  /** @param {Buffer} chunk */
  function look(chunk) {
    for (let from = 0; looks < LOOKS_PER_S; looks += 1) {
      const end = chunk.indexOf(NEWLINE, from);
      if (end === -1) return;
      // Indented lines are frames of a stack, which many errors share.
      const isFirst = chunk[from] !== SPACE && chunk[from] !== TAB;
      const text = isFirst ? blank(chunk.subarray(from, Math.min(end, from + LINE_MAX_BYTES))) : '';
      if (text !== '') texts.add(text);
      from = end + 1;
    }
  }

  return {
    /**
     * @param {Buffer} chunk
     * @param {number} atMono
     */
    take(chunk, atMono) {
      advance(atMono);
      const lines = countLines(chunk);
      total += lines;
      seconds[0] += lines;
      look(chunk);
    },
    /**
     * @param {number} atMono
     * @returns {ErrorLines}
     */
    read(atMono) {
      // Most apps write nothing, and the judge asks for all of them.
      if (total === 0) return atMono - bornMono < USUAL_MIN * 60_000 ? NONE_YET : NONE;
      advance(atMono);
      return {
        perS: seconds.reduce((sum, lines) => sum + lines, 0) / RECENT_S,
        usualPerS,
        ...findMostFrequent(earlierTexts, texts),
        total,
      };
    },
  };
}

/**
 * @param {number[]} minutes
 * @returns {number | null}
 */
function computeUsual(minutes) {
  if (minutes.length < USUAL_MIN) return null;
  const middle = minutes.toSorted((a, b) => a - b)[minutes.length >> 1];
  return Math.round((middle / 60) * 100) / 100;
}

/** @param {Buffer} chunk */
function countLines(chunk) {
  const counted = chunk.subarray(0, COUNTED_BYTES);
  let lines = 0;
  for (let at = counted.indexOf(NEWLINE); at !== -1; at = counted.indexOf(NEWLINE, at + 1)) lines += 1;
  return chunk.length === counted.length ? lines : Math.round((lines * chunk.length) / COUNTED_BYTES);
}

/** @param {Buffer} line */
function blank(line) {
  return stripVTControlCharacters(line.toString('utf8')).trim().replace(VARYING, '#').slice(0, TEXT_MAX_CHARS);
}

/**
 * Finds frequent texts in bounded memory: a new text takes the place and the count of the rarest
 * one ("space-saving", Metwally et al. 2005). A text with more than a 16th of the lines is not
 * lost.
 */
function createTextCount() {
  /** @type {Map<string, number>} */
  const counts = new Map();
  let lines = 0;
  return {
    counts,
    lines: () => lines,
    /** @param {string} text */
    add(text) {
      lines += 1;
      let count = counts.get(text) ?? 0;
      if (count === 0 && counts.size === TEXTS_MAX) {
        const [rarest] = [...counts].reduce((one, other) => (other[1] < one[1] ? other : one));
        count = counts.get(rarest) ?? 0;
        counts.delete(rarest);
      }
      counts.set(text, count + 1);
    },
  };
}

/**
 * @param {ReturnType<typeof createTextCount>[]} windows
 * @returns {Pick<ErrorLines, 'line' | 'share'>}
 */
function findMostFrequent(...windows) {
  const texts = [...new Set(windows.flatMap(({ counts }) => [...counts.keys()]))];
  if (texts.length === 0) return { line: null, share: null };
  const sum = (/** @type {string} */ text) => windows.reduce((total, { counts }) => total + (counts.get(text) ?? 0), 0);
  const line = texts.reduce((one, other) => (sum(other) > sum(one) ? other : one));
  const lines = windows.reduce((total, one) => total + one.lines(), 0);
  return { line, share: Math.min(1, Math.round((sum(line) / lines) * 100) / 100) };
}
