import { formatAddress } from '../../../lib/shared/address.js';
import { describeListenFailure } from '../../../lib/shared/death-text.js';
import { STARTING_STATES } from '../policy/replace.js';
import { findSlot, getSlotHistory, isWanted, findSeatOfInstance, listSeats } from '../state/registry.js';

/** @import { Readiness } from '../policy/seat.js' */
/** @import { Address, Instance, Registry, Seat } from '../state/registry.js' */

/**
 * Whether the instance is past its time limit, and gets more time because it makes progress.
 * @param {Registry} registry
 * @param {Seat} seat
 */
export function isLoadingOn(registry, seat) {
  if (seat.life.state !== 'starting' || !registry.instances.get(seat.instanceId ?? '')?.isProgressing) return false;
  return readReadiness(registry, seat).missing !== null;
}

/**
 * Reads only the current state, so a control that starts during a rollout gets the same answer.
 * @param {Registry} registry
 * @param {Seat} seat
 * @returns {Readiness}
 */
export function readReadiness(registry, seat) {
  const instance = registry.instances.get(seat.instanceId ?? '') ?? null;
  const isProbationary = isOnProbation(registry, seat);
  const { startedAtMs = null } = instance ?? {};
  return {
    isOnProbation: isProbationary,
    gate: findGate(registry, seat, isProbationary, instance),
    ...findMissing(registry, seat, isProbationary, instance),
    isProgressing: instance?.isProgressing ?? null,
    hasSentReady: seat.spec?.waitReady === true && instance?.isReady === true,
    mayListenOutside: seat.spec?.mode !== 'cluster',
    isAlone: instance !== null && isListening(instance) && !mayRunBeside(seat, instance),
    startedAtMs,
    bootedAtMs: getBootedAt(seat, instance),
  };
}

/**
 * Whether the seat is new in a guarded rollout. If such a seat fails, it is not restarted.
 * @param {Registry} registry
 * @param {Pick<Seat, 'id' | 'generation'>} seat
 */
export function isOnProbation(registry, { id, generation }) {
  const found = findSlot(registry, id);
  return Boolean(
    found?.app.rollout.isGuarded &&
    found.slot.former &&
    found.slot.want === 'up' &&
    found.slot.generation === generation,
  );
}

/**
 * @param {Registry} registry
 * @param {Instance} instance
 */
export function isAwaitingAdmission(registry, { instanceId, label, isGated }) {
  if (isGated || label.isGated) return isGated;
  // An instance without a gate is admitted as soon as it is up, so it waits only while it starts.
  const seat = findSeatOfInstance(registry, instanceId);
  return (
    seat !== null &&
    isOnProbation(registry, seat) &&
    (STARTING_STATES.has(seat.life.state) || seat.life.asked?.cause === 'boot-timeout')
  );
}

/**
 * @param {Registry} registry
 * @param {Seat} seat
 */
export function isReady(registry, seat) {
  const instance = registry.instances.get(seat.instanceId ?? '');
  if (!instance) return false;
  // An instance that listens or sends "ready" does not have to reach the minimum uptime.
  return readReadiness(registry, seat).missing === null && (seat.spec?.waitReady || isListening(instance));
}

/**
 * Like isBeside(): the old instance of other programs has stopped before this one started.
 * @param {Seat} seat
 * @param {Instance} instance
 */
function mayRunBeside({ spec }, { addresses }) {
  return spec?.kind === 'node' && (spec.mode === 'cluster' || addresses.length > 0);
}

/** @param {Instance} instance */
function isListening({ addresses, hasSocket }) {
  return addresses.length > 0 || hasSocket;
}

/**
 * Whether the instance is ready without the message `ready`: it listens, its time is over, and no
 * instance of its app has ever sent the message. Apps for PM2 often have `wait_ready`, but never
 * send it.
 * @param {Registry} registry
 * @param {Seat} seat
 * @param {Instance} instance
 * @param {number} nowMs
 */
export function isExcused(registry, { id, spec }, instance, nowMs) {
  const { startedAtMs } = instance;
  if (!spec?.waitReady || startedAtMs === null || !isListening(instance)) return false;
  if (Math.abs(nowMs - startedAtMs) < spec.listenTimeoutMs) return false;
  const slots = findSlot(registry, id)?.app.slots ?? [{ id }];
  return slots.every((slot) => !getSlotHistory(registry, slot.id).hasSentReady);
}

/**
 * @param {Registry} registry
 * @param {Seat} seat
 * @param {boolean} isProbationary
 * @param {Instance | null} instance
 * @returns {Readiness['gate']}
 */
function findGate(registry, seat, isProbationary, instance) {
  if (isProbationary) return isProven(registry, seat) ? 'gated' : 'canary';
  if (!instance?.isGated) return 'open';
  // If the generation was superseded, the instance stays gated until the plan ends it.
  return isWanted(registry, seat) ? 'gated' : 'canary';
}

/**
 * @param {Registry} registry
 * @param {Seat} seat
 */
function isProven(registry, seat) {
  return listSeats(registry, seat.name).some(
    (other) => other.generation === seat.generation && other.id !== seat.id && other.life.state === 'up',
  );
}

/**
 * With these options Node.js waits for a debugger, or loads the main module in another process. So
 * the instance counts as booted when its process has started.
 */
const ELSEWHERE = /(^|\s)--(inspect-brk|inspect-wait|watch|test|run)\b/;

/**
 * @param {Seat} seat
 * @param {Instance | null} instance
 * @returns {number | null}
 */
function getBootedAt({ spec }, instance) {
  const isElsewhere = [...(spec?.interpreterArgs ?? []), spec?.env.NODE_OPTIONS ?? ''].some((text) =>
    ELSEWHERE.test(text),
  );
  return instance?.bootedAtMs ?? (isElsewhere ? instance?.startedAtMs : null) ?? null;
}

const REFUSALS = ['EADDRINUSE', 'EACCES'];

/**
 * @param {Registry} registry
 * @param {Seat} seat
 * @param {boolean} isProbationary
 * @param {Instance | null} instance
 * @returns {Pick<Readiness,
 *   'missing' | 'isLoading' | 'mayBeLoading' | 'cannotListen' | 'isAddressRefused'>}
 */
function findMissing(registry, seat, isProbationary, instance) {
  const isLoading = instance !== null && instance.startedAtMs !== null && getBootedAt(seat, instance) === null;
  // With waitReady the message "ready" counts, not the evaluation of the main module.
  const word = seat.spec?.waitReady
    ? instance?.isReady || instance?.isExcused
      ? null
      : 'it did not send "ready"'
    : isLoading
      ? 'it was still loading its main module'
      : null;
  const failure = instance?.addresses.length === 0 ? instance.listenFailure : null;
  const cannotListen = failure !== null && seat.spec?.mode === 'cluster' && !seat.spec.waitReady;
  const lacking = isProbationary ? placeMissing(registry, seat, instance) : null;
  const place = failure && (cannotListen || lacking !== null) ? `it ${describeListenFailure(failure)}` : lacking;
  return {
    missing: word ?? place,
    isLoading: isLoading && !seat.spec?.waitReady && place === null,
    mayBeLoading: !cannotListen && (word !== null || instance?.addresses.length === 0),
    cannotListen,
    isAddressRefused: cannotListen && REFUSALS.includes(failure.code),
  };
}

/**
 * @param {Registry} registry
 * @param {Seat} seat
 * @param {Instance | null} instance
 * @returns {string | null}
 */
function placeMissing(registry, seat, instance) {
  const here = instance?.addresses ?? [];
  const expected = listExpected(registry, seat);
  const lacking = expected.filter((one) => !here.some((other) => isSame(one, other)));
  if (lacking.length === 0) return null;
  if (findSlot(registry, seat.id)?.app.rollout.isStrict === false)
    return here.length > 0 ? null : 'it did not listen anywhere';
  const elsewhere = here.filter((one) => !expected.some((other) => isSame(one, other)));
  const list = (/** @type {Address[]} */ addresses) =>
    addresses
      .map(({ address, port, family }) => (family === 'pipe' ? `"${address}"` : formatAddress({ host: address, port })))
      .join(' and ');
  return `it did not listen on ${list(lacking)}${elsewhere.length > 0 ? `, but on ${list(elsewhere)}` : ''}`;
}

/**
 * The addresses that all older instances share. In fork mode only an instance in the same slot
 * counts.
 * @param {Registry} registry
 * @param {Seat} seat
 */
function listExpected(registry, seat) {
  const older = listSeats(registry, seat.name).filter(
    (other) =>
      other.generation < seat.generation &&
      (other.life.state === 'up' || other.life.state === 'parked') &&
      (seat.spec?.mode === 'cluster' || other.id === seat.id),
  );
  const [first = [], ...others] = older.map((other) => registry.instances.get(other.instanceId ?? '')?.addresses ?? []);
  return first.filter((address) => others.every((addresses) => addresses.some((other) => isSame(address, other))));
}

/**
 * @param {Address} one
 * @param {Address} other
 */
function isSame(one, other) {
  return one.address === other.address && one.port === other.port;
}
