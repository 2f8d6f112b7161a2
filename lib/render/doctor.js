import { clockTime, formatBytes } from '../figures/format.js';
import { formatPlace } from '../shared/address.js';
import { renderColumns } from './table.js';
import { escapeControls, jsonLine, toOneLine } from './text.js';

/** @import { Facts } from '../doctor/facts.js' */
/** @import { Finding } from '../doctor/findings.js' */
/** @import { View } from './list.js' */
/** @import { Cell } from './table.js' */

const COLOURS = /** @type {const} */ ({ bad: 'red', warn: 'yellow', note: 'cyan' });

/**
 * @param {{ findings: Finding[], facts: Pick<Facts, 'sockets'> }} data
 * @param {View} view
 */
export function renderDoctor({ findings, facts }, view) {
  return `${findingLines(findings, view)}${socketLines(facts.sockets, view)}`;
}

/**
 * @param {Facts['sockets']} sockets
 * @param {Pick<View, 'paint' | 'columns'>} view
 */
function socketLines(sockets, { paint, columns }) {
  if (sockets.length === 0) return '';
  const rows = sockets.map(({ app, address, port, users }) => [
    toOneLine(formatPlace({ address, port })),
    toOneLine(app),
    users.length === 0
      ? 'held for its next instance'
      : users.map(({ slot, pid }) => `instance ${slot} (pid ${pid})`).join(', '),
  ]);
  const lines = renderColumns(rows, { paint, columns }).map((line) => `  ${line}\n`);
  return `${paint('bold', 'Held sockets')}\n${lines.join('')}`;
}

/**
 * @param {Finding[]} findings
 * @param {Pick<View, 'paint' | 'columns'>} view
 */
function findingLines(findings, { paint, columns }) {
  if (findings.length === 0) return 'No problem was found.\n';
  /** @type {Cell[][]} */
  const rows = findings.flatMap(({ level, what, remedy }) => [
    [{ text: level, style: COLOURS[level] }, what],
    ['', { text: remedy, style: 'grey' }],
  ]);
  return renderColumns(rows, { paint, columns })
    .map((line) => `${line}\n`)
    .join('');
}

/**
 * @param {{ facts: Facts, findings: Finding[], log: string[] }} data
 * @param {View} view
 */
export function renderReport({ facts, findings, log }, view) {
  const plain = { ...view, columns: null, paint: (/** @type {string} */ _colour, /** @type {string} */ text) => text };
  return [
    section('nclust', machine(facts, view.nowMs).map(toOneLine)),
    section(
      'apps',
      facts.slots.map(
        (slot) =>
          `${slot.id} ${toOneLine(slot.name)} ${slot.mode} ${slot.status} restarts ${slot.restarts} cpu ` +
          `${slot.cpu.toFixed(0)}% mem ${formatBytes(slot.memoryBytes)} node ${toOneLine(slot.nodeVersion ?? '-')}`,
      ),
    ),
    `--- doctor\n${renderDoctor({ findings, facts }, /** @type {View} */ (plain))}`,
    section('the last lines of nclust.log', log.map(toOneLine)),
  ].join('\n');
}

/**
 * @param {Facts} facts
 * @param {number} nowMs
 */
function machine(facts, nowMs) {
  const { version, node, system, cpus, memory, disk, group, openFiles, sysctls, manager, silence, home } = facts;
  const running = manager
    ? `${manager.version}, keeper ${manager.keeperVersion}, Node.js ${manager.nodeVersion}, ` +
      `since ${clockTime(manager.startedAtMs, nowMs)}`
    : silence
      ? 'does not answer'
      : 'not running';
  const space = disk ? `, ${formatBytes(disk.freeBytes)} of ${formatBytes(disk.totalBytes)} free` : '';
  const kind = `${disk?.isMemory ? ', in memory' : ''}${disk?.isRemote ? ', remote' : ''}`;
  return [
    `command        ${version}, Node.js ${node.version}`,
    `manager        ${running}`,
    `system         ${system}, ${cpus} CPUs, ${formatBytes(memory.freeBytes)} of ` +
      `${formatBytes(memory.totalBytes)} memory free`,
    `home           ${home}${space}${kind}`,
    `open files     ${openFiles ?? 'unknown'}`,
    `control group  memory ${limit(group.nowBytes, group.maxBytes, formatBytes)}, processes ` +
      `${limit(group.pidsNow, group.pidsMax, String)}`,
    ...Object.entries(sysctls).map(([key, value]) => `${key} = ${value}`),
  ];
}

/**
 * @param {number | null} now
 * @param {number | null} max
 * @param {(value: number) => string} format
 */
function limit(now, max, format) {
  return `${now === null ? 'unknown' : format(now)}${max === null ? ', no limit' : ` of ${format(max)}`}`;
}

/**
 * @param {string} title
 * @param {string[]} lines
 */
function section(title, lines) {
  return `--- ${title}\n${lines.map((line) => `${line}\n`).join('')}`;
}

/**
 * @param {{ facts: Facts }} data
 * @param {View} view
 * @returns {string}  JSON on one line. With --tree: one fact on each line.
 */
export function renderMachine({ facts }, { options }) {
  const { slots: _slots, troubles: _troubles, ...machine } = facts;
  return options.tree ? escapeControls(branch(machine, '')) : `${jsonLine(machine)}\n`;
}

/**
 * @param {object} value
 * @param {string} indent
 * @returns {string}
 */
function branch(value, indent) {
  return Object.entries(value)
    .map(([key, one]) => {
      if (typeof one !== 'object' || one === null) return `${indent}${key}: ${one}\n`;
      return `${indent}${key}:\n${branch(one, `${indent}  `)}`;
    })
    .join('');
}
