/** Of what a process wrote last, the log keeps this much. */
const LINES_KEPT = 6;
const CHARS_KEPT = 1_000;
const WORDS_MAX_CHARS = 300;

/** "TypeError: x is not a function", "Error [ERR_X]: ...", "panic: ...", "FATAL ERROR: ...", "ConnectionError: ...". */
const TELLING = /^\s*(?:Uncaught\s+)?(?:[\w$.]*(?:Error|Exception)\b(?: \[[^\]]+\])?|panic|fatal(?: error)?|Traceback.*)\s*:\s*\S/i;

/** Lines that stand around the reason in a stack trace. */
const AROUND = /^\s*(?:at |\^+\s*$|Node\.js v\d|$|[{}\]]|node:internal)/;

/**
 * What of the last lines is kept.
 * @param {string[]} lines  Oldest first.
 * @returns {{words?: string, lines?: string[]}}  `words`: the one that says why.
 */
export function lastWords(lines) {
  const words = lines.findLast((line) => TELLING.test(line)) ?? lines.findLast((line) => !AROUND.test(line));
  const kept = endOf(lines);
  return { ...(words ? { words: words.trim().slice(0, WORDS_MAX_CHARS) } : {}), ...(kept.length > 0 ? { lines: kept } : {}) };
}

/** @param {string[]} lines */
function endOf(lines) {
  let left = CHARS_KEPT;
  return lines.slice(-LINES_KEPT).reverse().flatMap((line) => {
    const part = line.slice(0, Math.max(0, left));
    left -= line.length;
    return part === '' ? [] : [part];
  }).reverse();
}
