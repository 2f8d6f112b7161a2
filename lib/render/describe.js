import { showReceivers } from '../app-spec/notify-fields.js';
import {
  describeMetric,
  describeReadiness,
  describeRestarts,
  describeStopSignal,
  listAddresses,
  UNIX_SOCKET,
} from '../figures/facts.js';
import { clockTime, formatAgo, formatCoarse } from '../figures/format.js';
import { oldestStart, onlineSince, statusWord, uptimeText } from '../figures/rows.js';
import { describeAutorestart, describeListenFailure, isCrash } from '../shared/death-text.js';
import { selectTroubles } from '../shared/troubles.js';
import { formatDuration } from '../shared/units.js';
import { describeDeath, isFinish } from './death.js';
import { known, logRows, triggerRows } from './describe-rows.js';
import { environmentLines } from './environment.js';
import { toSafeLine } from './log-lines.js';
import { statusStyle } from './slots.js';
import { renderTable } from './table.js';
import { toOneLine } from './text.js';
import { addWords, troubleLines } from './attention.js';

/** @import { Difference } from '../config/spec/environment-diff.js' */
/** @import { Trouble } from '../shared/troubles.js' */
/** @import { Death, LogEntry, SlotStatus } from '../shared/wire/protocol.js' */
/** @import { View } from './list.js' */
/** @import { Paint } from './paint.js' */
/** @import { Cell } from './table.js' */

/**
 * @param {object} data
 * @param {SlotStatus[]} data.slots  With detail.
 * @param {Trouble[]} [data.troubles]  The worst first.
 * @param {Record<number, Difference[]>} [data.differences]  By slot id.
 * @param {Record<number, LogEntry[]>} [data.errors]  The last lines of stderr, by slot id.
 * @param {View} view
 */
export function renderDescribe({ slots, troubles = [], differences = {}, errors = {} }, view) {
  return slots
    .map((slot) =>
      renderSlot(slot, view, {
        troubles: selectTroubles(troubles, [slot]),
        differences: differences[slot.id] ?? [],
        errors: errors[slot.id] ?? [],
      }),
    )
    .join('\n');
}

/**
 * @param {{ slots: SlotStatus[], troubles: Trouble[] }} data
 * @returns {object[]}  For --json: whole troubles with their words instead of kinds.
 */
export function describeData({ slots, troubles }) {
  return slots.map((slot) => ({
    ...slot,
    ...(slot.spec && { spec: { ...slot.spec, notify: showReceivers(slot.spec.notify) ?? [] } }),
    troubles: selectTroubles(troubles, [slot]).map((one) => addWords(one)),
  }));
}

/**
 * @param {SlotStatus} slot
 * @param {View} view
 * @param {{ troubles: Trouble[], differences: Difference[], errors: LogEntry[] }} about
 */
function renderSlot(slot, { paint, nowMs, columns }, { troubles, differences, errors }) {
  const parts = [
    paint('bold', `Process ${slot.id}: ${toOneLine(slot.name)}`),
    ...troubleLines(troubles, () => undefined, { paint, nowMs, columns: columns && columns - 2 }).map(
      (line) => `  ${line}`,
    ),
    ...summaryLines(slot, { nowMs, paint }),
    renderTable({
      rows: [
        ...stateRows(slot, nowMs),
        ...programRows(slot),
        ...logRows(slot),
        ...triggerRows(slot, nowMs),
        ...policyRows(slot),
      ],
      paint,
      columns,
      isWrapped: true,
    }).trimEnd(),
    ...customLines(slot, { paint, columns }),
    ...environmentLines(differences, paint),
    ...deathLines(slot, { nowMs, paint }),
    ...errorLines(errors, slot, { nowMs, paint }),
    paint('dim', `nclust logs ${slot.id} shows its output, nclust env ${slot.id} its environment.`),
  ];
  return `${parts.join('\n')}\n`;
}

/**
 * @param {SlotStatus} slot
 * @param {number} nowMs
 * @returns {Cell[][]}
 */
function stateRows(slot, nowMs) {
  const addresses = listAddresses([slot]);
  const status = statusWord(slot.status, slot.troubles);
  return [
    ['status', { text: status, style: statusStyle(status) }],
    ...known([['waiting for', slot.waitingFor]]),
    ['name', slot.name],
    ['namespace', slot.namespace],
    ['version', slot.version],
    ['pid', slot.pid ? String(slot.pid) : 'N/A'],
    ['restarts', String(slot.restarts)],
    ...known([['crashes', slot.crashes?.toString()]]),
    ['unstable restarts', String(slot.unstableRestarts)],
    ['uptime', uptimeText([slot], nowMs) || '0'],
    ['created at', clockTime(slot.createdAtMs, nowMs)],
    ...known([
      ['listening on', addresses],
      ['not listening', slot.listenFailure && `it ${describeListenFailure(slot.listenFailure)}`],
    ]),
  ];
}

/**
 * @param {SlotStatus} slot
 * @returns {Cell[][]}
 */
function programRows(slot) {
  return [
    ['script path', slot.script],
    ['script args', slot.args.join(' ') || 'N/A'],
    ['interpreter', slot.interpreter],
    ['interpreter args', slot.interpreterArgs.join(' ') || 'N/A'],
    ['exec cwd', slot.cwd],
    ['exec mode', `${slot.mode}_mode`],
    ['instance', `${slot.slot} (generation ${slot.generation})`],
    ['script id', String(slot.id)],
    ['user', slot.user],
    ['node.js version', slot.nodeVersion?.replace(/^v/, '') ?? 'N/A'],
    ['node env', slot.effectiveEnv?.NODE_ENV ?? 'N/A'],
  ];
}

/**
 * @param {SlotStatus} slot
 * @returns {Cell[][]}
 */
function policyRows({ spec }) {
  if (!spec) return [];
  return [
    ['autorestart', describeAutorestart(spec)],
    [
      'restart delay',
      spec.restartDelayMs > 0
        ? formatDuration(spec.restartDelayMs)
        : `back-off from ${formatDuration(spec.backoffMs ?? 100)}`,
    ],
    ['kill timeout', formatDuration(spec.killTimeoutMs)],
    ['stop signal', describeStopSignal(spec)],
    ['ready when', describeReadiness(spec)],
  ];
}

/**
 * @param {SlotStatus} slot
 * @param {Pick<View, 'paint' | 'columns'>} view
 */
function customLines({ id, axm = { actions: [], monitor: {}, options: {} } }, { paint, columns }) {
  const actions = axm.actions.map(({ action_name: name }) => [
    toOneLine(name),
    `nclust trigger ${id} ${toOneLine(name)}`,
  ]);
  const metrics = Object.entries(axm.monitor).map(([name, metric]) => [
    toOneLine(name),
    toOneLine(describeMetric(metric)),
  ]);
  const section = (/** @type {string} */ title, /** @type {string[][]} */ rows) =>
    rows.length > 0 ? [paint('bold', title), renderTable({ rows, paint, columns, isWrapped: true }).trimEnd()] : [];
  return [...section('Custom metrics', metrics), ...section('Custom actions', actions)];
}

/**
 * @param {SlotStatus} slot
 * @param {Pick<View, 'nowMs' | 'paint'>} view
 */
function deathLines(slot, { nowMs, paint }) {
  const deaths = slot.deaths ?? (slot.lastDeath ? [slot.lastDeath] : []);
  if (deaths.length === 0) return [];
  const newestFirst = [...deaths].reverse();
  return [
    paint('bold', 'Last deaths, newest first'),
    ...newestFirst.map(
      (death) => `  ${clockTime(death.atMs, nowMs)}  pid ${death.pid}  ${toOneLine(describeDeath(death, slot))}`,
    ),
    ...lastLines(newestFirst[0].lastLines, paint),
  ];
}

/**
 * @param {string[]} lines
 * @param {Paint} paint
 */
function lastLines(lines, paint) {
  if (lines.length === 0) return [];
  return [paint('bold', 'Its last error lines'), ...lines.map((line) => paint('red', `  ${toOneLine(line)}`))];
}

/**
 * @param {SlotStatus} slot
 * @param {Pick<View, 'nowMs' | 'paint'>} view
 */
function summaryLines(slot, { nowMs, paint }) {
  const death = slot.deaths?.at(-1) ?? slot.lastDeath;
  const status = statusWord(slot.status, slot.troubles);
  const age = status === slot.status ? statusTime(slot, nowMs) : '';
  return [
    `  ${paint(statusStyle(status), `${status}${age}`)}${programSummary(slot)}`,
    ...(slot.waitingFor ? [`  It waits for ${toOneLine(slot.waitingFor)}.`] : []),
    `  ${death ? lastDeathText(death, slot, nowMs) : 'It has not exited since it was added to the list.'}`,
  ];
}

/**
 * @param {Death} death
 * @param {SlotStatus} slot
 * @param {number} nowMs
 */
function lastDeathText(death, slot, nowMs) {
  const when = `at ${clockTime(death.atMs, nowMs)}, ${formatAgo(death.atMs, nowMs)}`;
  if (isFinish(death, slot)) return `It last finished ${when}, with code 0 after ${formatDuration(death.uptimeMs)}.`;
  return `It last ${isCrash(death) ? 'died' : 'exited'} ${when}: ${toOneLine(describeDeath(death, slot))}.`;
}

/**
 * @param {SlotStatus} slot
 * @param {number} nowMs
 */
function statusTime(slot, nowMs) {
  const sinceMs =
    slot.status === 'online' ? onlineSince([slot]) : slot.status === 'launching' ? oldestStart([slot]) : null;
  return sinceMs === null ? '' : ` for ${formatCoarse(nowMs - sinceMs)}`;
}

/** @param {SlotStatus} slot */
function programSummary(slot) {
  const { mode, script, slot: index, addresses } = slot;
  const counts = describeRestarts([slot]);
  return `: instance ${index} of ${toOneLine(script)} in ${mode} mode${listensOn(addresses)}; ${counts}.`;
}

/** @param {SlotStatus['addresses']} addresses */
function listensOn(addresses) {
  const paths = addresses.filter(({ family }) => family === UNIX_SOCKET).map(({ address }) => toOneLine(address));
  const ports = new Set(addresses.filter(({ family }) => family !== UNIX_SOCKET).map(({ port }) => port));
  const places = [
    ...(ports.size > 0 ? [`port${ports.size === 1 ? '' : 's'} ${[...ports].join(', ')}`] : []),
    ...(paths.length > 0 ? [paths.join(', ')] : []),
  ];
  return places.length > 0 ? `, listening on ${places.join(' and ')}` : '';
}

/**
 * Leaves out lines from before the last death, because the list of deaths already shows them, and
 * lines of a deleted app with the same log file.
 * @param {LogEntry[]} entries  Oldest first.
 * @param {SlotStatus} slot
 * @param {Pick<View, 'nowMs' | 'paint'>} view
 */
function errorLines(entries, { lastDeath, createdAtMs }, { nowMs, paint }) {
  const since = entries.filter(({ atMs }) => (atMs ?? Infinity) > (lastDeath?.atMs ?? createdAtMs));
  if (since.length === 0) return [];
  return [
    paint('bold', 'Last lines of its error log'),
    ...since.map(
      ({ atMs, line }) => `  ${paint('dim', atMs === null ? '-' : clockTime(atMs, nowMs))}  ${toSafeLine(line)}`,
    ),
  ];
}
