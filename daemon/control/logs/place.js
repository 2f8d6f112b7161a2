import { isAbsolute } from 'node:path';
import { readUser } from '../../../lib/shared/host/as-user.js';
import { followLinks, isOwnOutput } from '../../../lib/shared/host/follow-links.js';
import { fileStem } from '../../../lib/shared/paths.js';
import { shellQuote } from '../../../lib/shared/shell-quote.js';
import { logFiles } from '../spawn/params.js';
import { getSpec } from '../state/desired.js';
import { findSlot } from '../state/registry.js';

/** @import { AppSpec } from '../../../lib/app-spec/types.js' */
/** @import { GivenLimits } from '../context.js' */
/** @import { DesiredApp } from '../state/desired.js' */
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
    limits: getLimits(spec),
  };
}

/**
 * @param {AppSpec} spec
 * @returns {GivenLimits}
 */
function getLimits({ logMaxSizeBytes, logInterval, logMaxFiles, logMaxAgeMs, logMaxTotalBytes, logCompress }) {
  return {
    maxSizeBytes: logMaxSizeBytes,
    interval: logInterval,
    maxFiles: logMaxFiles,
    maxAgeMs: logMaxAgeMs,
    maxTotalBytes: logMaxTotalBytes,
    compress: logCompress,
  };
}

/** Options that end the notice below. */
const BACK = /** @type {const} */ ({ outFile: '-o default', errorFile: '-e default', logFile: '-l none' });

/**
 * A daemon has no output of its own. The lines go to the default log file instead.
 * @param {DesiredApp[]} apps
 * @param {string} logsFolder
 * @returns {string[]}
 */
export function listOutputNotices(apps, logsFolder) {
  return apps.flatMap(({ spec, slots }) => {
    const keys = /** @type {(keyof typeof BACK)[]} */ (Object.keys(BACK)).filter((key) => {
      const path = spec[key];
      return isAbsolute(path) && isOwnOutput(followLinks(readUser(spec), path));
    });
    if (keys.length === 0 || slots.length === 0 || spec.disableLogs) return [];
    const files = logFiles(spec, slots[0].id, logsFolder);
    return [
      `"${spec.name}" logs to ${quoteAll(keys.map((key) => files[key]))}, because only "nclust run" has an output ` +
        `for ${quoteAll(keys.map((key) => spec[key]))}. To end this notice: nclust reload ${shellQuote(spec.name)} ` +
        `${keys.map((key) => BACK[key]).join(' ')}`,
    ];
  });
}

/**
 * As in PM2, apps whose names differ only in characters such as "_" and "-" have the same default
 * files.
 * @param {DesiredApp[]} apps
 * @param {string} logsFolder
 * @returns {string[]}
 */
export function listSharedFileNotices(apps, logsFolder) {
  /** @type {Map<string, DesiredApp[]>} */
  const byStem = new Map();
  for (const app of apps) {
    const stem = fileStem(app.spec.name);
    byStem.set(stem, [...(byStem.get(stem) ?? []), app]);
  }
  return [...byStem.values()].flatMap((twins) => {
    if (twins.length === 1) return [];
    const files = twins.flatMap(({ spec, slots }) => [
      ...new Set(slots.flatMap(({ id }) => Object.values(logFiles(spec, id, logsFolder)))),
    ]);
    const shared = files.filter((file, at) => file !== '' && files.indexOf(file) < at);
    if (shared.length === 0) return [];
    const names = twins.map(({ spec }) => spec.name);
    return [
      `${quoteAll(names)} share ${quoteAll(shared)}, because "-" replaces other characters in the name of a log ` +
        'file. "nclust flush" of one empties them for all. To end this notice: ' +
        `nclust reload ${shellQuote(names[names.length - 1])} -o <file> -e <file>`,
    ];
  });
}

/** @param {string[]} words */
function quoteAll(words) {
  return [...new Set(words)].map((word) => `"${word}"`).join(', ');
}
