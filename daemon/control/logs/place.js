import { readUser } from '../../../lib/shared/host/as-user.js';
import { logFiles } from '../spawn/params.js';
import { getSpec } from '../state/desired.js';
import { findSlot } from '../state/registry.js';

/** @import { AppSpec } from '../../../lib/shared/spec/spec.js' */
/** @import { GivenLimits } from '../settings.js' */
/** @import { Instance, Registry } from '../state/registry.js' */
/** @import { LogPlace } from './app-logs.js' */

/**
 * Settings for a process whose app was removed from the list.
 * @type {Omit<
 *   LogPlace,
 *   | 'instanceId' | 'id' | 'name' | 'outPipe' | 'errPipe' | 'outFile' | 'errorFile' | 'logFile'
 *   | 'user'
 * >}
 */
const PLAIN = {
  logType: 'raw',
  logDateFormat: null,
  isMuted: false,
  overflow: 'block',
  rateLimitBytes: 0,
  ship: [],
  limits: {},
};

/**
 * Uses the current settings of the app. If the app was removed, uses the files that the process was
 * started with.
 * @param {Registry} registry
 * @param {Instance} instance
 * @param {string} logsFolder
 * @returns {LogPlace}
 */
export function findLogPlace(registry, { instanceId, label, outPipe, errPipe }, logsFolder) {
  const app = findSlot(registry, label.id)?.app;
  const spec = app?.spec.name === label.name ? getSpec(app, label.generation) : null;
  // If an earlier version started the process, its label has no combined file.
  const { id, name, outFile, errorFile, logFile = '' } = label;
  const user = spec ? readUser(spec) : (label.user ?? null);
  const files = spec ? logFiles(spec, id, logsFolder) : { outFile, errorFile, logFile };
  return { ...(spec ? logFields(spec) : PLAIN), instanceId, id, name, user, outPipe, errPipe, ...files };
}

/**
 * @param {AppSpec} spec
 * @returns {typeof PLAIN}
 */
function logFields(spec) {
  return {
    logType: spec.logType,
    logDateFormat: spec.logDateFormat,
    isMuted: spec.disableLogs,
    overflow: spec.logOverflow,
    rateLimitBytes: spec.logRateLimitBytes,
    ship: spec.logShip,
    limits: limitsOf(spec),
  };
}

/**
 * @param {AppSpec} spec
 * @returns {GivenLimits}
 */
function limitsOf({ logMaxSizeBytes, logInterval, logMaxFiles, logMaxAgeMs, logMaxTotalBytes, logCompress }) {
  return {
    maxSizeBytes: logMaxSizeBytes,
    interval: logInterval,
    maxFiles: logMaxFiles,
    maxAgeMs: logMaxAgeMs,
    maxTotalBytes: logMaxTotalBytes,
    compress: logCompress,
  };
}
