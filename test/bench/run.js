// Measures and prints the values beside their bounds. `node run.js [--runs N] [--only word]
// [--write]`
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { measureBalance } from './figures/balance.js';
import { measureIdleCpu } from './figures/idle-cpu.js';
import { measureKillToServing } from './figures/kill-to-serving.js';
import { measureCommandTime, measureListTime, measureLongList } from './figures/list-time.js';
import { measureLogs } from './figures/logs.js';
import { measureMemory } from './figures/memory.js';
import { measureMetrics } from './figures/metrics.js';
import { measureMonit } from './figures/monit.js';
import { measureReloadLosses } from './figures/reload-losses.js';
import { measureReloadTime } from './figures/reload-time.js';
import { measureSlowRoute } from './figures/slow-route.js';
import { measureStartTime } from './figures/start-time.js';
import { measureThroughput } from './figures/throughput.js';

/**
 * The value of nclust must be at most `bound`. With `isAtLeast`, it must be at least `bound`.
 * @typedef {object} Row
 * @property {string} what
 * @property {string} unit
 * @property {number} nclust
 * @property {number | null} pm2
 * @property {number | null} [cluster]  Null: node:cluster alone cannot do what the row measures.
 * @property {number} bound
 * @property {string} boundIs
 * @property {number} [ratio]  nclust divided by the peer in `boundIs`. Both are measured in turns.
 *   If there is a ratio, `bound` applies to the ratio, because a ratio varies less than the speed
 *   of a machine.
 * @property {boolean} [isAtLeast]
 * @property {boolean} [isInformation]  The row is shown, but `bound` does not apply.
 */

const FIGURES = {
  memory: measureMemory,
  list: measureListTime,
  'long-list': measureLongList,
  command: measureCommandTime,
  start: measureStartTime,
  'idle-cpu': measureIdleCpu,
  kill: measureKillToServing,
  'slow-route': measureSlowRoute,
  'reload-losses': measureReloadLosses,
  'reload-time': measureReloadTime,
  balance: measureBalance,
  throughput: measureThroughput,
  logs: measureLogs,
  metrics: measureMetrics,
  monit: measureMonit,
};

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '3' },
    only: { type: 'string', multiple: true },
    write: { type: 'boolean', default: false },
  },
});

const rows = [];
for (const [name, measure] of Object.entries(FIGURES)) {
  if (values.only && !values.only.includes(name)) continue;
  process.stderr.write(`${name} ...\n`);
  rows.push(...(await measure({ runs: Number(values.runs) })));
}

const text = [heading(), '', ...table(rows), ''].join('\n');
process.stdout.write(`${text}\n`);
if (values.write) writeFileSync(new URL('./RESULTS.md', import.meta.url), `# Figures\n\n${text}`);
process.exitCode = rows.some((row) => verdict(row) === 'MISSED') ? 1 : 0;

function heading() {
  const version = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')).version;
  return [
    `nclust ${version('../../package.json')}, PM2 ${version('./node_modules/pm2/package.json')}, Node ` +
      `${process.version}, Linux ${release()}, ${cpus().length} x ${cpus()[0].model}, ` +
      `${Math.round(totalmem() / 2 ** 30)} GB, ${new Date().toISOString().slice(0, 10)}.`,
    `Command: \`npm run bench\` (medians of ${values.runs} runs; \`ls\` and kill figures of more).`,
  ].join('\n');
}

function table(lines) {
  const number = (value) => (Number.isInteger(value) ? String(value) : value.toFixed(Math.abs(value) < 10 ? 2 : 0));
  const cell = (value, unit) => (value === null || value === undefined ? '-' : `${number(value)} ${unit}`.trim());
  return [
    '| figure | nclust | PM2 | node:cluster | bound | verdict |',
    '| --- | ---: | ---: | ---: | --- | --- |',
    ...lines.map(
      (row) =>
        `| ${row.what} | ${cell(row.nclust, row.unit)} | ${cell(row.pm2, row.unit)} | ` +
        `${cell(row.cluster, row.unit)} | ${row.boundIs} ` +
        `(${row.ratio === undefined ? cell(row.bound, row.unit) : `is ${row.ratio.toFixed(2)} x`}) | ${verdict(row)} |`,
    ),
  ];
}

function verdict({ nclust, ratio = nclust, bound, isAtLeast, isInformation }) {
  if (isInformation) return '-';
  return (isAtLeast ? ratio >= bound : ratio <= bound) ? 'held' : 'MISSED';
}
