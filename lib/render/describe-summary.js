import { count, isAsked } from './event-text.js';
import { ago, clockTime, coarse } from './time.js';
import { describeDeath } from './death.js';
import { statusStyle } from './slots.js';
import { oneLine } from './text.js';

/** @typedef {import('../shared/wire/protocol.js').SlotStatus} SlotStatus */

/** Restarts by themselves, so lately, are what somebody who looks wants to know first. */
const LATELY_MS = 60 * 60_000;

/**
 * The beginning of a report: what it is, how it runs, why it last died, and what it waits for.
 * @param {SlotStatus} slot
 * @param {Pick<import('./list.js').View, 'nowMs'|'paint'>} view
 * @returns {string[]}
 */
export function summaryLines(slot, { nowMs, paint }) {
  const death = slot.deaths?.at(-1) ?? slot.lastDeath;
  return [
    `  ${paint(statusStyle(slot.status), standing(slot, nowMs))}${what(slot)}`,
    ...(slot.waitingFor ? [`  It waits for ${oneLine(slot.waitingFor)}.`] : []),
    ...(death ? [`  It last ${isAsked(death) ? 'ended' : 'died'} at ${clockTime(death.atMs, nowMs)}, ${ago(death.atMs, nowMs)}: ${oneLine(describeDeath(death))}.${oftenLately(slot, nowMs)}`] : ['  It has not died since it is in the list.']),
    ...(slot.status === 'errored' || slot.status === 'waiting restart' ? [`  Next: nclust why ${oneLine(slot.name)}, and nclust logs ${slot.id} --err`] : []),
  ];
}

/** @param {SlotStatus} slot @param {number} nowMs */
function standing({ status, startedAtMs, pid }, nowMs) {
  return pid && startedAtMs !== null ? `${status} for ${coarse(nowMs - startedAtMs)}` : status;
}

/** @param {SlotStatus} slot */
function what({ mode, script, slot, restarts, addresses }) {
  const ports = [...new Set(addresses.map(({ port }) => port))];
  const listens = ports.length > 0 ? `, listening on port${ports.length === 1 ? '' : 's'} ${ports.join(', ')}` : '';
  return `: instance ${slot} of ${oneLine(script)} in ${mode} mode${listens}; ${count(restarts, 'restart')}.`;
}

/** @param {SlotStatus} slot @param {number} nowMs */
function oftenLately({ deaths = [] }, nowMs) {
  const lately = deaths.filter((death) => nowMs - death.atMs < LATELY_MS && !isAsked(death)).length;
  return lately > 1 ? ` Of its last ${deaths.length} ends ${lately} were in the last hour, and nobody had asked for them.` : '';
}
