import { specOf } from './desired.js';
import { findSlot } from './world.js';

/** @import { AppSpec } from '../../lib/shared/spec.js' */
/** @import { LogPlace } from './logs/log-keeper.js' */
/** @import { GivenLimits } from './settings.js' */
/** @import { Instance, World } from './world.js' */

/** For a process whose app is not in the list any more. @type {Omit<LogPlace, 'instanceId'|'id'|'name'|'outPipe'|'errPipe'|'outFile'|'errorFile'|'logFile'>} */
const PLAIN = { logType: 'raw', logDateFormat: null, isMuted: false, overflow: 'block', rateLimitBytes: 0, ship: [], limits: {} };

/**
 * Where the output of an instance goes. The files are those it was started with; how they are kept is what its app says.
 * @param {World} world
 * @param {Instance} instance
 * @returns {LogPlace}
 */
export function logPlaceOf(world, { instanceId, label, outPipe, errPipe }) {
  const app = findSlot(world, label.id)?.app;
  const spec = app?.spec.name === label.name ? specOf(app, label.generation) : null;
  // A process that an earlier version started has no combined file.
  const { id, name, outFile, errorFile, logFile = '' } = label;
  return { ...(spec ? keptAs(spec) : PLAIN), instanceId, id, name, outPipe, errPipe, outFile, errorFile, logFile };
}

/**
 * @param {AppSpec} spec
 * @returns {typeof PLAIN}
 */
function keptAs(spec) {
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
  return { maxSizeBytes: logMaxSizeBytes, interval: logInterval, maxFiles: logMaxFiles, maxAgeMs: logMaxAgeMs, maxTotalBytes: logMaxTotalBytes, compress: logCompress };
}
