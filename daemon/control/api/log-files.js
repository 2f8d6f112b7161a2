import { readUser } from '../../../lib/shared/host/as-user.js';
import { followLinks } from '../../../lib/shared/host/follow-links.js';
import { listSegmentsByPath, readSize } from '../logs/archive/segments.js';
import { findLogPlace } from '../logs/place.js';
import { selectIds } from '../requests/change.js';
import { logFiles } from '../spawn/params.js';
import { optional, readParams, texts } from './params.js';
import { allSlotIds } from './status.js';

/** @import { ApiContext } from '../context.js' */
/** @import { OwnedFile } from '../logs/archive/segments.js' */
/** @import { MethodBody } from './methods.js' */

/** @satisfies {Record<string, MethodBody>} */
export const tendLogFiles = {
  /** @type {MethodBody} */
  async flush(context, params) {
    const { targets } = readParams({ targets: optional(texts) }, params);
    const ids = targets ? selectIds(context.control.registry.desired, targets) : allSlotIds(context);
    const owned = [
      ...listFiles(context, new Set(ids)),
      ...(targets ? [] : [{ path: followLinks(null, context.paths.daemonLog), user: null }]),
    ];
    const files = weighed(owned);
    await context.parts.logs.flush(files);
    return { files: files.map(({ path, bytes }) => ({ path, bytes })) };
  },

  /** @type {MethodBody} */
  reloadLogs(context) {
    reopenLogs(context);
    return {};
  },
};

/** @param {Pick<ApiContext, 'control' | 'parts'>} context */
export function reopenLogs({ control: { registry }, parts: { logs, logsFolder, ownLog, managerLog } }) {
  // A link may lead to another file now.
  for (const instance of registry.instances.values())
    if (instance.pid > 0) logs.attach(findLogPlace(registry, instance, logsFolder));
  logs.reopen();
  try {
    ownLog.reopen();
  } catch (error) {
    managerLog('own-log-not-reopened', { message: /** @type {Error} */ (error).message });
  }
}

/**
 * Includes files of processes that were started with an earlier spec.
 * @param {ApiContext} context
 * @param {Set<number>} ids
 * @returns {OwnedFile[]}
 */
function listFiles(context, ids) {
  const { ofSlots, ofProcesses } = listLogPlaces(context);
  const files = [...ofProcesses, ...ofSlots]
    .filter(({ id }) => ids.has(id))
    .flatMap(({ user, outFile, errorFile, logFile }) => [outFile, errorFile, logFile].map((path) => ({ path, user })));
  const byPath = new Map(files.map((file) => [file.path, file]));
  byPath.delete('');
  return [...byPath.values()];
}

/**
 * A process that was started with an earlier spec may write to other files than its slot.
 * @param {Pick<ApiContext, 'control' | 'paths'>} context
 */
export function listLogPlaces({ control, paths }) {
  const { desired, instances } = control.registry;
  return {
    ofSlots: desired.apps.flatMap(({ spec, slots }) =>
      slots.map(({ id }) => ({ id, name: spec.name, user: readUser(spec), ...logFiles(spec, id, paths.logs) })),
    ),
    ofProcesses: [...instances.values()].map(({ label }) => ({ user: null, logFile: '', ...label })),
  };
}

/**
 * @param {OwnedFile[]} owned
 * @returns {(OwnedFile & { bytes: number })[]}  Without devices, pipes, and files that are missing
 *   or that control may not see.
 */
function weighed(owned) {
  const segments = listSegmentsByPath(owned);
  return owned.flatMap(({ path, user }) => {
    const sizes = (segments.get(path) ?? []).map(({ sizeBytes }) => sizeBytes);
    const activeBytes = readSize(path, user);
    return activeBytes === null && sizes.length === 0
      ? []
      : [{ path, user, bytes: sizes.reduce((sum, bytes) => sum + bytes, activeBytes ?? 0) }];
  });
}
