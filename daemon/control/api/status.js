import { constants } from 'node:os';
import { NclustError } from '../../../lib/shared/errors.js';
import { PROTOCOL } from '../../../lib/shared/wire/protocol.js';
import { shortNotice } from '../../../lib/shared/without-secrets.js';
import { waitForApps } from '../apply/outcome.js';
import { listOutputNotices, listSharedFileNotices } from '../logs/place.js';
import { selectIds } from '../requests/change.js';
import { isAppScope } from '../state/registry.js';
import { describeRollback } from '../rollout/reload-error.js';
import { describeLackingReady } from '../../../lib/app-spec/channel.js';
import { briefStatus, createOverview, slotStatus } from '../status/slot-status.js';
import { describeRefusal } from '../update/refusals.js';
import { queryAppMetadata } from './messages.js';
import { optional, readParams, text, texts, toggle } from './params.js';

/** @import { BriefStatus, HeldSocket, Hello, SlotStatus } from '../../../lib/shared/wire/protocol.js' */
/** @import { ApiContext, Client } from '../context.js' */
/** @import { Receipt } from '../state/desired.js' */
/** @import { Registry } from '../state/registry.js' */
/** @import { MethodBody } from './methods.js' */

/** @satisfies {Record<string, MethodBody>} */
export const readings = {
  /** @type {(context: ApiContext) => Hello} */
  hello({ control, paths, version }) {
    const keeper = control.keeper;
    return {
      version,
      protocol: PROTOCOL,
      controlPid: process.pid,
      keeperPid: keeper?.pid ?? 0,
      keeperVersion: keeper?.version ?? '',
      home: paths.home,
      nodeVersion: process.versions.node,
      startedAtMs: keeper?.startedAtMs ?? 0,
    };
  },

  /** @type {MethodBody} */
  async list(context, params) {
    const { targets, brief, detail } = readParams({ targets: optional(texts), brief: toggle, detail: toggle }, params);
    await context.metrics.measureNew();
    const ids = targets ? selectIds(context.control.registry.desired, targets) : allSlotIds(context);
    const slots =
      brief && !detail
        ? briefStatuses(context, ids)
        : statuses(context, ids, detail ? await queryAppMetadata(context) : null);
    const { desired } = context.control.registry; // After the wait for the apps.
    return {
      slots,
      notices: [
        ...context.control.registry.notices,
        // Stays until the next reload or restart, because perhaps no user was looking before.
        ...desired.apps.flatMap((app) => describeRollback(app) ?? []),
        ...withoutReady(context.control.registry),
        ...withoutChannels(context.control.registry),
        ...refusals(context.control),
        ...context.triggers.notices(),
        ...context.parts.settings.notices(),
        ...listOutputNotices(desired.apps, context.paths.logs),
        ...context.parts.logs.notices((name) => desired.apps.some(({ spec }) => spec.name === name)),
        ...context.exports.notices(),
        ...context.web.notices(),
        ...listSharedFileNotices(desired.apps, context.paths.logs),
      ].map(shortNotice),
    };
  },

  /** @type {MethodBody} */
  troubles(context, params) {
    const { targets } = readParams({ targets: optional(texts) }, params);
    return { troubles: listTroubles(context, targets && selectIds(context.control.registry.desired, targets)) };
  },

  /** @type {MethodBody} */
  async sockets({ control }) {
    const { sockets } = await control.askKeeper('sockets', {});
    return { sockets: sockets.map((/** @type {any} */ socket) => heldSocket(control.registry, socket)) };
  },

  /** @type {MethodBody} */
  reset(context, params) {
    const { targets } = readParams({ targets: texts }, params);
    const ids = selectIds(context.control.registry.desired, targets);
    for (const id of ids) context.control.reset(id);
    return { slots: statuses(context, ids) };
  },

  /** @type {MethodBody} */
  async signal(context, params) {
    const { targets, signal } = readParams({ targets: texts, signal: text }, params);
    const name = signalName(signal);
    const ids = selectIds(context.control.registry.desired, targets);
    await Promise.all(ids.map((id) => context.control.signal(id, name)));
    return { slots: statuses(context, ids) };
  },
};

/**
 * @param {Registry} registry
 * @param {{ app: string, scope: string, address: string, port: number, users: string[] }} socket
 * @returns {HeldSocket}
 */
function heldSocket({ desired, instances }, { app, scope, address, port, users }) {
  const known = users.flatMap((instanceId) => instances.get(instanceId) ?? []);
  return {
    // Finds the present name by the scope, because the keeper knows only the name at the time of
    // the bind.
    app: desired.apps.find((one) => isAppScope(scope, one))?.spec.name ?? app,
    address,
    port,
    users: known.map(({ label, pid }) => ({ id: label.id, slot: label.slot, pid })),
  };
}

/**
 * Returns a notice for each app that is online without the message `ready` it should send.
 * @param {Registry} registry
 */
function withoutReady({ desired, instances }) {
  const names = new Set(
    [...instances.values()].flatMap(({ isExcused, isReady, exit, label }) =>
      isExcused && !isReady && !exit ? label.name : [],
    ),
  );
  return desired.apps.flatMap(({ spec }) => (names.has(spec.name) && spec.waitReady ? describeLackingReady(spec) : []));
}

/** @param {Registry} registry */
function withoutChannels({ desired, histories }) {
  return desired.apps.flatMap(({ spec, slots }) =>
    slots
      .filter(({ id }) => histories.get(id)?.hasNoChannel)
      .map(
        ({ id }) =>
          `"${spec.name}" (id ${id}) runs without a channel to the manager, because keepers died right after its ` +
          `start. To give it back, run: nclust restart ${id}`,
      ),
  );
}

/**
 * Returns notices if the keeper does not answer, and if it refused an installation. The second
 * notice stays until the next update, because perhaps no user saw the refusal.
 * @param {ApiContext['control']} control
 */
function refusals({ keeper, session: { trouble } }) {
  return [
    ...(trouble ? [trouble.message] : []),
    ...(keeper?.refusedRoot ? [describeRefusal(keeper.refusedRoot, keeper.refusedWhy)] : []),
  ];
}

/**
 * @param {ApiContext} context
 * @param {number[]} [ids]  Default: of all slots.
 */
export function listTroubles({ control, troubles }, ids) {
  const names = ids && new Set(selectSlots(control.registry, ids).map(({ app }) => app.spec.name));
  return troubles.list().filter(({ app }) => names?.has(app) ?? true);
}

/** @param {ApiContext} context */
export function allSlotIds({ control }) {
  return control.registry.desired.apps.flatMap((app) => app.slots.map((slot) => slot.id));
}

/**
 * @param {ApiContext} context
 * @param {Receipt} receipt
 * @param {Client} client
 * @param {{ wait: boolean, progress: boolean }} o
 * @returns {Promise<SlotStatus[]>}
 */
export async function awaitStatuses(context, receipt, client, { wait, progress }) {
  if (wait) await waitForApps(context, receipt, client, { progress, isFromFile: false });
  return affectedStatuses(context, receipt);
}

/**
 * @param {ApiContext} context
 * @param {Receipt} receipt
 */
export function affectedStatuses(context, { about }) {
  const ids = about.map(({ id }) => id);
  return statuses(context, ids);
}

/**
 * @param {ApiContext} context
 * @param {number[]} ids
 * @param {Awaited<ReturnType<typeof queryAppMetadata>> | null} [metadata]  Null: without details.
 * @returns {SlotStatus[]}
 */
export function statuses({ control, parts, paths, metrics, triggers, troubles }, ids, metadata = null) {
  const { registry } = control;
  const kindsOf = troubles.bySlot();
  const shown = {
    home: paths.home,
    pidsFolder: paths.pids,
    triggersOf: triggers.describe,
    logsFolder: paths.logs,
    nowMs: parts.clock.nowMs(),
    usageOf: metrics.usageOf,
    logsOf: parts.logs.describe,
    metadata,
    overview: createOverview(registry),
  };
  return selectSlots(registry, ids).map(({ app, slot }) => ({
    ...slotStatus(registry, app, slot, shown),
    troubles: kindsOf(app.spec.name, slot.slot),
  }));
}

/**
 * @param {ApiContext} context
 * @param {number[]} ids
 * @returns {BriefStatus[]}
 */
function briefStatuses({ control, metrics, troubles }, ids) {
  const { registry } = control;
  const kindsOf = troubles.bySlot();
  const shown = { usageOf: metrics.usageOf, overview: createOverview(registry) };
  return selectSlots(registry, ids).map(({ app, slot }) => ({
    ...briefStatus(registry, app, slot, shown),
    troubles: kindsOf(app.spec.name, slot.slot),
  }));
}

/**
 * @param {Registry} registry
 * @param {number[]} ids
 */
function selectSlots({ desired }, ids) {
  const wanted = new Set(ids);
  return desired.apps
    .flatMap((app) => app.slots.filter(({ id }) => wanted.has(id)).map((slot) => ({ app, slot })))
    .sort((a, b) => a.slot.id - b.slot.id);
}

/** @param {string} given  A name, with or without SIG, or a number. */
function signalName(given) {
  const byNumber = Object.entries(constants.signals).find(([, number]) => String(number) === given)?.[0];
  const name = byNumber ?? (given.toUpperCase().startsWith('SIG') ? given.toUpperCase() : `SIG${given.toUpperCase()}`);
  if (Object.hasOwn(constants.signals, name)) return name;
  throw new NclustError('ERR_NCLUST_BAD_SIGNAL', `"${given}" is not a signal of this system.`, {
    hint: 'Give a name such as SIGUSR2 or its number.',
    data: { signal: given },
  });
}
