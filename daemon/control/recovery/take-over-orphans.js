import { isUp } from '../rollout/supervise.js';
import { KeeperRefusal } from '../keeper-link/link.js';
import { reload } from '../rollout/changes.js';
import { renew } from '../state/changes.js';
import { createLabel } from '../spawn/params.js';
import { findSlot } from '../state/registry.js';
import { saveIfPossible } from '../state/store.js';

/** @import { LoopContext } from '../context.js' */
/** @import { ChildSnapshot } from '../keeper-link/link.js' */
/** @import { DesiredApp } from '../state/desired.js' */
/** @import { Instance, Label, Registry } from '../state/registry.js' */
/** @import { Orphan } from './find-orphans.js' */

const ORPHANS_NOTE_KEY = 'orphans-sought';
/** Limits for the log, because an orphan chooses its own name. */
const PIDS_LOGGED = 50;
const NAME_MAX_CHARS = 100;

/**
 * Runs once for each keeper. First saves which slots have to be replaced, then adopts the orphans.
 * If this control dies in between, the next control does the rest.
 * @param {LoopContext} context
 * @param {object} o
 * @param {Record<string, unknown>} o.notes
 * @param {ChildSnapshot[]} o.children
 * @param {Map<string, Instance>} o.known  The instances before the keeper died.
 * @returns {Promise<ChildSnapshot[]>}
 */
export async function takeOverOrphans(context, { notes, children, known }) {
  if (notes[ORPHANS_NOTE_KEY]) return [];
  const held = new Set(children.map((child) => child.instanceId));
  const orphans = context.parts
    .findOrphans(
      (id, instanceId) => (isOfSlot(known.get(instanceId), id) ? listUids(findSlot(context.registry, id)?.app) : []),
      new Set(context.registry.desired.apps.flatMap(listUids)),
    )
    .filter((orphan) => !held.has(orphan.instanceId));
  const labelled = orphans.map((orphan, nth) => ({ orphan, label: buildLabel(context, orphan, known, nth) }));
  if (orphans.length > 0)
    context.parts.managerLog('orphans-found', {
      count: orphans.length,
      pids: orphans.map(({ pid }) => pid).slice(0, PIDS_LOGGED),
    });
  const ids = labelled.map(({ label }) => label.id);
  replaceLater(context, ids);
  const taken = await Promise.all(
    labelled.map(({ orphan, label }) => take(context, orphan, label, known.get(orphan.instanceId))),
  );
  await context.link?.request('note', { key: ORPHANS_NOTE_KEY, value: true });
  return taken.flatMap((child) => child ?? []);
}

/**
 * Whether the slot that a process names is the one that control has recorded for its instance. An
 * app can set any variables in the environment of its processes.
 * @param {Instance | undefined} known
 * @param {number} id
 */
function isOfSlot(known, id) {
  return !known || known.label.id < 0 || known.label.id === id;
}

/** @param {DesiredApp | undefined} app */
function listUids(app) {
  return app ? [app, ...(app.previous ?? [])].map(({ spec }) => spec.uid) : null;
}

/**
 * If control has outlived the keeper, it knows every instance. It then ends other processes, and
 * does not believe what they say about themselves.
 * @param {LoopContext} context
 * @param {Orphan} orphan
 * @param {Map<string, Instance>} known
 * @param {number} nth
 * @returns {Label}
 */
function buildLabel({ parts, registry }, orphan, known, nth) {
  const own = known.get(orphan.instanceId)?.label;
  if (own) return own;
  const found = known.size > 0 ? null : findSlot(registry, orphan.id);
  // Older than any real generation. Each orphan gets a different number, because two orphans of one
  // slot need two seats.
  const generation = -nth;
  if (found && isOf(found.app, orphan))
    return createLabel(
      found.app.spec,
      { ...found.slot, generation },
      { spawns: 0, logs: parts.logsFolder, scope: found.app.scope },
    );
  // No app has a name with a tab, so this is not the name of another app.
  const name = `removed\t${orphan.name.slice(0, NAME_MAX_CHARS)}`;
  return {
    name,
    slot: 0,
    id: -1 - nth, // No slot has a negative id.
    generation,
    spawns: 0,
    scope: name,
    outFile: '',
    errorFile: '',
    stop: { killTimeoutMs: 10_000, signal: null, tree: true },
  };
}

/**
 * Whether the orphan belongs to the app. If the list was lost, another app may have the id now. If
 * the app was renamed, the orphan may have any earlier name of the app.
 * @param {DesiredApp} app
 * @param {Orphan} orphan
 */
function isOf({ spec, scope, createdAtMs }, { name, startedAtMs }) {
  return [spec.name, scope].includes(name) || (scope !== undefined && startedAtMs >= createdAtMs);
}

/**
 * @param {LoopContext} context
 * @param {number[]} ids
 */
function replaceLater(context, ids) {
  const { registry } = context;
  const apps = registry.desired.apps.filter((app) => app.slots.some((slot) => ids.includes(slot.id)));
  const slots = apps.flatMap((app) => app.slots.filter((slot) => slot.want === 'up').map((slot) => slot.id));
  if (slots.length === 0) return;
  for (const app of apps)
    registry.desired = renewed(
      registry,
      app,
      slots.filter((id) => app.slots.some((slot) => slot.id === id)),
    );
  saveIfPossible(context);
}

/**
 * If a guarded reload is in progress, the replacement is guarded too, because the new code may be
 * bad.
 * @param {Registry} registry
 * @param {DesiredApp} app
 * @param {number[]} ids
 */
function renewed(registry, app, ids) {
  if (!app.rollout.isGuarded) return renew(registry.desired, ids, app.by, 'orphan').desired;
  return reload(registry.desired, ids, app.by, {
    change: (spec) => spec,
    // During a rollback window the new instances are on probation, so they do not count as up. If
    // their replacements fail, the slots return to the old generation.
    isUp: (slot) => !app.rollout.windowMs && isUp(registry, slot),
    isBeside: ({ spec }) => spec.kind === 'node',
  }).desired;
}

/**
 * @param {LoopContext} context
 * @param {Orphan} orphan
 * @param {Label} label
 * @param {Instance | undefined} known
 * @returns {Promise<ChildSnapshot | null>}  Null if the keeper refuses to adopt the orphan.
 */
async function take(context, orphan, label, known) {
  const { instanceId, pid, startTicks, startedAtMs, outPipe, errPipe } = orphan;
  const spec = findSlot(context.registry, label.id)?.app.spec;
  /** @type {ChildSnapshot['mode']} */
  const mode = spec?.kind === 'node' && !label.hasNoChannel ? spec.mode : 'exec';
  const shared = {
    instanceId,
    app: label.name,
    label,
    mode,
    pid,
    startedAtMs: known?.startedAtMs ?? startedAtMs,
    outPipe,
    errPipe,
  };
  try {
    await context.link?.request('adopt', { ...shared, uid: spec?.uid ?? undefined, scope: label.scope, startTicks });
  } catch (error) {
    if (!(error instanceof KeeperRefusal)) throw error;
    context.parts.managerLog('adoption-refused', { instanceId, pid, message: error.message });
    return null;
  }
  return {
    ...shared,
    addresses: known?.addresses ?? [],
    isReady: true,
    isRetiring: false,
    isAdopted: true,
    isParked: known?.isParked ?? false,
    exit: null,
    isGone: false,
  };
}
