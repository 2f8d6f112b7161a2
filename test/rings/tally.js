/**
 * Counts of a ring, from what vitest prints: each run ends with a line such as "Tests  2 failed | 310 passed (312)" and a
 * line `flaky: file > title` for each test that needed another try.
 * @param {string} output  Without colours; of one vitest run or several.
 * @returns {{ passed: number, failed: number, flaky: number }}
 */
export function tallyOf(output) {
  const lines = output.split('\n');
  const totals = lines.filter((line) => /^ *Tests +\d/.test(line));
  const sum = (/** @type {string} */ word) => totals.reduce((all, line) => all + Number(new RegExp(`(\\d+) ${word}`).exec(line)?.[1] ?? 0), 0);
  return { passed: sum('passed'), failed: sum('failed'), flaky: lines.filter((line) => line.startsWith('flaky: ')).length };
}
