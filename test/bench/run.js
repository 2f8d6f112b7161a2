// Takes the figures and prints them beside their bounds. `node run.js [--runs N] [--only word] [--write]`
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { measureIdleCpu } from './figures/idle-cpu.js';
import { measureKillToServing } from './figures/kill-to-serving.js';
import { measureListTime, measureLongList } from './figures/list-time.js';
import { measureMemory } from './figures/memory.js';
import { measureSlowRoute } from './figures/slow-route.js';
import { measureStartTime } from './figures/start-time.js';

/**
 * One line of the table. nclust has to be at most `bound`, or at least that with `isAtLeast`.
 * @typedef {object} Row
 * @property {string} what
 * @property {string} unit
 * @property {number} nclust
 * @property {number|null} pm2
 * @property {number} bound
 * @property {string} boundIs
 * @property {boolean} [isAtLeast]
 * @property {boolean} [isInformation]  Shown, not judged.
 */

const FIGURES = { memory: measureMemory, list: measureListTime, 'long-list': measureLongList, start: measureStartTime, 'idle-cpu': measureIdleCpu, kill: measureKillToServing, 'slow-route': measureSlowRoute };

const { values } = parseArgs({ options: { runs: { type: 'string', default: '3' }, only: { type: 'string', multiple: true }, write: { type: 'boolean', default: false } } });

/** @type {Row[]} */
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
  const version = (/** @type {string} */ path) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')).version;
  return [
    `nclust ${version('../../package.json')}, PM2 ${version('./node_modules/pm2/package.json')}, Node ${process.version}, Linux ${release()}, ${cpus().length} x ${cpus()[0].model}, ${Math.round(totalmem() / 2 ** 30)} GB, ${new Date().toISOString().slice(0, 10)}.`,
    `Command: \`npm run bench\` (medians of ${values.runs} runs; \`ls\` and kill figures of more).`,
  ].join('\n');
}

/** @param {Row[]} lines */
function table(lines) {
  const number = (/** @type {number|null} */ value) => (value === null ? '-' : value.toFixed(Math.abs(value) < 10 ? 2 : 0));
  return [
    '| figure | nclust | PM2 | bound | verdict |',
    '| --- | ---: | ---: | --- | --- |',
    ...lines.map((row) => `| ${row.what} | ${number(row.nclust)} ${row.unit} | ${row.pm2 === null ? '-' : `${number(row.pm2)} ${row.unit}`} | ${row.boundIs} (${number(row.bound)} ${row.unit}) | ${verdict(row)} |`),
  ];
}

/** @param {Row} row */
function verdict({ nclust, bound, isAtLeast, isInformation }) {
  if (isInformation) return '-';
  return (isAtLeast ? nclust >= bound : nclust <= bound) ? 'held' : 'MISSED';
}
