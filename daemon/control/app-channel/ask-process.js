// Knows: messages between users and apps: how to reach a process, messages of apps, actions. Must
// not: change the desired state, or store data of an app, except metadata.
import { withDeadline } from '../../../lib/shared/deadline.js';
import { NclustError } from '../../../lib/shared/errors.js';
import { KeeperLost } from '../keeper-link/link.js';
import { select } from '../state/selectors.js';
import { createOverview } from '../status/slot-status.js';

/** @import { ErrorCode } from '../../../lib/shared/errors.js' */
/** @import { Control, Parts } from '../context.js' */
/** @import { Instance, Registry } from '../state/registry.js' */

/**
 * @typedef {object} TargetProcess
 * @property {number} id
 * @property {string} name
 * @property {number} slot
 * @property {'cluster' | 'fork' | 'exec'} mode
 * @property {Instance | null} instance
 */

/** @typedef {TargetProcess & { instance: Instance }} LivingProcess */

/** @typedef {{ control: Control, parts: Pick<Parts, 'clock'> }} AskContext */

/**
 * Time limit for the keeper, in ms. It answers from memory, so a keeper that takes longer hangs.
 */
const KEEPER_MS = 3_000;

/**
 * @param {Registry} registry
 * @param {string[]} targets
 * @returns {TargetProcess[]}  In the order of the app list. Throws like select().
 */
export function reach(registry, targets) {
  const { seats } = createOverview(registry);
  return select(registry.desired, targets).map(({ app, slot }) => {
    const instance = registry.instances.get(seats.get(slot.id)?.instanceId ?? '');
    const isLiving = instance !== undefined && instance.pid > 0 && !instance.exit;
    return {
      id: slot.id,
      name: app.spec.name,
      slot: slot.slot,
      mode: app.spec.kind === 'node' ? app.spec.mode : 'exec',
      instance: isLiving ? instance : null,
    };
  });
}

/**
 * @param {Registry} registry
 * @param {string[]} targets
 * @returns {(TargetProcess & { instance: Instance })[]}  Never empty. Throws like select(), and
 *   ERR_NCLUST_NO_PROCESS if no process of the targets runs.
 */
export function reachLiving(registry, targets) {
  const living = reach(registry, targets).filter((one) => one.instance !== null);
  if (living.length > 0) return /** @type {LivingProcess[]} */ (living);
  throw new NclustError(
    'ERR_NCLUST_NO_PROCESS',
    `No process of ${targets.map((target) => `"${target}"`).join(', ')} runs.`,
    { hint: 'nclust list' },
  );
}

/**
 * @param {AskContext} context
 * @param {LivingProcess} about
 * @param {string} verb
 * @param {object} params
 * @param {number} [timeoutMs]  Time that the process itself may take.
 * @returns {Promise<any>}  Rejects like askKeeper().
 */
export function ask(context, about, verb, params, timeoutMs) {
  const { instanceId } = about.instance;
  const whole = { instanceId, ...params, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
  return askKeeper(context, verb, whole, about, timeoutMs);
}

/**
 * @param {AskContext} context
 * @returns {Promise<Record<string, [string, string, string][]>>}  By instance. Rejects like
 *   askKeeper().
 */
export async function readMetadata(context) {
  return (await askKeeper(context, 'app-metadata', {})).metadata;
}

/**
 * @param {AskContext} context
 * @param {string} verb
 * @param {object} params
 * @param {TargetProcess | null} [about]
 * @param {number} [timeoutMs]
 * @returns {Promise<any>}  Rejects with an NclustError, whose text is for users.
 */
async function askKeeper({ control, parts }, verb, params, about = null, timeoutMs = 0) {
  const onLate = () => {
    throw Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' });
  };
  try {
    return await withDeadline(timeoutMs + KEEPER_MS, control.askKeeper(verb, params), onLate, parts.clock.after);
  } catch (error) {
    throw explain(error, about, control);
  }
}

/**
 * @param {unknown} error
 * @param {TargetProcess | null} about
 * @param {Pick<Control, 'keeper'>} control
 */
function explain(error, about, { keeper }) {
  const { code = '', message } = /** @type {NodeJS.ErrnoException} */ (error);
  const who = about ? `"${about.name}" (id ${about.id})` : 'the app';
  if (error instanceof KeeperLost)
    return new NclustError('ERR_NCLUST_NOT_REACHABLE', `${who} cannot be reached: the manager is being replaced.`, {
      hint: 'Run the command again in a moment.',
    });
  if (code === 'ENOSYS') return outdated(keeper?.version);
  const [row, what, hint] = REASONS[code] ?? ['ERR_NCLUST_NOT_REACHABLE', `cannot be reached: ${message}`, undefined];
  return new NclustError(row, `${who} ${what}.`, {
    hint,
    data: about ? { id: about.id, name: about.name } : undefined,
  });
}

/** @type {Record<string, [row: ErrorCode, what: string, hint: string | undefined]>} */
const REASONS = {
  ESRCH: ['ERR_NCLUST_NO_PROCESS', 'has just exited', 'nclust list'],
  ENOTSUP: [
    'ERR_NCLUST_NOT_REACHABLE',
    'does not support this',
    'Messages and the inspector are for Node programs, standard input is for fork mode.',
  ],
  EPIPE: [
    'ERR_NCLUST_NOT_REACHABLE',
    'has closed its side, or the manager that started it has died',
    'Restart it: nclust restart',
  ],
  EAGAIN: [
    'ERR_NCLUST_NOT_READING',
    'does not read its input, and its queue is full',
    'Check what it does; a restart empties the queue.',
  ],
  ETIMEDOUT: ['ERR_NCLUST_NO_REPLY', 'did not answer in time', 'Its event loop may be blocked. See: nclust describe'],
};

/** @param {string} [version] */
function outdated(version) {
  return new NclustError(
    'ERR_NCLUST_KEEPER_OUTDATED',
    `The running manager${version ? ` (nclust ${version})` : ''} is older than this command needs.`,
    { hint: 'Replace it with: nclust update' },
  );
}
