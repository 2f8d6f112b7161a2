import {
  describeCron,
  describeLostLines,
  describeMemoryLimit,
  describeMetric,
  describeReadiness,
  describeRestarts,
  describeStopSignal,
  describeTrigger,
  listAddresses,
} from '../../../../lib/figures/facts.js';
import { clockTime, formatAgo } from '../../../../lib/figures/format.js';
import { describeDeath, isFinish } from '../../../../lib/render/death.js';
import { describeAutorestart, describeListenFailure, isAsked, isCrash } from '../../../../lib/shared/death-text.js';
import { formatDuration } from '../../../../lib/shared/units.js';
import { lineText } from './logs.js';

/** @import { WorkerSample } from '../../../../lib/shared/metrics.js' */
/** @import { SlotStatus } from '../../../../lib/shared/wire/protocol.js' */

/** @typedef {[label: string, text: string]} Fact */

/**
 * @param {SlotStatus[]} slots  Detailed slots of one app, or one slot.
 * @param {number} nowMs
 * @returns {Fact[]}
 */
export function detailRows(slots, nowMs) {
  const [slot] = slots;
  if (!slot) return [];
  const isOne = slots.length === 1;
  const waiting = slots.filter(({ waitingFor }) => waitingFor);
  const interpreter = slot.interpreter === 'none' ? '' : `, ${[slot.interpreter, ...slot.interpreterArgs].join(' ')}`;
  const nodeVersion = slot.nodeVersion ? `, Node.js ${slot.nodeVersion.replace(/^v/, '')}` : '';
  const generation = `generation ${Math.max(...slots.map((one) => one.generation))}`;
  const unstable = slots.reduce((all, { unstableRestarts }) => all + unstableRestarts, 0);
  return [
    ...waiting.map(({ slot: index, waitingFor }) =>
      fact('Waiting for', `${isOne ? '' : `instance ${index}: `}${waitingFor}`),
    ),
    ...lastDeath(slots, nowMs),
    fact('Script', [slot.script, ...slot.args].join(' ')),
    fact('Runs as', `${slot.mode} mode${interpreter}${nodeVersion}`),
    fact('Folder', slot.cwd),
    ...listening(slots),
    fact('User', slot.user),
    ...(slot.version && slot.version !== 'N/A' ? [fact('Version', slot.version)] : []),
    isOne
      ? fact('Process', `${slot.pid ? `pid ${slot.pid}` : 'none'}, id ${slot.id}, instance ${slot.slot}, ${generation}`)
      : fact('Instances', `${slots.length}, ${generation}`),
    fact('Restarts', `${describeRestarts(slots)}${unstable > 0 ? `, ${unstable} unstable` : ''}`),
    ...policy(slot),
    ...triggers(slot, nowMs),
    ...(slot.logLost ? [fact('Log lines lost', describeLostLines(slot.logLost))] : []),
    .../** @type {const} */ (['logFile', 'outFile', 'errorFile'])
      .flatMap((field) => shared(slots, field))
      .filter((path, at, all) => all.indexOf(path) === at)
      .map((path) => fact('Log file', path)),
    ...customRows(slots),
    fact('In the list since', clockTime(Math.min(...slots.map(({ createdAtMs }) => createdAtMs)), nowMs)),
  ];
}

/**
 * @param {SlotStatus[]} slots
 * @returns {{ title: string, lines: string[] } | null}  Last output of the newest unplanned death
 *   with output. Null: there was no such death.
 */
export function lastWords(slots) {
  const dead = slots
    .filter(({ lastDeath: death }) => death && !isAsked(death) && death.lastLines.length > 0)
    .sort((a, b) => (b.lastDeath?.atMs ?? 0) - (a.lastDeath?.atMs ?? 0))[0];
  if (!dead?.lastDeath) return null;
  return {
    title: `Last lines of instance ${dead.slot}, pid ${dead.lastDeath.pid}`,
    lines: dead.lastDeath.lastLines.map(lineText),
  };
}

/**
 * @param {SlotStatus[]} slots
 * @param {number} nowMs
 * @returns {Fact[]}
 */
function lastDeath(slots, nowMs) {
  const dead = slots
    .filter(({ lastDeath: death }) => death)
    .sort((a, b) => (b.lastDeath?.atMs ?? 0) - (a.lastDeath?.atMs ?? 0))[0];
  const death = dead?.lastDeath;
  if (!death) return [fact('Last death', 'none since it was added to the list')];
  return [
    fact(
      isCrash(death) && !isFinish(death, dead) ? 'Last died' : 'Last exited',
      `${slots.length > 1 ? `instance ${dead.slot}, ` : ''}${clockTime(death.atMs, nowMs)} ` +
        `(${formatAgo(death.atMs, nowMs)}): ${describeDeath(death, dead)}`,
    ),
  ];
}

/**
 * @param {SlotStatus[]} slots
 * @returns {Fact[]}
 */
function listening(slots) {
  const addresses = listAddresses(slots);
  const failure = slots.find((slot) => slot.listenFailure)?.listenFailure;
  return [
    ...(addresses ? [fact('Listening on', addresses)] : []),
    ...(failure ? [fact('Not listening', `it ${describeListenFailure(failure)}`)] : []),
  ];
}

/**
 * @param {SlotStatus} slot
 * @returns {Fact[]}
 */
function policy({ spec, autorestart }) {
  if (!spec) return [fact('Autorestart', autorestart ? 'yes' : 'no')];
  return [
    fact('Autorestart', describeAutorestart(spec)),
    fact('Ready when', describeReadiness(spec)),
    fact('Stops with', `${describeStopSignal(spec)}; SIGKILL after ${formatDuration(spec.killTimeoutMs)}`),
  ];
}

/**
 * @param {SlotStatus} slot
 * @param {number} nowMs
 * @returns {Fact[]}
 */
function triggers({ spec, status, triggers: known }, nowMs) {
  if (!known) return [];
  const { watch, nextRunMs, memory, last } = known;
  const next = (/** @type {number} */ atMs) => `at ${clockTime(atMs, nowMs)}`;
  return [
    ...(watch ? [fact('Watches', `${watch.paths.join(', ')}${watch.problem ? `; ${watch.problem}` : ''}`)] : []),
    ...(spec?.cronRestart ? [fact('Cron', describeCron(spec.cronRestart, { nextRunMs, status }, next))] : []),
    ...(spec?.maxMemoryBytes ? [fact('Memory limit', describeMemoryLimit(spec.maxMemoryBytes, memory))] : []),
    ...(last ? [fact('Last trigger', `${clockTime(last.atMs, nowMs)}: ${describeTrigger(last)}`)] : []),
  ];
}

/**
 * @param {SlotStatus[]} slots
 * @returns {Fact[]}
 */
function customRows(slots) {
  return slots.flatMap(({ slot, axm }) =>
    Object.entries(axm?.monitor ?? {}).map(([name, metric]) =>
      fact(slots.length > 1 ? `${name}, instance ${slot}` : name, describeMetric(metric)),
    ),
  );
}

/**
 * @param {SlotStatus[]} slots
 * @param {'logFile' | 'outFile' | 'errorFile'} field
 */
function shared(slots, field) {
  const path = slots[0][field];
  return path && slots.every((slot) => slot[field] === path) ? [path] : [];
}

/**
 * @param {string} label
 * @param {string} text
 * @returns {Fact}
 */
function fact(label, text) {
  return [label, text];
}
