/** @import { LoopContext } from '../context.js' */
/** @import { Label } from '../state/registry.js' */
/** @import { AppMetadata } from '../status/slot-status.js' */

/**
 * A message that an app sent with process.send(). If its `type` or `data` is missing, it becomes a
 * "process:msg" with `raw`.
 * @typedef {object} AppMessage
 * @property {string} type
 * @property {true} isFromApp
 * @property {unknown} [data]
 * @property {unknown} [raw]
 * @property {Sender} process
 * @property {number} at
 */

/**
 * @typedef {{ type: 'process:missed', isFromApp: true, count: number, process: Sender, at: number }} AppMissed
 *   Messages that the keeper dropped because they were too many or too long.
 */

/** @typedef {Pick<Label, 'id' | 'name' | 'slot'> & { instanceId: string }} Sender */

/**
 * Maximum depth of a message. Real messages are less deep. Without this limit, JSON.stringify()
 * could exceed the stack.
 */
const DEPTH_MAX = 50;

/**
 * Returns null if clients must not get the message: its type begins with "axm:option:", or it is
 * nested too deeply.
 * @param {string} text
 * @returns {{ type: string, data: unknown } | { type: 'process:msg', raw: unknown } | null}
 */
function readAppMessage(text) {
  const message = parse(text);
  if (message === undefined) return null;
  const { type, data } = /** @type {{ type?: unknown, data?: unknown }} */ (message ?? {});
  if (typeof type !== 'string' || data === undefined || data === null) return { type: 'process:msg', raw: message };
  return type.startsWith('axm:option:') ? null : { type, data };
}

/**
 * @param {LoopContext} context
 * @param {{ instanceId: string, text?: string, count?: number }} data  `count`: dropped messages.
 */
export function publishAppMessage({ journal, registry, parts }, { instanceId, text, count = 1 }) {
  const label = registry.instances.get(instanceId)?.label;
  if (!label || !journal.isFollowed) return;
  const process = { id: label.id, name: label.name, slot: label.slot, instanceId };
  const at = parts.clock.nowMs();
  const message = text === undefined ? /** @type {const} */ ({ type: 'process:missed', count }) : readAppMessage(text);
  if (message) journal.send({ ...message, isFromApp: true, process, at });
}

/** @param {[type: string, name: string, text: string][]} entries */
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
 * @returns {unknown}  Undefined if the value is nested too deeply to be sent to clients.
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

/** @typedef {ReturnType<typeof createAppMessageSubscription>} AppMessageSubscription */

/**
 * Subscribes to messages of apps while at least one client wants them. Only then the keeper sends
 * such messages to control.
 * @param {(isOn: boolean) => Promise<unknown>} ask
 */
export function createAppMessageSubscription(ask) {
  let listeners = 0;
  /** @type {Promise<unknown>} */
  let answer = Promise.resolve();

  /** @param {boolean} isOn */
  const say = (isOn) => {
    answer = ask(isOn);
    answer.catch(() => {}); // Ignores the error here, because callers of begin() handle it.
  };

  return {
    /**
     * `isHeard` rejects with a KeeperRefusal or a KeeperLost.
     * @returns {{ isHeard: Promise<unknown>, end: () => void }}
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
    again() {
      if (listeners > 0) say(true);
    },
  };
}
