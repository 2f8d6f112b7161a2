/** @import { LoopContext } from '../keeper-link/tell.js' */
/** @import { Label } from '../state/registry.js' */

/**
 * What an app has sent with process.send(). `{type, data}` goes by its own type; anything else is a
 * "process:msg" and has `raw`.
 * @typedef {object} AppMessage
 * @property {string} type
 * @property {true} isFromApp
 * @property {unknown} [data]
 * @property {unknown} [raw]
 * @property {Place} process
 * @property {number} at
 */

/**
 * Messages of an app that the keeper has left out because they were too many or too long.
 * @typedef {{ type: 'process:missed', isFromApp: true, count: number, process: Place, at: number }}
 *   AppMissed
 */

/** @typedef {Pick<Label, 'id' | 'name' | 'slot'> & { instanceId: string }} Place */

/**
 * What an app tells of itself: custom actions, metrics and options.
 * @typedef {object} AppMetadata
 * @property {{ action_name: string, action_type: string, arity: number, opts?: unknown }[]} actions
 * @property {Record<string, unknown>} monitor
 * @property {Record<string, unknown>} options
 */

/**
 * Deeper than any message anybody means. JSON.stringify() has no depth limit of its own but the
 * stack.
 */
const DEPTH_MAX = 50;

/**
 * @param {string} text  JSON of one message.
 * @returns {{ type: string, data: unknown } | { type: 'process:msg', raw: unknown } | null}  Null:
 *   not for others.
 */
function readAppMessage(text) {
  const message = parse(text);
  if (message === undefined) return null;
  const { type, data } = /** @type {{ type?: unknown, data?: unknown }} */ (message ?? {});
  if (typeof type !== 'string' || data === undefined || data === null) return { type: 'process:msg', raw: message };
  return type.startsWith('axm:option:') ? null : { type, data };
}

/**
 * Publishes what an app has sent. It changes no records.
 * @param {LoopContext} core
 * @param {{ instanceId: string, text?: string, count?: number }} data  From the keeper. Without a
 *   text: how many messages it has left out.
 */
export function publishAppMessage({ bus, registry, parts }, { instanceId, text, count = 1 }) {
  const label = registry.instances.get(instanceId)?.label;
  if (!label || !bus.isFollowed) return;
  const process = { id: label.id, name: label.name, slot: label.slot, instanceId };
  const at = parts.clock.nowMs();
  const message = text === undefined ? /** @type {const} */ ({ type: 'process:missed', count }) : readAppMessage(text);
  if (message) bus.publish({ ...message, isFromApp: true, process, at });
}

/** @param {[type: string, name: string, text: string][]} entries  As the keeper tells it. */
export function readAppMetadata(entries) {
  /** @type {AppMetadata} */
  const metadata = { actions: [], monitor: {}, options: {} };
  for (const [type, name, text] of entries) {
    const part = /** @type {any} */ (parse(text));
    if (part === undefined) continue;
    if (type === 'axm:action')
      metadata.actions.push({
        action_name: name,
        action_type: typeof part?.action_type === 'string' ? part.action_type : 'custom',
        arity: typeof part?.arity === 'number' ? part.arity : 0,
        ...(part?.opts === undefined ? {} : { opts: part.opts }),
      });
    else if (type === 'axm:monitor') metadata.monitor[name] = part;
    else metadata.options[name] = part;
  }
  return metadata;
}

/**
 * @param {string} text
 * @returns {unknown}  Undefined when it is nested so deeply that it could not be sent on.
 */
function parse(text) {
  const value = /** @type {unknown} */ (JSON.parse(text));
  return isDeeper(value, DEPTH_MAX) ? undefined : value;
}

/**
 * @param {unknown} value
 * @param {number} levels
 * @returns {boolean}
 */
function isDeeper(value, levels) {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1));
}

/**
 * Whether the keeper passes on what apps say: only while somebody here wants to hear it.
 * @typedef {ReturnType<typeof createAppMessageSubscription>} AppMessageSubscription
 */

/** @param {(isOn: boolean) => Promise<unknown>} ask  The keeper. */
export function createAppMessageSubscription(ask) {
  let listeners = 0;
  /** @type {Promise<unknown>} */
  let answer = Promise.resolve();

  /** @param {boolean} isOn */
  const say = (isOn) => {
    answer = ask(isOn);
    answer.catch(() => {}); // Whoever listens awaits it; the end of listening concerns nobody.
  };

  return {
    /**
     * @returns {{ isHeard: Promise<unknown>, end: () => void }}  `isHeard` rejects with a
     *   KeeperRefusal or a KeeperLost.
     */
    begin() {
      listeners += 1;
      if (listeners === 1) say(true);
      let isOver = false;
      return {
        isHeard: answer,
        end() {
          if (isOver) return;
          isOver = true;
          listeners -= 1;
          if (listeners === 0) say(false);
        },
      };
    },
    /** The next keeper has to be told. */
    again() {
      if (listeners > 0) say(true);
    },
  };
}
