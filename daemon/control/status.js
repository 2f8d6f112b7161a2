import { restartsOf } from './memory.js';
import { instanceEnv, logFiles } from './spawn-params.js';
import { hasProcess, memoryOf, seatsOfSlot } from './world.js';

/** @import { Death, ShownStatus, SlotStatus } from '../../lib/shared/protocol.js' */
/** @import { AppWish, SlotWish } from './desired.js' */
/** @import { State } from './lifecycle.js' */
/** @import { Seat, World } from './world.js' */

/** @type {Record<State, ShownStatus>} */
const SHOWN = { down: 'stopped', starting: 'launching', up: 'online', stopping: 'stopping', backoff: 'waiting restart', failed: 'errored' };

/** Of two seats in a slot the one that serves is shown. */
const RANK = { up: 5, starting: 4, backoff: 3, failed: 2, stopping: 1, down: 0 };

/** @typedef {(pid: number) => {cpu: number, memoryBytes: number}} UsageOf */

/**
 * @typedef {object} ShowOptions
 * @property {boolean} isDetailed
 * @property {string} home
 * @property {string} logsFolder
 * @property {number} nowMs
 * @property {UsageOf} usageOf
 */

/**
 * One slot as clients see it.
 * @param {World} world
 * @param {AppWish} app
 * @param {SlotWish} wish
 * @param {ShowOptions} o
 * @returns {SlotStatus}
 */
export function slotStatus(world, app, wish, o) {
  const { spec } = app;
  const memory = memoryOf(world, wish.id);
  const seat = seatsOfSlot(world, wish.id).sort((a, b) => RANK[b.life.state] - RANK[a.life.state] || b.generation - a.generation)[0];
  const instance = world.instances.get(seat?.instanceId ?? '');
  const isAlive = Boolean(instance && instance.pid > 0 && !instance.exit);
  return {
    id: wish.id,
    name: spec.name,
    namespace: spec.namespace,
    slot: wish.slot,
    instanceId: isAlive ? instance?.instanceId ?? null : null,
    pid: isAlive ? instance?.pid ?? 0 : 0,
    status: seat ? SHOWN[seat.life.state] : withoutSeat(world, wish),
    generation: seat?.generation ?? wish.generation,
    restarts: restartsOf(memory),
    unstableRestarts: seat?.life.unstableAtMs.length ?? memory.seat?.unstableAtMs.length ?? 0,
    startedAtMs: isAlive ? instance?.startedAtMs ?? null : null,
    createdAtMs: app.createdAtMs,
    ...(isAlive && instance ? o.usageOf(instance.pid) : { cpu: 0, memoryBytes: 0 }),
    mode: spec.mode,
    version: spec.version,
    user: spec.user,
    script: spec.script,
    args: spec.args,
    interpreter: spec.interpreter,
    interpreterArgs: spec.interpreterArgs,
    cwd: spec.cwd,
    ...logFiles(spec, wish.id, o.logsFolder),
    nodeVersion: spec.nodeVersion,
    watching: false,
    addresses: isAlive ? instance?.addresses ?? [] : [],
    waitingFor: waitingFor(seat, wish, o.nowMs),
    isReady: seat?.life.state === 'up',
    autorestart: spec.autorestart,
    lastDeath: memory.deaths.length > 0 ? shownDeath(memory.deaths[memory.deaths.length - 1]) : null,
    ...(o.isDetailed ? { deaths: memory.deaths.map(shownDeath), spec, effectiveEnv: instanceEnv(seat?.spec ?? spec, wish, o.home) } : {}),
  };
}

/**
 * Its process is over, but perhaps not the whole tree of it; or its turn to start has not come.
 * @param {World} world
 * @param {SlotWish} wish
 * @returns {ShownStatus}
 */
function withoutSeat(world, wish) {
  if (hasProcess(world, wish.id)) return 'stopping';
  return wish.want === 'up' && !world.ending ? 'launching' : 'stopped';
}

/**
 * @param {Seat|undefined} seat
 * @param {SlotWish} wish
 * @param {number} nowMs
 */
function waitingFor(seat, wish, nowMs) {
  if (!seat) return wish.want === 'up' ? 'its turn to start' : null;
  const left = seat.untilMs === null ? '' : `${(Math.max(0, seat.untilMs - nowMs) / 1000).toFixed(1)}s`;
  if (seat.life.state === 'backoff') return `the next attempt in ${left}`;
  if (seat.life.state === 'stopping') return 'the end of its last process';
  if (seat.life.state !== 'starting') return null;
  if (left === '') return 'the process to be created';
  return seat.spec?.waitReady ? `"ready" from the app, ${left} left` : `a listening socket, or ${left} of life`;
}

/**
 * Without what only control needs.
 * @param {import('./memory.js').RecordedDeath} death
 * @returns {Death}
 */
function shownDeath({ instanceId: _, ...death }) {
  return death;
}

/**
 * What can be said of a slot that is not in the list any more.
 * @param {{id: number, name: string, slot: number}} slot
 * @returns {SlotStatus}
 */
export function deletedStatus({ id, name, slot }) {
  return {
    id,
    name,
    slot,
    namespace: 'default',
    instanceId: null,
    pid: 0,
    status: 'stopped',
    generation: 0,
    restarts: 0,
    unstableRestarts: 0,
    startedAtMs: null,
    createdAtMs: 0,
    cpu: 0,
    memoryBytes: 0,
    mode: 'fork',
    version: 'N/A',
    user: '',
    script: '',
    args: [],
    interpreter: 'none',
    interpreterArgs: [],
    cwd: '',
    outFile: '',
    errorFile: '',
    nodeVersion: null,
    watching: false,
    addresses: [],
    waitingFor: null,
    isReady: false,
    autorestart: true,
    lastDeath: null,
  };
}
