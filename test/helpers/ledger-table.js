import { BUCKETS, percentileMs } from './ledger.js';

/** @import { Counts, Ledger } from './ledger.js' */

const SHOWN_FAILURES = 12;

/** @param {Ledger} ledger */
export function ledgerTable(ledger) {
  const kinds = [...ledger.kinds, ...(ledger.kinds.size > 1 ? [/** @type {const} */ (['all', ledger])] : [])];
  const rows = [
    ['', 'requests', ...BUCKETS, 'p50 ms', 'p99 ms', 'max ms', 'gap ms'],
    ...kinds.map(([kind, counts]) => [
      kind,
      String(counts.requests),
      ...BUCKETS.map((bucket) => String(counts[bucket])),
      ...times(counts),
    ]),
  ];
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const lines = rows.map((row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]))).join('  '),
  );
  return [...lines, ...noteLines(ledger), ...failureLines(ledger)].join('\n');
}

/**
 * @param {Ledger} ledger
 * @returns {string}
 */
export function ledgerLine(ledger) {
  const [p50, p99, max, gap] = times(ledger);
  return (
    `${ledger.requests} requests: ` +
    `${BUCKETS.map((bucket) => `${ledger[bucket]} ${bucket}`).join(', ')}; p50 ${p50} ms, p99 ${p99} ms, max ` +
    `${max} ms, longest gap ${gap} ms`
  );
}

/** @param {Counts} counts */
function times(counts) {
  return [
    percentileMs(counts, 0.5).toFixed(1),
    percentileMs(counts, 0.99).toFixed(1),
    percentileMs(counts, 1).toFixed(1),
    counts.longestGapMs.toFixed(0),
  ];
}

/** @param {Ledger} ledger */
function noteLines({ notes }) {
  return [...notes].map(([note, count]) => `  ${note}: ${count} times`);
}

/** @param {Ledger} ledger */
function failureLines({ failures }) {
  const shown = failures
    .slice(0, SHOWN_FAILURES)
    .map(({ kind, bucket, atMs, detail }) => `  ${kind} ${bucket} after ${(atMs / 1000).toFixed(2)} s: ${detail}`);
  return failures.length > SHOWN_FAILURES ? [...shown, `  and ${failures.length - SHOWN_FAILURES} more`] : shown;
}
