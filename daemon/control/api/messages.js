import { allInOrder } from '../../../lib/shared/all-in-order.js';
import { NclustError } from '../../../lib/shared/errors.js';
import { INSPECTOR_URL } from '../../../lib/shared/wire/protocol.js';
import { trigger } from '../app-channel/trigger.js';
import { ask, reachLiving, readMetadata } from '../app-channel/ask-process.js';
import { readAppMetadata } from '../app-channel/messages.js';
import { KeeperRefusal } from '../keeper-link/link.js';
import {
  BadParams,
  optional,
  readParams,
  subscriptionName,
  text,
  texts,
  toggle,
  wholeUpTo,
  withDefault,
} from './params.js';

/** @import { ApiContext } from '../context.js' */
/** @import { FollowedEvent } from '../journal/journal.js' */
/** @import { AppMetadata } from '../status/slot-status.js' */
/** @import { MethodBody } from './methods.js' */

const INPUT_MAX_BYTES = 64 * 1024;
const MESSAGE_MAX_CHARS = 1024 * 1024;
const REPLY_MS = 5_000;
const REPLY_MAX_MS = 600_000;
const INSPECTOR_MS = 5_000;

let lastSubscription = 0;

/** @satisfies {Record<string, MethodBody>} */
export const messages = {
  /** @type {MethodBody} */
  async events({ control }, params, client) {
    const { types, subscription = `events-${++lastSubscription}` } = readParams(
      { types: optional(texts), subscription: optional(subscriptionName) },
      params,
    );
    client.subscriptions.get(subscription)?.();
    const hearsApps = !types || types.some((type) => type !== 'process:event' && type !== 'trouble');
    const unfollow = control.journal.follow({
      wants: wanted(types, hearsApps),
      deliver: (event) => client.notifyEvent(subscription, event),
    });
    const appMessages = hearsApps ? control.appMessages.begin() : null;
    const end = () => {
      unfollow();
      appMessages?.end();
    };
    if (client.signal.aborted) end();
    else client.subscriptions.set(subscription, end);
    return { subscription, ...((await isDeaf(appMessages?.isHeard)) ? { isDeaf: true } : {}) };
  },

  /** @type {MethodBody} */
  async sendMessage(context, params) {
    const { targets, token } = readParams({ targets: texts, token: optional(text) }, params);
    const { message } = params;
    if (message === undefined || message === null) throw new BadParams('message', 'given, and not null');
    if (JSON.stringify(message).length > MESSAGE_MAX_CHARS)
      throw new BadParams('message', `at most ${MESSAGE_MAX_CHARS} characters of JSON`);
    const meant = reachLiving(context.control.registry, targets);
    await allInOrder(meant.map((one) => ask(context, one, 'send-message', { message, token })));
    return { slots: meant.map(place) };
  },

  /** @type {MethodBody} */
  async sendInput(context, params) {
    const { target, token } = readParams({ target: text, token: optional(text) }, params);
    const { input } = params;
    if (typeof input !== 'string' || Buffer.byteLength(input) > INPUT_MAX_BYTES)
      throw new BadParams('input', `a text of at most ${INPUT_MAX_BYTES} bytes`);
    const one = single(context, target);
    await ask(context, one, 'write', { text: input, token });
    return { slots: [place(one)] };
  },

  /** @type {MethodBody} */
  async trigger(context, params, { signal }) {
    const given = readParams(
      {
        targets: texts,
        action: text,
        timeoutMs: withDefault(wholeUpTo(REPLY_MAX_MS), REPLY_MS),
        token: optional(text),
      },
      params,
    );
    return { replies: await trigger(context, { ...given, params: params.params ?? undefined, signal }) };
  },

  /** @type {MethodBody} */
  async inspect(context, params) {
    const { target, stop } = readParams({ target: text, stop: toggle }, params);
    const [one] = reachLiving(context.control.registry, [target]);
    const { url, was } = await ask(context, one, 'inspect', { isOn: !stop }, INSPECTOR_MS);
    if (![url, was].every((address) => address === null || isInspectorUrl(address)))
      throw new NclustError(
        'ERR_NCLUST_NOT_REACHABLE',
        `"${one.name}" (id ${one.id}) reported an inspector address that Node.js does not use.`,
        { data: { id: one.id, name: one.name } },
      );
    return { slot: place(one), url, was };
  },
};

/** @param {unknown} address */
function isInspectorUrl(address) {
  return typeof address === 'string' && INSPECTOR_URL.test(address);
}

/**
 * @param {Pick<ApiContext, 'control' | 'parts'>} context
 * @returns {Promise<Map<string, AppMetadata>>}  Empty if the keeper fails, because `nclust list`
 *   must work without this data.
 */
export async function queryAppMetadata(context) {
  try {
    const metadata = await readMetadata(context);
    return new Map(Object.entries(metadata).map(([instanceId, kept]) => [instanceId, readAppMetadata(kept)]));
  } catch (error) {
    if (error instanceof NclustError) return new Map();
    throw error;
  }
}

/**
 * @param {string[] | undefined} types  A type with "*" at the end matches all types with this
 *   beginning.
 * @param {boolean} hearsApps
 * @returns {(event: FollowedEvent) => boolean}
 */
function wanted(types, hearsApps) {
  // Earlier clients expect `process` in every event.
  if (!types) return (event) => 'process' in event;
  return ({ type }) =>
    (hearsApps && type === 'process:missed') ||
    types.some((one) => (one.endsWith('*') ? type.startsWith(one.slice(0, -1)) : one === type));
}

/** @param {Promise<unknown> | undefined} isHeard */
async function isDeaf(isHeard) {
  try {
    await isHeard;
    return false;
  } catch (error) {
    // Returns false for a KeeperLost, because control subscribes again when it connects to the next
    // keeper.
    return error instanceof KeeperRefusal;
  }
}

/**
 * @param {ApiContext} context
 * @param {string} target
 */
function single({ control }, target) {
  const meant = reachLiving(control.registry, [target]);
  if (meant.length === 1) return meant[0];
  throw new NclustError(
    'ERR_NCLUST_BAD_SELECTOR',
    `"${target}" matches ${meant.length} processes, but a line can go to only one.`,
    { hint: `Give one of the ids ${meant.map(({ id }) => id).join(', ')}.`, data: { target } },
  );
}

/** @param {ReturnType<typeof reachLiving>[number]} one */
function place({ id, name, slot, instance }) {
  return { id, name, slot, pid: instance.pid };
}
