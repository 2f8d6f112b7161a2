import { FIELDS } from '../../../lib/app-spec/table.js';
import { NclustError } from '../../../lib/shared/errors.js';
import { shortArgument, shortScript, shortTarget } from '../../../lib/shared/without-secrets.js';
import { createAnswer } from '../api/methods.js';
import { eventLog } from './events.js';

/** @import { Shipped } from '../../../lib/shared/wire/protocol.js' */
/** @import { Answer } from '../api/connection.js' */
/** @import { ApiContext, Client, Control } from '../context.js' */

/** The name of the client in the event log. */
const WHO = 'the web dashboard';

/**
 * Requests that each page may send, with the parameters that are passed on.
 * @type {Record<string, string[]>}
 */
const READINGS = {
  hello: [],
  list: ['targets', 'brief', 'detail'],
  metrics: ['targets', 'detail', 'custom', 'workers', 'history', 'follow', 'subscription'],
  logs: ['targets', 'lines', 'streams', 'follow', 'since', 'until', 'grep', 'level', 'cursor', 'subscription'],
  events: ['subscription'],
  eventLog: ['app', 'id', 'lines', 'follow', 'subscription'],
  unsubscribe: ['subscription'],
};

const CHANGE = ['targets', 'wait', 'progress', 'token'];

/**
 * Further requests if actions are allowed. No parameter can contain a program or a variable.
 * @type {Record<string, string[]>}
 */
const ACTIONS = {
  start: CHANGE,
  stop: CHANGE,
  restart: CHANGE,
  reload: CHANGE,
  scale: ['target', 'instances', 'wait', 'progress', 'token'],
  reset: ['targets'],
};

/**
 * Limit for the targets of a request, because control compares each target with the whole list, and
 * again for each log line. Our page sends one target.
 */
const TARGETS_MAX = 10;

/** A target of this form is a regular expression, as on the command line. */
const PATTERN = /^\/.+\/[imsu]*$/;

/** Our page has four subscriptions. Each subscription takes CPU time every second. */
const SUBSCRIPTIONS_MAX = 32;

/** Limit for a request token. Control writes the last 200 tokens with every change of the list. */
const TOKEN_MAX_CHARS = 200;

/** Parameters that a page cannot choose. @type {Record<string, object>} */
const FIXED = { events: { types: ['process:event'] } };

/**
 * Limits the methods and parameters of pages, and removes secrets from answers.
 * @param {ApiContext} context
 * @param {() => boolean} mayAct
 * @returns {Answer}  Rejects with ERR_NCLUST_WEB_REFUSED for requests that are not allowed, and
 *   with errors of the method.
 */
export function createPageAnswer(context, mayAct) {
  const own = { ...context, control: nameClient(context.control, WHO) };
  const answer = createAnswer(own);
  return async (method, params, client) => {
    const kept = readParameters(method, mayAct());
    const given = {
      ...Object.fromEntries(kept.flatMap((key) => (Object.hasOwn(params, key) ? [[key, params[key]]] : []))),
      ...FIXED[method],
    };
    checkTargets(context, [given.targets ?? [], given.target ?? []].flat());
    if (typeof given.token === 'string' && given.token.length > TOKEN_MAX_CHARS)
      throw refused(`A request token may have at most ${TOKEN_MAX_CHARS} characters.`);
    const { subscription } = given;
    if (method !== 'unsubscribe' && kept.includes('subscription') && !client.subscriptions.has(String(subscription)))
      checkRoom(client.subscriptions.size);
    const result =
      method === 'eventLog' ? await eventLog(own, given, client) : withoutSecrets(await answer(method, given, client));
    endSurplus(client, /** @type {{ subscription?: string }} */ (result ?? {}).subscription);
    return result;
  };
}

/**
 * Throws if there are too many targets, or for a regular expression, because its evaluation may
 * never end and would block control.
 * @param {ApiContext} context
 * @param {unknown[]} targets
 */
function checkTargets({ control: { registry } }, targets) {
  if (targets.length > TARGETS_MAX) throw refused(`A page may name at most ${TARGETS_MAX} targets at once.`);
  const pattern = targets.find(
    (target) =>
      typeof target === 'string' &&
      PATTERN.test(target) &&
      !registry.desired.apps.some(({ spec }) => spec.name === target),
  );
  if (pattern !== undefined) throw refused('A page cannot choose apps by a pattern.');
}

/** @param {number} count */
function checkRoom(count) {
  if (count >= SUBSCRIPTIONS_MAX) throw refused(`A page may follow at most ${SUBSCRIPTIONS_MAX} things at once.`);
}

/**
 * Ends the new subscription and throws if the page has too many, because requests that were sent at
 * the same time may all have passed the first check.
 * @param {Client} client
 * @param {string} [name]  The new subscription.
 */
function endSurplus({ subscriptions }, name) {
  if (
    name === undefined ||
    subscriptions.size <= SUBSCRIPTIONS_MAX ||
    [...subscriptions.keys()].indexOf(name) < SUBSCRIPTIONS_MAX
  )
    return;
  subscriptions.get(name)?.();
  subscriptions.delete(name);
  checkRoom(SUBSCRIPTIONS_MAX);
}

/** @param {string} message */
function refused(message) {
  return new NclustError('ERR_NCLUST_WEB_REFUSED', message, { hint: 'Use the command line.' });
}

/**
 * @param {string} method
 * @param {boolean} mayAct
 */
function readParameters(method, mayAct) {
  if (Object.hasOwn(READINGS, method)) return READINGS[method];
  const isAction = Object.hasOwn(ACTIONS, method);
  if (isAction && mayAct) return ACTIONS[method];
  throw new NclustError(
    'ERR_NCLUST_WEB_REFUSED',
    `The method ${JSON.stringify(method.slice(0, 100))} is not allowed from the ` +
      `dashboard${isAction ? ', which is read-only' : ''}.`,
    {
      hint: isAction ? 'To allow actions, run: nclust web --allow-actions' : 'Use the command line.',
      data: { method: method.slice(0, 100) },
    },
  );
}

/**
 * Wraps control so that events and death records name `who` as the client.
 * @param {Control} control
 * @param {string} who
 */
function nameClient(control, who) {
  /** @type {Control['mutate']} */
  const mutate = (method, token, change) =>
    control.mutate(method, token, (desired) => {
      const changed = change(desired);
      const before = new Set(desired.apps);
      return {
        ...changed,
        desired: {
          ...changed.desired,
          apps: changed.desired.apps.map((app) => (before.has(app) ? app : { ...app, by: who })),
        },
      };
    });
  // Binds methods to the target, because private fields do not work on a proxy.
  return new Proxy(control, {
    get(target, key) {
      if (key === 'mutate') return mutate;
      const value = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const SPEC_FIELDS = Object.keys(FIELDS).filter((field) => FIELDS[field].isPublic);

/**
 * @template T
 * @param {T} answer
 */
function withoutSecrets(answer) {
  const { slots } = /** @type {{ slots?: Record<string, any>[] }} */ (answer ?? {});
  return Array.isArray(slots) ? { ...answer, slots: slots.map(shown) } : answer;
}

/** @param {Record<string, any>} slot */
function shown({ effectiveEnv: _, spec, shipping, axm, ...rest }) {
  return {
    ...rest,
    ...(rest.args
      ? { script: shortScript(rest.script, rest.interpreterArgs), args: rest.args.map(shortArgument) }
      : {}),
    ...(spec ? { spec: Object.fromEntries(SPEC_FIELDS.map((key) => [key, spec[key]])) } : {}),
    ...(axm ? { axm: { actions: axm.actions, monitor: axm.monitor } } : {}),
    ...(shipping
      ? { shipping: shipping.map((/** @type {Shipped} */ one) => ({ ...one, target: shortTarget(one.target) })) }
      : {}),
  };
}
